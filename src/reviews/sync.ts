/** What the steps of one visit to a desk share. */
import type { AccountId } from "../lib/id.ts";
import type { Log } from "../lib/log.ts";
import type { CarrierTemplate, TemplateDesk, Trouble } from "../providers/template-desk.ts";
import type { Queryable } from "../storage/database.ts";
import type { Template } from "../templates/template.ts";
import type { BusinessAccount } from "./business-accounts.ts";
import type { NoteParts } from "./note-review.ts";
import type { Review } from "./review.ts";

export type SyncParts = NoteParts & {
  db: Queryable;
  /** Every account there is. */
  accounts: () => Promise<readonly AccountId[]>;
  log: Log;
};

/** What ends a visit before it is over. `lost`: the desk is another node's, or this one stops. */
export type Stop = Trouble | { kind: "lost" };

/** `left`: what waits for the next visit, which is to be soon. `skipped`: what ours cannot hold. */
export type Tally = { listed: number; submitted: number; left: number; removed: number; imported: number; skipped: number };
export type SyncResult = { kind: "synced"; tally: Tally };

export type TemplateSync = SyncParts & {
  businessAccount: BusinessAccount;
  client: TemplateDesk;
  /** What the carrier has, by name and language. */
  listed: Map<string, CarrierTemplate>;
  isComplete: boolean;
  /** When it was asked what it has: what is on record since is newer. */
  listedAtMs: number;
  /** Whether the desk is still this node's, for the next call. */
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

/** Whether the template is as it was looked at, and nothing was said of it since the carrier listed what it has. */
export const isUntouched = ({ listedAtMs }: TemplateSync, planned: Template, now: Template, review: Review | undefined): boolean =>
  now.version === planned.version && now.updatedAtMs === planned.updatedAtMs && (review === undefined || review.notedAtMs < listedAtMs);

/** A review that begins now. */
export const asked = (sync: TemplateSync, template: Template, before: Review | undefined): Review => ({
  ...reviewKey(sync, template),
  version: template.version,
  language: template.language,
  category: template.category,
  askedForMs: template.updatedAtMs,
  askedAtMs: sync.clock.now(),
  notedAtMs: sync.clock.now(),
  name: template.name,
  code: sync.client.codeOf(template.language),
  carrierId: before?.carrierId ?? null,
  status: "asked",
  reason: null,
  isOurs: before?.isOurs ?? false,
  wasApproved: false,
});
