/** One sync with a business account: lists the templates of the carrier, stores its decisions, deletes templates that were archived here,
 *  imports templates that were not written here, and submits those that wait. No transaction is open during a call, and each step is
 *  stored before the next, so that the next sync completes one that was aborted. */
import { unreachable } from "../lib/assert.ts";
import type { CarrierTemplate, ReviewableTemplate } from "../providers/business-account.ts";
import type { TemplateId } from "../model/id.ts";
import type { Owner } from "../model/owner.ts";
import { readTemplates, readTemplate } from "../templates/find-template.ts";
import type { Template } from "../templates/template.ts";
import { readImport, type NewTemplate } from "../templates/new-template.ts";
import { REVIEWED_CHANNEL, type BusinessAccount } from "./business-accounts.ts";
import { nextStep, type SyncStep } from "./next-step.ts";
import {
  noteReview,
  writeReview,
  newReview,
  isUnchanged,
  reviewKey,
  listKey,
  type SyncStop,
  type SyncParts,
  type TemplateSync,
  type SyncResult,
} from "./sync.ts";
import { readReviewsAt, findReviewsByName, storeReview, dropReview, makeOurs } from "./queries.ts";
import { reviewStatus, type Review } from "./review.ts";

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
  await writeReview(sync, reviewKey(sync, planned), (template, before) => {
    return isUnchanged(sync, planned, template, before) ? { ...newReview(sync, template, before), ...decisionOf(theirs) } : undefined;
  });
}

function decisionOf({ id: carrierId, status: theirStatus, reason }: CarrierTemplate) {
  const status = reviewStatus(theirStatus);
  return { carrierId, status, reason, wasApproved: status === "approved" };
}

const TAKEN = "Another account of this service has a template of this name and language at the carrier, which says something else.";

/** Submits a template to the business account. The review is stored before the call: if the response is lost, the list of the carrier
 *  shows the outcome, and a report that arrives before the response finds its template. */
async function submitTemplate(sync: TemplateSync, planned: Template, before: CarrierTemplate | undefined): Promise<SyncStop | undefined> {
  const { client, businessAccount, listed, signal, tally } = sync;
  let template: Template | undefined;
  await writeReview(sync, reviewKey(sync, planned), (now, known) => {
    // The template was changed after the step was planned. The next sync sees the change.
    if (!isUnchanged(sync, planned, now, known)) return undefined;
    template = now;
    const review = newReview(sync, now, known);
    // A template that the carrier had before becomes ours only when the carrier accepts the change.
    return { ...review, isOurs: review.isOurs || before === undefined };
  });
  if (template === undefined) return undefined;
  const { name } = template;
  const code = client.languageCode(template.language);
  // The template of another account of this service must not be changed.
  const isTaken = before !== undefined && (await findNamesake(sync, { name, code }, template.id)) !== undefined;
  if (isTaken) return refuse(sync, template, TAKEN);
  if (!sync.isHeld()) return { kind: "lost" };
  tally.submitted += 1;
  const outcome = await client.submit(template, before, signal);
  switch (outcome.kind) {
    case "submitted":
      await settle(sync, template, { status: reviewStatus(outcome.status), reason: null, carrierId: outcome.id, isOurs: true });
      // On the list, so that another account with the same template does not submit it again.
      listed.set(listKey(name, code), { id: outcome.id, name, code, status: outcome.status, reason: null, template });
      return undefined;
    case "exists":
      tally.left += 1;
      return undefined;
    case "refused":
      return refuse(sync, template, outcome.reason);
    case "unavailable":
    case "throttled":
    case "blocked":
      sync.log.info({ link: businessAccount.links[0].name }, "a template could not be submitted for now");
      return outcome;
    default:
      return unreachable(outcome);
  }
}

async function refuse(sync: TemplateSync, template: Template, reason: string): Promise<undefined> {
  sync.log.info({ link: sync.businessAccount.links[0].name, template: template.name }, "the carrier refused a template");
  await settle(sync, template, { status: "refused", reason });
}

type SubmissionResult = Pick<Review, "status" | "reason"> & { carrierId?: string; isOurs?: boolean };

/** Stores the response. A report that arrived in the meantime is newer and stays. A template that the carrier never accepted from us is
 *  not ours to delete. */
const settle = (sync: TemplateSync, template: Template, result: SubmissionResult) =>
  writeReview(sync, reviewKey(sync, template), (_, known) => {
    if (known === undefined || known.version !== template.version) return undefined;
    const { status, reason, carrierId = known.carrierId, isOurs = known.isOurs && carrierId !== null } = result;
    if (known.status !== "asked") return { ...known, carrierId, isOurs };
    return { ...known, carrierId, isOurs, status, reason, notedAtMs: sync.clock.now(), wasApproved: status === "approved" };
  });

