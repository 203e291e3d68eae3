/** Decides the next step for a template at a business account, from the stored review and the list of the carrier. */
import type { CarrierTemplate, ReviewableContent } from "../providers/business-account.ts";
import type { Template } from "../templates/template.ts";
import { isCurrent, type Review } from "./review.ts";

export type SyncStep =
  | { kind: "none" }
  /** The carrier has the template from us, so its status counts. */
  | { kind: "note"; theirs: CarrierTemplate }
  /** The carrier had the template from us, and has deleted it. */
  | { kind: "gone" }
  /** The carrier has the same template from another source, which replaces a submission. */
  | { kind: "take over"; theirs: CarrierTemplate }
  /** Submits the template in place of the one with its name, or as a new one. */
  | { kind: "submit"; before: CarrierTemplate | undefined };

export type StepInput = {
  template: Template;
  review: Review | undefined;
  theirs: CarrierTemplate | undefined;
  isSame: (ours: ReviewableContent, theirs: ReviewableContent) => boolean;
  /** Whether the list has all templates of the carrier. */
  isComplete: boolean;
  nowMs: number;
};

// The list may lag behind a recent submission.
const FRESH_MS = 10 * 60_000;
const ABSENT_MS = 60 * 60_000;

const NONE: SyncStep = { kind: "none" };

export function nextStep(input: StepInput): SyncStep {
  const { template, review } = input;
  if (review === undefined || !isCurrent(template, review) || review.status === "asked") return decideSubmission(input);
  // The carrier never accepted this version. Its template of this name is another one.
  if (review.status === "refused") return NONE;
  return followReview(input, review);
}

function followReview(input: StepInput, review: Review): SyncStep {
  const { template, theirs, isSame, isComplete, nowMs } = input;
  const ageMs = nowMs - review.askedAtMs;
  if (theirs === undefined) return isComplete && ageMs > ABSENT_MS ? { kind: "gone" } : NONE;
  // The template was deleted at the carrier, and another one has its name.
  if (review.carrierId !== null && review.carrierId !== theirs.id) return decideSubmission(input);
  const isOther = theirs.template === undefined || !isSame(template, theirs.template);
  // The status may still be that of the previous text. Later it counts, because carriers sometimes alter a text a little.
  return isOther && ageMs < FRESH_MS ? NONE : { kind: "note", theirs };
}

function decideSubmission({ template, theirs, isSame }: StepInput): SyncStep {
  const isPending = template.status === "pending";
  if (!isPending && template.status !== "approved") return NONE;
  if (theirs === undefined || theirs.status === "deleted") return { kind: "submit", before: undefined };
  const isThere = theirs.template !== undefined && isSame(template, theirs.template);
  if (isThere) return isPending && theirs.status === "rejected" ? { kind: "submit", before: theirs } : { kind: "take over", theirs };
  // A template that can be sent already does not replace one that a person wrote at the carrier. A template in review cannot be changed.
  return isPending && theirs.status !== "pending" ? { kind: "submit", before: theirs } : NONE;
}
