/** One visit to a desk: what the carrier has is listed, what waits is handed in, what was decided is put on record, what was archived
 *  here is taken away there, and what nobody here wrote is imported. No transaction is open while the carrier is spoken to, and each
 *  step is on record before the next: a visit that breaks off is made up for by the next one. */
import { unreachable } from "../lib/assert.ts";
import type { CarrierTemplate } from "../providers/template-desk.ts";
import type { Owner } from "../storage/owner.ts";
import { readTemplates } from "../templates/find-template.ts";
import type { Template } from "../templates/template.ts";
import { REVIEWED, type BusinessAccount } from "./business-accounts.ts";
import { handIn } from "./hand-in.ts";
import { importTemplates } from "./import-templates.ts";
import { nextStep, type Step } from "./next-step.ts";
import { noteReview, writeReview } from "./note-review.ts";
import { readReviewsAt } from "./queries.ts";
import { removeArchived } from "./remove-archived.ts";
import { reviewStatus, type Review } from "./review.ts";
import { asked, isUntouched, reviewKey, listKey, type Stop, type SyncParts, type TemplateSync, type SyncResult } from "./sync.ts";

/** A carrier takes a hundred templates an hour: what is beyond this waits for the next visit. */
const MAX_SUBMISSIONS = 25;

type ClaimState = Pick<TemplateSync, "isHeld" | "signal">;

export async function syncTemplates(
  parts: SyncParts,
  businessAccount: BusinessAccount,
  { isHeld, signal }: ClaimState,
): Promise<SyncResult | Stop> {
  const client = parts.businessAccounts.open(businessAccount, parts.log);
  try {
    const listedAtMs = parts.clock.now();
    const listing = await client.list(signal);
    if (listing.kind !== "listed") return listing;
    const listed = new Map(listing.templates.map((theirs) => [listKey(theirs.name, theirs.code), theirs]));
    const tally = { listed: listed.size, submitted: 0, left: 0, removed: 0, imported: 0, skipped: 0 };
    return await work({ ...parts, businessAccount, client, listed, isComplete: listing.isComplete, listedAtMs, isHeld, signal, tally });
  } finally {
    await client.close();
  }
}

/** What the carrier says comes first: one that takes nothing new just now still has decided what it had. */
async function work(sync: TemplateSync): Promise<SyncResult | Stop> {
  const { businessAccounts, businessAccount, tally } = sync;
  const everybody = (await sync.accounts()).map((accountId): Owner => ({ accountId, environment: "live" }));
  const owners = everybody.filter((owner) => businessAccounts.serves(businessAccount, owner));
  const waiting: Known[] = [];
  for (const owner of owners) {
    const found = await workFor(sync, owner);
    if ("kind" in found) return found;
    waiting.push(...found);
  }
  const owner = businessAccounts.ownerOf(businessAccount, owners);
  if (owner !== undefined && !(await importTemplates(sync, owner))) return { kind: "lost" };
  for (const known of waiting) {
    const stop = await handInOne(sync, known);
    if (stop !== undefined) return stop;
  }
  return { kind: "synced", tally };
}

/** A template, and what is on record of it. */
type Known = { template: Template; review: Review | undefined };

/** What is to be handed in, when all else is done; or what ended the visit. */
async function workFor(sync: TemplateSync, owner: Owner): Promise<Known[] | Stop> {
  const kept = (await readTemplates(sync.db, owner)).filter(({ channels }) => channels.includes(REVIEWED));
  const reviews = await readReviewsAt(sync.db, owner, sync.businessAccount.name);
  const waiting: Known[] = [];
  for (const template of kept) {
    if (template.status === "draft") continue;
    if (!sync.isHeld()) return { kind: "lost" };
    const known = { template, review: reviews.find(({ templateId }) => templateId.equals(template.id)) };
    if (await isWaiting(sync, known)) waiting.push(known);
  }
  return (await removeArchived(sync, { kept, reviews })) ?? waiting;
}

function stepFor({ client, listed, isComplete, clock }: TemplateSync, { template, review }: Known): Step {
  const theirs = listed.get(listKey(template.name, client.codeOf(template.language)));
  return nextStep({ template, review, theirs, isSame: client.isSame, isComplete, nowMs: clock.now() });
}

/** Does what can be done without handing anything in; whether that is still to be done. */
async function isWaiting(sync: TemplateSync, known: Known): Promise<boolean> {
  const { template, review } = known;
  const step = stepFor(sync, known);
  switch (step.kind) {
    case "none":
      return false;
    case "note":
      await noteTheirs(sync, template, step.theirs, review);
      return false;
    case "gone":
      await noteReview(sync, reviewKey(sync, template), GONE, isOlder(sync));
      return false;
    case "take over":
      await takeOver(sync, template, step.theirs);
      return false;
    case "submit":
      return true;
    default:
      return unreachable(step);
  }
}

/** Another account here may have handed in the same meanwhile. */
async function handInOne(sync: TemplateSync, known: Known): Promise<Stop | undefined> {
  const step = stepFor(sync, known);
  if (step.kind === "take over") await takeOver(sync, known.template, step.theirs);
  if (step.kind !== "submit") return undefined;
  if (sync.tally.submitted < MAX_SUBMISSIONS) return handIn(sync, known.template, step.before);
  sync.tally.left += 1;
  return undefined;
}

/** What waits is decided anew also without news: another desk may no longer be asked. */
async function noteTheirs(sync: TemplateSync, template: Template, theirs: CarrierTemplate, review: Review | undefined): Promise<void> {
  const status = reviewStatus(theirs.status);
  if (status === review?.status && theirs.id === review.carrierId && template.status !== "pending") return;
  await noteReview(sync, reviewKey(sync, template), { status, reason: theirs.reason, carrierId: theirs.id }, isOlder(sync));
}

const GONE = { status: "rejected", reason: "The carrier has it no more: it was deleted there." } as const;

/** The carrier may have told more of it since it was asked what it has. */
const isOlder =
  ({ listedAtMs }: TemplateSync) =>
  ({ notedAtMs }: Review): boolean =>
    notedAtMs < listedAtMs;

/** The carrier has it already: what it made of it is what it would say. */
async function takeOver(sync: TemplateSync, planned: Template, theirs: CarrierTemplate): Promise<void> {
  const status = reviewStatus(theirs.status);
  await writeReview(sync, reviewKey(sync, planned), (template, before) => {
    if (!isUntouched(sync, planned, template, before)) return undefined;
    const { id: carrierId, reason } = theirs;
    return { ...asked(sync, template, before), carrierId, status, reason, wasApproved: status === "approved" };
  });
}