/** Finds the review of another template here, not archived, that has the same name and language at the carrier. */
async function findNamesake(
  { db, businessAccount }: TemplateSync,
  name: Pick<Review, "name" | "code">,
  templateId: TemplateId,
): Promise<Review | undefined> {
  for (const namesake of await findReviewsByName(db, businessAccount.name, name)) {
    if (namesake.templateId.equals(templateId)) continue;
    const template = await readTemplate(db, namesake, namesake.templateId);
    if (template !== undefined && template.status !== "archived") return namesake;
  }
  return undefined;
}

/** Imports the templates of a carrier that no account here has, as far as our templates can express them. Templates that were written
 *  here stay unchanged. Returns false when the claim of the business account was lost. */
async function importTemplates(sync: TemplateSync, owner: Owner): Promise<boolean> {
  const { listed, businessAccount, db, tally } = sync;
  const names = new Set((await readTemplates(db, owner)).map(({ name }) => name));
  const byName = Map.groupBy(listed.values(), ({ name }) => name);
  for (const [name, [theirs, ...others]] of byName) {
    if (theirs === undefined || names.has(name) || theirs.status === "deleted") continue;
    if (!sync.isHeld()) return false;
    // An account here has the template, or had it: an archived template must not come back.
    if ((await findReviewsByName(db, businessAccount.name, theirs)).length > 0) continue;
    const request = others.length > 0 || theirs.template === undefined ? undefined : readImport(toRequest(theirs.template));
    const isImported = request !== undefined && (await importOne(sync, owner, theirs, request));
    if (isImported) tally.imported += 1;
    else tally.skipped += 1;
  }
  return true;
}

/** The template as a request, so that the rules of requests apply to it. */
const toRequest = ({ name, language, category, body, header, headerMedia, footer, buttons, examples }: ReviewableTemplate): unknown => ({
  name,
  language,
  category,
  channels: [REVIEWED_CHANNEL],
  body,
  ...(header === null ? {} : { header }),
  ...(headerMedia ? { header_media: headerMedia } : {}),
  ...(footer === null ? {} : { footer }),
  ...(buttons === null ? {} : { buttons }),
  examples,
});

async function importOne(sync: TemplateSync, owner: Owner, theirs: CarrierTemplate, request: NewTemplate): Promise<boolean> {
  if (theirs.status === "deleted") return false;
  const review = { status: theirs.status, statusReason: theirs.reason };
  const imported = await sync.changer.import(owner, request, review, async (tx, template) => {
    await storeReview(tx, { ...newReview(sync, template, undefined), ...decisionOf(theirs) });
  });
  return imported !== undefined;
}

type OwnedTemplates = { kept: readonly Template[]; reviews: readonly Review[] };

/** Deletes templates at the carrier that this service submitted and that are archived now, unless another account here still has them. */
async function removeArchived(sync: TemplateSync, { kept, reviews }: OwnedTemplates): Promise<SyncStop | undefined> {
  const gone = reviews.filter(({ isOurs, templateId }) => isOurs && !kept.some(({ id }) => id.equals(templateId)));
  for (const review of gone) {
    const template = await readTemplate(sync.db, review, review.templateId);
    // The template may have become one for only SMS, which a client can undo.
    if (template !== undefined && template.status !== "archived") continue;
    const stop = await removeOne(sync, review, kept);
    if (stop !== undefined) return stop;
  }
  return undefined;
}

async function removeOne(sync: TemplateSync, review: Review, kept: readonly Template[]): Promise<SyncStop | undefined> {
  const { db, client, businessAccount, listed, signal, log, tally } = sync;
  const theirs = listed.get(listKey(review.name, review.code));
  const isNameReused = kept.some(({ name, language }) => name === review.name && client.languageCode(language) === review.code);
  const heir = isNameReused ? undefined : await findNamesake(sync, review, review.templateId);
  if (heir !== undefined) await makeOurs(db, heir);
  else if (!isNameReused && theirs !== undefined && theirs.status !== "deleted") {
    if (!sync.isHeld()) return { kind: "lost" };
    const outcome = await client.remove({ id: theirs.id, name: theirs.name }, signal);
    if (outcome.kind !== "removed" && outcome.kind !== "refused") return outcome;
    if (outcome.kind === "removed") tally.removed += 1;
    else
      log.warn(
        { event: "templates.removal_refused", link: businessAccount.links[0].name, template: review.name },
        "the carrier refused to delete an archived template",
      );
  }
  await dropReview(db, review);
  return undefined;
}
