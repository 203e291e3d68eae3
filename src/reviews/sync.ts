/** The state that the steps of one template sync share, and the writes of reviews. */
import type { AccountId } from "../model/id.ts";
import type { Log } from "../model/log.ts";
import type { CarrierTemplate, BusinessAccountClient, AccountFailure } from "../providers/business-account.ts";
import type { Queryable, Tx } from "../database/database.ts";
import type { Template } from "../templates/template.ts";
import type { Clock } from "../database/database-clock.ts";
import type { TemplateChanger } from "../templates/change-template.ts";
import { REVIEWED_CHANNEL, type BusinessAccount, type BusinessAccounts } from "./business-accounts.ts";
import { isCurrent, combineReviews, type Review } from "./review.ts";
import { readReviews, storeReview } from "./queries.ts";

export type SyncParts = ReviewParts & {
  db: Queryable;
  /** Reads all accounts of the installation. */
  accounts: () => Promise<readonly AccountId[]>;
  log: Log;
};

/** Why a sync ends early. `lost`: another node has the claim, or this node stops. */
export type SyncStop = AccountFailure | { kind: "lost" };

/** `left`: templates that wait for the next sync, which follows soon. `skipped`: templates that ours cannot express. */
export type Tally = { listed: number; submitted: number; left: number; removed: number; imported: number; skipped: number };
export type SyncResult = { kind: "synced"; tally: Tally };

export type TemplateSync = SyncParts & {
  businessAccount: BusinessAccount;
  client: BusinessAccountClient;
  /** The templates of the carrier, by name and language. */
  listed: Map<string, CarrierTemplate>;
  isComplete: boolean;
  /** When the list was requested. Reviews that were stored later are newer than the list. */
  listedAtMs: number;
  /** Whether this node has the claim for the duration of another call. */
  isHeld: () => boolean;
  signal: AbortSignal;
  tally: Tally;
};

export const listKey = (name: string, code: string): string => `${name} ${code}`;

export const reviewKey = ({ businessAccount }: TemplateSync, { accountId, environment, id }: Template) => ({
  accountId,
  environment,
  templateId: id,
  businessAccount: businessAccount.name,
});

/** Whether the template has not changed since the step was planned, and no review was stored since the list was requested. */
export const isUnchanged = ({ listedAtMs }: TemplateSync, planned: Template, now: Template, review: Review | undefined): boolean =>
  now.version === planned.version && now.updatedAtMs === planned.updatedAtMs && (review === undefined || review.notedAtMs < listedAtMs);

/** Makes the review of a submission that begins now. */
export const newReview = (sync: TemplateSync, template: Template, before: Review | undefined): Review => ({
  ...reviewKey(sync, template),
  version: template.version,
  language: template.language,
  category: template.category,
  askedForMs: template.updatedAtMs,
  askedAtMs: sync.clock.now(),
  notedAtMs: sync.clock.now(),
  name: template.name,
  code: sync.client.languageCode(template.language),
  carrierId: before?.carrierId ?? null,
  status: "asked",
  reason: null,
  isOurs: before?.isOurs ?? false,
  wasApproved: false,
});

export type ReviewParts = { changer: TemplateChanger; businessAccounts: BusinessAccounts; clock: Clock };
type Key = Pick<Review, "accountId" | "environment" | "templateId" | "businessAccount">;

/** Returns the review to store for the locked template, given the stored one; undefined to store nothing. */
type Write = (template: Template, before: Review | undefined) => Review | undefined;

/** Stores the review of a business account and the resulting status of the template, in one transaction with the event. The template is
 *  always locked first: of two accounts that decide at the same time, the second sees the decision of the first. Returns the stored review;
 *  undefined when nothing was stored. */
export async function writeReview({ changer, businessAccounts }: ReviewParts, key: Key, write: Write): Promise<Review | undefined> {
  let written: Review | undefined;
  await changer.decide(key, key.templateId, async (tx: Tx, template: Template) => {
    // The template may have become one for only SMS, which needs no review.
    if (!template.channels.includes(REVIEWED_CHANNEL)) return undefined;
    const reviews = await readReviews(tx, key, template.id);
    const others = reviews.filter(({ businessAccount }) => businessAccount !== key.businessAccount);
    written = write(
      template,
      reviews.find(({ businessAccount }) => businessAccount === key.businessAccount),
    );
    if (written === undefined) return undefined;
    await storeReview(tx, written);
    return combineReviews(template, [...others, written], businessAccounts.reviewersFor(key));
  });
  return written;
}

type ReviewChange = Pick<Review, "status" | "reason"> & { carrierId?: string };

/** Updates a current review. An unchanged status keeps its reason, which carriers may word differently each time. */
export const noteReview = (parts: ReviewParts, key: Key, update: ReviewChange, applies: (review: Review) => boolean = () => true) =>
  writeReview(parts, key, (template, before) => {
    if (before === undefined || !isCurrent(template, before) || !applies(before)) return undefined;
    const { status, reason, carrierId = before.carrierId } = update;
    if (status === before.status) return { ...before, carrierId };
    return { ...before, carrierId, status, reason, notedAtMs: parts.clock.now(), wasApproved: before.wasApproved || status === "approved" };
  });
