/** All SQL of reviews: the due syncs of business accounts, their claims, and the reviews of templates. */
import type { TemplateId } from "../model/id.ts";
import type { Queryable, Tx } from "../database/database.ts";
import type { Owner } from "../model/owner.ts";
import { rowReader, type StoredRow } from "../database/row-reader.ts";
import { prepare, sql } from "../database/sql.ts";
import type { Review } from "./review.ts";

/** Inserts missing rows; existing ones stay unchanged. */
export const insertSyncs = async (db: Queryable, businessAccounts: readonly string[], nowMs: number): Promise<void> => {
  await db.rows(sql`
  insert into template_syncs (desk, due_at)
  select unnest(${businessAccounts}::text[]), ${new Date(nowMs)}::timestamptz
  on conflict (desk) do nothing`);
};

export type ClaimedSync = { business_account: string; failures: number; last_error: string | null };

/** Claims a sync that is due, or whose claim has expired, for this node. The next one is due after `againMs`; a request during the sync
 *  moves that time forward. */
export const claimSync = async (
  db: Queryable,
  businessAccounts: readonly string[],
  node: string,
  { nowMs, claimMs, againMs }: { nowMs: number; claimMs: number; againMs: number },
): Promise<ClaimedSync | undefined> => {
  const [claimed] = await db.rows<ClaimedSync>(sql`
  update template_syncs
     set claimed_by = ${node}, claimed_until = ${new Date(nowMs + claimMs)}, due_at = ${new Date(nowMs + againMs)}
   where desk = any (array(
           select desk
             from template_syncs
            where desk = any (${businessAccounts}::text[])
              and (due_at <= ${new Date(nowMs)} or claimed_by is not null)
              and claimed_until <= ${new Date(nowMs)}
            order by due_at
            limit 1
              for update skip locked))
  returning desk as business_account, failures, last_error`);
  return claimed;
};

/** Renews the claim until a time. Returns false when the node has lost it. */
export const renewSync = async (db: Queryable, businessAccount: string, node: string, untilMs: number): Promise<boolean> =>
  (
    await db.rows(sql`
  update template_syncs
     set claimed_until = ${new Date(untilMs)}
   where desk = ${businessAccount} and claimed_by = ${node}
  returning 1`)
  ).length > 0;

/** Stores a successful sync. The next one is due after `againMs`, or sooner if that was requested. */
export const finishSync = async (
  db: Queryable,
  businessAccount: string,
  node: string,
  { nowMs, againMs }: { nowMs: number; againMs: number },
): Promise<void> => {
  await db.rows(sql`
  update template_syncs
     set claimed_by = null, claimed_until = '-infinity', synced_at = ${new Date(nowMs)}, failures = 0, last_error = null,
         last_error_at = null, due_at = least(due_at, ${new Date(nowMs + againMs)})
   where desk = ${businessAccount} and claimed_by = ${node}`);
};

/** Stores a failed sync. No node repeats it before `againMs` have passed. */
export const failSync = async (
  db: Queryable,
  businessAccount: string,
  node: string,
  { nowMs, error, againMs }: { nowMs: number; error: string; againMs: number },
): Promise<void> => {
  await db.rows(sql`
  update template_syncs
     set claimed_by = null, claimed_until = '-infinity', failures = failures + 1, last_error = ${error},
         last_error_at = ${new Date(nowMs)}, due_at = ${new Date(nowMs + againMs)}
   where desk = ${businessAccount} and claimed_by = ${node}`);
};

/** Releases the claim of an unfinished sync: another node may continue at once. */
export const releaseSync = async (db: Queryable, businessAccount: string, node: string, nowMs: number): Promise<void> => {
  await db.rows(sql`
  update template_syncs
     set claimed_by = null, claimed_until = '-infinity', due_at = ${new Date(nowMs)}
   where desk = ${businessAccount} and claimed_by = ${node}`);
};

/** Makes syncs due as soon as `gapMs` have passed since the last one. Failing syncs keep their schedule. */
export const hastenSyncs = async (
  db: Queryable,
  businessAccounts: readonly string[],
  { nowMs, gapMs }: { nowMs: number; gapMs: number },
): Promise<void> => {
  await db.rows(sql`
  update template_syncs
     set due_at = least(due_at, greatest(${new Date(nowMs)},
                                         coalesce(synced_at, ${new Date(nowMs)}) + ${gapMs}::integer * interval '1 millisecond'))
   where desk = any (${businessAccounts}::text[]) and failures = 0`);
};

const COLUMNS = `account_id, environment, template_id, desk as business_account, version, language, category, asked_for, asked_at, name,
       code, carrier_id, status, reason, noted_at, is_ours, was_approved`;

const toReview = rowReader<Review>(COLUMNS, ["askedForMs", "askedAtMs", "notedAtMs"]);

const reviewsBy = (condition: string) => {
  const statement = prepare(`
select ${COLUMNS}
  from template_reviews
 where ${condition}`);
  return async (db: Queryable, values: unknown[]): Promise<Review[]> => (await db.rows<StoredRow>({ ...statement, values })).map(toReview);
};

const ofTemplate = reviewsBy("account_id = $1 and environment = $2 and template_id = $3");
const ofOwner = reviewsBy("account_id = $1 and environment = $2 and desk = $3");
// Few environments of one business account use the same name.
const byName = reviewsBy("desk = $1 and name = $2 and code = $3\n limit 100");

/** The reviews of a template at all business accounts. */
export const readReviews = (db: Queryable, { accountId, environment }: Owner, templateId: TemplateId): Promise<Review[]> =>
  ofTemplate(db, [accountId, environment, templateId]);

/** The reviews of a business account for the templates of an environment. */
export const readReviewsAt = (db: Queryable, { accountId, environment }: Owner, businessAccount: string): Promise<Review[]> =>
  ofOwner(db, [accountId, environment, businessAccount]);

/** The reviews of all templates with this name and language at the business account. */
export const findReviewsByName = (
  db: Queryable,
  businessAccount: string,
  { name, code }: Pick<Review, "name" | "code">,
): Promise<Review[]> => byName(db, [businessAccount, name, code]);

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

/** Marks the template of a review as submitted by this service, so that it may be deleted at the carrier. */
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
