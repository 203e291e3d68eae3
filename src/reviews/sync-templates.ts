/** One sync with a business account: lists the templates of the carrier, stores its decisions, deletes templates that were archived here,
 *  imports templates that were not written here, and submits those that wait. No transaction is open during a call, and each step is
 *  stored before the next, so that the next sync completes one that was aborted. */
import { unreachable } from "../lib/assert.ts";
import type { CarrierTemplate } from "../providers/business-account.ts";
import type { Owner } from "../model/owner.ts";
import { readTemplates } from "../templates/find-template.ts";
import type { Template } from "../templates/template.ts";
import { REVIEWED_CHANNEL, type BusinessAccount } from "./business-accounts.ts";
import { submitTemplate } from "./submit-template.ts";
import { importTemplates } from "./import-templates.ts";
import { nextStep, type SyncStep } from "./next-step.ts";
import { noteReview, writeReview } from "./note-review.ts";
import { readReviewsAt } from "./queries.ts";
import { removeArchived } from "./remove-archived.ts";
import { reviewStatus, type Review } from "./review.ts";
import { newReview, isUnchanged, reviewKey, listKey, type SyncStop, type SyncParts, type TemplateSync, type SyncResult } from "./sync.ts";

/** A carrier accepts a hundred templates an hour. Further ones wait for the next sync. */
const MAX_SUBMISSIONS = 25;

type ClaimState = Pick<TemplateSync, "isHeld" | "signal">;

export async function syncTemplates(
  parts: SyncParts,
  businessAccount: BusinessAccount,
  { isHeld, signal }: ClaimState,
): Promise<SyncResult | SyncStop> {
  const client = parts.businessAccounts.open(businessAccount, parts.log);
  try {
    const listedAtMs = parts.clock.now();
    const listing = await client.list(signal);
    if (listing.kind !== "listed") return listing;
    const listed = new Map(listing.templates.map((theirs) => [listKey(theirs.name, theirs.code), theirs]));
    const tally = { listed: listed.size, submitted: 0, left: 0, removed: 0, imported: 0, skipped: 0 };
    return await syncOwners({
      ...parts,
      businessAccount,
      client,
      listed,
      isComplete: listing.isComplete,
      listedAtMs,
      isHeld,
      signal,
      tally,
    });
  } finally {
    await client.close();
  }
}

/** Reads the decisions of the carrier first, because a carrier that accepts no submissions now has still decided on earlier ones. */
async function syncOwners(sync: TemplateSync): Promise<SyncResult | SyncStop> {
  const { businessAccounts, businessAccount, tally } = sync;
  const all = (await sync.accounts()).map((accountId): Owner => ({ accountId, environment: "live" }));
  const owners = all.filter((owner) => businessAccounts.serves(businessAccount, owner));
  const waiting: ReviewedTemplate[] = [];
  for (const owner of owners) {
    const found = await syncOwner(sync, owner);
    if ("kind" in found) return found;
    waiting.push(...found);
  }
  const owner = businessAccounts.ownerOf(businessAccount, owners);
  if (owner !== undefined && !(await importTemplates(sync, owner))) return { kind: "lost" };
  for (const known of waiting) {
    const stop = await submitOne(sync, known);
    if (stop !== undefined) return stop;
  }
  return { kind: "synced", tally };
}

/** A template with its stored review. */
type ReviewedTemplate = { template: Template; review: Review | undefined };

/** Returns the templates that are to be submitted at the end, or the reason why the sync stops. */
async function syncOwner(sync: TemplateSync, owner: Owner): Promise<ReviewedTemplate[] | SyncStop> {
  const kept = (await readTemplates(sync.db, owner)).filter(({ channels }) => channels.includes(REVIEWED_CHANNEL));
  const reviews = await readReviewsAt(sync.db, owner, sync.businessAccount.name);
  const waiting: ReviewedTemplate[] = [];
  for (const template of kept) {
    if (template.status === "draft") continue;
    if (!sync.isHeld()) return { kind: "lost" };
    const known = { template, review: reviews.find(({ templateId }) => templateId.equals(template.id)) };
    if (await isWaiting(sync, known)) waiting.push(known);
  }
  return (await removeArchived(sync, { kept, reviews })) ?? waiting;
}

function stepFor({ client, listed, isComplete, clock }: TemplateSync, { template, review }: ReviewedTemplate): SyncStep {
  const theirs = listed.get(listKey(template.name, client.languageCode(template.language)));
  return nextStep({ template, review, theirs, isSame: client.isSame, isComplete, nowMs: clock.now() });
}

/** Does the steps that need no submission. Returns whether the template is to be submitted. */
async function isWaiting(sync: TemplateSync, known: ReviewedTemplate): Promise<boolean> {
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

/** Decides again, because another account here may have submitted the same template in the meantime. */
async function submitOne(sync: TemplateSync, known: ReviewedTemplate): Promise<SyncStop | undefined> {
  const step = stepFor(sync, known);
  if (step.kind === "take over") await takeOver(sync, known.template, step.theirs);
  if (step.kind !== "submit") return undefined;
  if (sync.tally.submitted < MAX_SUBMISSIONS) return submitTemplate(sync, known.template, step.before);
  sync.tally.left += 1;
  return undefined;
}

/** A pending template is decided again even without a change, because another business account may not be required any more. */
async function noteTheirs(sync: TemplateSync, template: Template, theirs: CarrierTemplate, review: Review | undefined): Promise<void> {
  const status = reviewStatus(theirs.status);
  if (status === review?.status && theirs.id === review.carrierId && template.status !== "pending") return;
  await noteReview(sync, reviewKey(sync, template), { status, reason: theirs.reason, carrierId: theirs.id }, isOlder(sync));
}

const GONE = { status: "rejected", reason: "The carrier has it no more: it was deleted there." } as const;

/** Whether the review is older than the list. A report after the list is newer. */
const isOlder =
  ({ listedAtMs }: TemplateSync) =>
  ({ notedAtMs }: Review): boolean =>
    notedAtMs < listedAtMs;

/** Takes over the status of a template that the carrier has already. */
async function takeOver(sync: TemplateSync, planned: Template, theirs: CarrierTemplate): Promise<void> {
  const status = reviewStatus(theirs.status);
  await writeReview(sync, reviewKey(sync, planned), (template, before) => {
    if (!isUnchanged(sync, planned, template, before)) return undefined;
    const { id: carrierId, reason } = theirs;
    return { ...newReview(sync, template, before), carrierId, status, reason, wasApproved: status === "approved" };
  });
}
