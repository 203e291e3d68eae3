/** What is to be done about a template at a desk: decided from what we know of it and what the carrier has. */
import type { CarrierTemplate, DeskContent } from "../providers/template-desk.ts";
import type { Template } from "../templates/template.ts";
import { isCurrent, type Review } from "./review.ts";

export type Step =
  | { kind: "none" }
  /** The carrier has it from us: what it says of it counts. */
  | { kind: "note"; theirs: CarrierTemplate }
  /** The carrier had it from us, and has it no more. */
  | { kind: "gone" }
  /** The carrier has the same, from whomever: that is as good as handed in. */
  | { kind: "take over"; theirs: CarrierTemplate }
  /** In place of what the carrier has under its name, or as a new one. */
  | { kind: "submit"; before: CarrierTemplate | undefined };

export type Known = {
  template: Template;
  review: Review | undefined;
  theirs: CarrierTemplate | undefined;
  isSame: (ours: DeskContent, theirs: DeskContent) => boolean;
  /** Whether what is not listed is not there. */
  isComplete: boolean;
  nowMs: number;
};

// A list may lag behind what was just handed in.
const FRESH_MS = 10 * 60_000;
const ABSENT_MS = 60 * 60_000;

const NONE: Step = { kind: "none" };

export function nextStep(known: Known): Step {
  const { template, review } = known;
  if (review === undefined || !isCurrent(template, review) || review.status === "asked") return handIn(known);
  // The carrier never had this version: what it has under the name is another.
  if (review.status === "refused") return NONE;
  return follow(known, review);
}

function follow(known: Known, review: Review): Step {
  const { template, theirs, isSame, isComplete, nowMs } = known;
  const ageMs = nowMs - review.askedAtMs;
  if (theirs === undefined) return isComplete && ageMs > ABSENT_MS ? { kind: "gone" } : NONE;
  // Somebody took it away and made another of its name.
  if (review.carrierId !== null && review.carrierId !== theirs.id) return handIn(known);
  const isOther = theirs.template === undefined || !isSame(template, theirs.template);
  // Its status may still be that of what was there before. Later it is believed: carriers alter a text a little now and then.
  return isOther && ageMs < FRESH_MS ? NONE : { kind: "note", theirs };
}

function handIn({ template, theirs, isSame }: Known): Step {
  const isPending = template.status === "pending";
  if (!isPending && template.status !== "approved") return NONE;
  if (theirs === undefined || theirs.status === "deleted") return { kind: "submit", before: undefined };
  const isThere = theirs.template !== undefined && isSame(template, theirs.template);
  if (isThere) return isPending && theirs.status === "rejected" ? { kind: "submit", before: theirs } : { kind: "take over", theirs };
  // What can be sent from here is not put over what a person wrote there; nor can that be changed while it is looked at.
  return isPending && theirs.status !== "pending" ? { kind: "submit", before: theirs } : NONE;
}
