/** One visit to a desk: what the carrier has is listed, what waits is handed in, what was decided is put on record, what was archived
 *  here is taken away there, and what nobody here wrote is imported. No transaction is open while the carrier is spoken to, and each
 *  step is on record before the next: a visit that breaks off is made up for by the next one. */
import { unreachable } from "../lib/assert.ts";
import type { CarrierTemplate } from "../providers/template-desk.ts";
import { readTemplates } from "../templates/find-template.ts";
import type { Template } from "../templates/template.ts";
import { REVIEWED, type Desk, type Owner } from "./desks.ts";
import { handIn } from "./hand-in.ts";
import { importTemplates } from "./import-templates.ts";
import { nextStep } from "./next-step.ts";
import { noteReview, writeReview } from "./note-review.ts";
import { readReviewsAt } from "./queries.ts";
import { removeArchived } from "./remove-archived.ts";
import { reviewStatus, type Review } from "./review.ts";
import { asked, isUntouched, keyOf, placeIn, type Stop, type SyncParts, type Visit, type Visited } from "./visit.ts";

/** A carrier takes a hundred templates an hour: what is beyond this waits for the next visit. */
const MAX_SUBMISSIONS = 25;

type Holding = Pick<Visit, "isHeld" | "signal">;

export async function syncDesk(parts: SyncParts, desk: Desk, { isHeld, signal }: Holding): Promise<Visited | Stop> {
  const at = parts.desks.open(desk, parts.log);
  try {
    const listedAtMs = parts.clock.now();
    const listing = await at.list(signal);
    if (listing.kind !== "listed") return listing;
    const listed = new Map(listing.templates.map((theirs) => [placeIn(theirs.name, theirs.code), theirs]));
    const tally = { listed: listed.size, submitted: 0, removed: 0, imported: 0, skipped: 0 };
    return await work({ ...parts, desk, at, listed, isComplete: listing.isComplete, listedAtMs, isHeld, signal, tally });
  } finally {
    await at.close();
  }
}

async function work(visit: Visit): Promise<Visited | Stop> {
  const { desks, desk, tally } = visit;
  const everybody = (await visit.accounts()).map((accountId): Owner => ({ accountId, environment: "live" }));
  const owners = everybody.filter((owner) => desks.serves(desk, owner));
  for (const owner of owners) {
    const stop = await workFor(visit, owner);
    if (stop !== undefined) return stop;
  }
  const owner = desks.ownerOf(desk, owners);
  if (owner !== undefined && !(await importTemplates(visit, owner))) return { kind: "lost" };
  return { kind: "synced", isMore: tally.submitted >= MAX_SUBMISSIONS, tally };
}

async function workFor(visit: Visit, owner: Owner): Promise<Stop | undefined> {
  const kept = (await readTemplates(visit.db, owner)).filter(({ channels }) => channels.includes(REVIEWED));
  const reviews = await readReviewsAt(visit.db, owner, visit.desk.name);
  for (const template of kept) {
    if (template.status === "draft") continue;
    if (!visit.isHeld()) return { kind: "lost" };
    const stop = await workOn(
      visit,
      template,
      reviews.find(({ templateId }) => templateId.equals(template.id)),
    );
    if (stop !== undefined) return stop;
  }
  return removeArchived(visit, { kept, reviews });
}

async function workOn(visit: Visit, template: Template, review: Review | undefined): Promise<Stop | undefined> {
  const { at, listed, isComplete, clock, tally } = visit;
  const theirs = listed.get(placeIn(template.name, at.codeOf(template.language)));
  const step = nextStep({ template, review, theirs, isSame: at.isSame, isComplete, nowMs: clock.now() });
  switch (step.kind) {
    case "none":
      return undefined;
    case "note":
      await noteTheirs(visit, template, step.theirs, review);
      return undefined;
    case "gone":
      await noteReview(visit, keyOf(visit, template), GONE, isOlder(visit));
      return undefined;
    case "take over":
      await takeOver(visit, template, step.theirs);
      return undefined;
    case "submit":
      if (tally.submitted >= MAX_SUBMISSIONS) return undefined;
      return handIn(visit, template, step.before);
    default:
      return unreachable(step);
  }
}

/** What waits is decided anew also without news: another desk may no longer be asked. */
async function noteTheirs(visit: Visit, template: Template, theirs: CarrierTemplate, review: Review | undefined): Promise<void> {
  const status = reviewStatus(theirs.status);
  if (status === review?.status && theirs.id === review.carrierId && template.status !== "pending") return;
  await noteReview(visit, keyOf(visit, template), { status, reason: theirs.reason, carrierId: theirs.id }, isOlder(visit));
}

const GONE = { status: "rejected", reason: "The carrier has it no more: it was deleted there." } as const;

/** The carrier may have told more of it since it was asked what it has. */
const isOlder =
  ({ listedAtMs }: Visit) =>
  ({ notedAtMs }: Review): boolean =>
    notedAtMs < listedAtMs;

/** The carrier has it already: what it made of it is what it would say. */
async function takeOver(visit: Visit, planned: Template, theirs: CarrierTemplate): Promise<void> {
  const status = reviewStatus(theirs.status);
  await writeReview(visit, keyOf(visit, planned), (template, before) => {
    if (!isUntouched(visit, planned, template, before)) return undefined;
    const { id: carrierId, reason } = theirs;
    return { ...asked(visit, template, before), carrierId, status, reason, wasApproved: status === "approved" };
  });
}
