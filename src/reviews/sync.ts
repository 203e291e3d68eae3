/** The state that the steps of one template sync share. */
import type { AccountId } from "../model/id.ts";
import type { Log } from "../model/log.ts";
import type { CarrierTemplate, BusinessAccountClient, AccountFailure } from "../providers/business-account.ts";
import type { Queryable } from "../database/database.ts";
import type { Template } from "../templates/template.ts";
import type { BusinessAccount } from "./business-accounts.ts";
import type { ReviewParts } from "./note-review.ts";
import type { Review } from "./review.ts";

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
