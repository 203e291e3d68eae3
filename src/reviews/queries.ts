/** All SQL of reviews: which desk is due, who is at it, and what each made of which template. */
import type { AccountId, TemplateId } from "../lib/id.ts";
import type { Queryable, Tx } from "../storage/database.ts";
import type { Owner } from "../storage/owner.ts";
import { prepare, sql } from "../storage/sql.ts";
import type { Category } from "../templates/template.ts";
import type { Review, ReviewStatus } from "./review.ts";

/** Those that are there stay as they are. */
export const makeSyncs = async (db: Queryable, businessAccounts: readonly string[]): Promise<void> => {
  await db.rows(sql`
  insert into template_syncs (desk)
  select unnest(${businessAccounts}::text[])
  on conflict (desk) do nothing`);
};

export type Claimed = { desk: string; failures: number; last_error: string | null };

/** One that is due, or whose node is gone, for this node alone. It is due again at its time from now; who wants it sooner while it is
 *  under way says so by that. */
export const claimSync = async (
  db: Queryable,
  businessAccounts: readonly string[],
  node: string,
  { claimMs, againMs }: { claimMs: number; againMs: number },
): Promise<Claimed | undefined> => {
  const [claimed] = await db.rows<Claimed>(sql`
  update template_syncs
     set claimed_by = ${node}, claimed_until = now() + ${claimMs}::integer * interval '1 millisecond',
         due_at = now() + ${againMs}::integer * interval '1 millisecond'
   where desk = any (array(
           select desk
             from template_syncs
            where desk = any (${businessAccounts}::text[])
              and (due_at <= now() or claimed_by is not null)
              and claimed_until <= now()
            order by due_at
            limit 1
              for update skip locked))
  returning desk, failures, last_error`);
  return claimed;
};

/** Whether it is still this node's, and stays so for a while. */
export const holdSync = async (db: Queryable, businessAccount: string, node: string, claimMs: number): Promise<boolean> =>
  (
    await db.rows(sql`
  update template_syncs
     set claimed_until = now() + ${claimMs}::integer * interval '1 millisecond'
   where desk = ${businessAccount} and claimed_by = ${node}
  returning 1`)
  ).length > 0;

/** All went well; due again when it was, or sooner. */
export const finishSync = async (db: Queryable, businessAccount: string, node: string, againMs: number): Promise<void> => {
  await db.rows(sql`
  update template_syncs
     set claimed_by = null, claimed_until = '-infinity', synced_at = now(), failures = 0, last_error = null, last_error_at = null,
         due_at = least(due_at, now() + ${againMs}::integer * interval '1 millisecond')
   where desk = ${businessAccount} and claimed_by = ${node}`);
};

/** It did not go well; nobody is to try again before its time. */
export const failSync = async (
  db: Queryable,
  businessAccount: string,
  node: string,
  failed: { error: string; againMs: number },
): Promise<void> => {
  await db.rows(sql`
  update template_syncs
     set claimed_by = null, claimed_until = '-infinity', failures = failures + 1, last_error = ${failed.error}, last_error_at = now(),
         due_at = now() + ${failed.againMs}::integer * interval '1 millisecond'
   where desk = ${businessAccount} and claimed_by = ${node}`);
};

/** Given back unfinished: another may go on at once. */
export const leaveSync = async (db: Queryable, businessAccount: string, node: string): Promise<void> => {
  await db.rows(sql`
  update template_syncs
     set claimed_by = null, claimed_until = '-infinity', due_at = now()
   where desk = ${businessAccount} and claimed_by = ${node}`);
};

/** Due as soon as may be: so long after the last time, at least. Those that fail keep their own time. */
export const hastenSyncs = async (db: Queryable, businessAccounts: readonly string[], gapMs: number): Promise<void> => {
  await db.rows(sql`
  update template_syncs
     set due_at = least(due_at, greatest(now(), coalesce(synced_at, now()) + ${gapMs}::integer * interval '1 millisecond'))
   where desk = any (${businessAccounts}::text[]) and failures = 0`);
};

type ReviewRow = {
  account_id: AccountId;
  environment: Review["environment"];
  template_id: TemplateId;
  desk: string;
  version: number;
  language: string;
  category: Category;
  asked_for: Date;
  asked_at: Date;
  name: string;
  code: string;
  carrier_id: string | null;
  status: ReviewStatus;
  reason: string | null;
  noted_at: Date;
  is_ours: boolean;
  was_approved: boolean;
};

const COLUMNS = `account_id, environment, template_id, desk, version, language, category, asked_for, asked_at, name, code, carrier_id,
       status, reason, noted_at, is_ours, was_approved`;

const toReview = (row: ReviewRow): Review => ({
  accountId: row.account_id,
  environment: row.environment,
  templateId: row.template_id,
  businessAccount: row.desk,
  version: row.version,
  language: row.language,
  category: row.category,
  askedForMs: row.asked_for.getTime(),
  askedAtMs: row.asked_at.getTime(),
  name: row.name,
  code: row.code,
  carrierId: row.carrier_id,
  status: row.status,
  reason: row.reason,
  notedAtMs: row.noted_at.getTime(),
  isOurs: row.is_ours,
  wasApproved: row.was_approved,
});

const ofTemplate = prepare(`
select ${COLUMNS}
  from template_reviews
 where account_id = $1 and environment = $2 and template_id = $3`);

/** What every desk makes of a template. */
export const readReviews = async (db: Queryable, { accountId, environment }: Owner, templateId: TemplateId): Promise<Review[]> =>
  (await db.rows<ReviewRow>({ ...ofTemplate, values: [accountId, environment, templateId] })).map(toReview);

const ofOwner = prepare(`
select ${COLUMNS}
  from template_reviews
 where account_id = $1 and environment = $2 and desk = $3`);

/** What a desk makes of the templates of an environment. */
export const readReviewsAt = async (db: Queryable, { accountId, environment }: Owner, businessAccount: string): Promise<Review[]> =>
  (await db.rows<ReviewRow>({ ...ofOwner, values: [accountId, environment, businessAccount] })).map(toReview);

// One business account has few environments that call a template alike.
const MAX_NAMESAKES = 100;

const byName = prepare(`
select ${COLUMNS}
  from template_reviews
 where desk = $1 and name = $2 and code = $3
 limit ${MAX_NAMESAKES}`);

/** Whoever has a template of this name at the desk, in this language. */
export const findNamed = async (db: Queryable, businessAccount: string, { name, code }: Pick<Review, "name" | "code">): Promise<Review[]> =>
  (await db.rows<ReviewRow>({ ...byName, values: [businessAccount, name, code] })).map(toReview);

export const storeReview = (tx: Tx, review: Review): Promise<unknown[]> =>
  tx.rows(sql`
  insert into template_reviews (account_id, environment, template_id, desk, version, language, category, asked_for, asked_at, name, code,
                                carrier_id, status, reason, noted_at, is_ours, was_approved)
  values (${review.accountId}, ${review.environment}, ${review.templateId}, ${review.businessAccount}, ${review.version}, ${review.language},
          ${review.category}, to_timestamp(${review.askedForMs / 1_000}::float8), to_timestamp(${review.askedAtMs / 1_000}::float8),
          ${review.name}, ${review.code}, ${review.carrierId}, ${review.status}, ${review.reason},
          to_timestamp(${review.notedAtMs / 1_000}::float8), ${review.isOurs}, ${review.wasApproved})
  on conflict (account_id, environment, template_id, desk) do update
     set version = excluded.version, language = excluded.language, category = excluded.category, asked_for = excluded.asked_for,
         asked_at = excluded.asked_at, name = excluded.name, code = excluded.code, carrier_id = excluded.carrier_id,
         status = excluded.status, reason = excluded.reason, noted_at = excluded.noted_at, is_ours = excluded.is_ours, was_approved = excluded.was_approved`);

type Key = Owner & Pick<Review, "templateId" | "businessAccount">;

/** From now on it is theirs to take away. */
export const makeOurs = async (db: Queryable, { accountId, environment, templateId, businessAccount }: Key): Promise<void> => {
  await db.rows(sql`
  update template_reviews
     set is_ours = true
   where account_id = ${accountId} and environment = ${environment} and template_id = ${templateId} and desk = ${businessAccount}`);
};

export const dropReview = async (db: Queryable, { accountId, environment, templateId, businessAccount }: Key): Promise<void> => {
  await db.rows(sql`
  delete from template_reviews
   where account_id = ${accountId} and environment = ${environment} and template_id = ${templateId} and desk = ${businessAccount}`);
};
