/** All SQL of usage: folding of changes into hours and minutes, deletion of old counts, and reads of both together. The statements that
 *  write messages insert the changes. */
import { assert } from "../lib/assert.ts";
import type { AccountId } from "../model/id.ts";
import type { Database, Queryable, Tx } from "../database/database.ts";
import { DATABASE_LOCK, LOCKS } from "../database/locks.ts";
import type { Environment } from "../model/owner.ts";
import { prepare, sql, type Prepared } from "../database/sql.ts";

const takeLock = (tx: Tx) => tx.rows(sql`select pg_advisory_xact_lock(${DATABASE_LOCK}, ${LOCKS.usage})`);
const tryLock = (tx: Tx) =>
  tx.rows<{ is_mine: boolean }>(sql`select pg_try_advisory_xact_lock(${DATABASE_LOCK}, ${LOCKS.usage}) as is_mine`);

// A turn takes a fraction of a second, which readers and writers do not notice.
export const FOLD_ROWS = 20_000;

/** Moves up to `maxRows` changes into the hours and the minutes, and returns how many; none while another node does this. All tables
 *  change in one transaction, so a statement that reads changes together with hours or minutes finds every change exactly once. */
export async function foldUsage(db: Database, maxRows = FOLD_ROWS): Promise<number> {
  return db.transaction(async (tx) => {
    const [lock] = await tryLock(tx);
    if (lock?.is_mine !== true) return 0;
    const [fold] = await tx.rows<{ taken: number; empty_hours: string[]; empty_minutes: string[] }>({ ...moveChanges, values: [maxRows] });
    if (fold === undefined) return 0;
    if (fold.empty_hours.length > 0) await tx.rows({ ...emptyHours, values: [fold.empty_hours] });
    if (fold.empty_minutes.length > 0) await tx.rows({ ...emptyMinutes, values: [fold.empty_minutes] });
    return fold.taken;
  });
}

/** Half the range of a bigint. The sum of a turn is added without an overflow, which would stop the counts of all accounts. */
const bounded = (column: string): string => `least(greatest(${column}, -(1::bigint << 62)), 1::bigint << 62)`;

/** Adds the taken changes to the counts of a table. Changes arrive in any order, so a count may be negative until all its changes are folded. */
const addTo = (table: string, unit: string, time: string, where = ""): string => `
    insert into ${table} (account_id, environment, ${unit}, channel, status, error_code, delivery_bucket, messages, segments)
    select account_id, environment, ${time}, channel, status, error_code, delivery_bucket, sum(messages), sum(segments)
      from taken${where}
     group by 1, 2, 3, 4, 5, 6, 7
    having sum(messages) <> 0 or sum(segments) <> 0
    on conflict (account_id, environment, ${unit}, channel, status, error_code, delivery_bucket) do update
       set messages = ${bounded(`${table}.messages`)} + excluded.messages,
           segments = ${bounded(`${table}.segments`)} + excluded.segments
    returning ctid, messages, segments`;

/** A deleted minute takes no more changes, because a partial count would look like a whole one. */
const IS_KEPT = `
     where minute >= (select usage_minutes_since from installation)`;

/** Texts are cut to what an index accepts and times to what `date_bin` accepts, so that a row that cannot be counted stops no other. */
const moveChanges = prepare(`
  with taken as (
    delete from usage_changes
     where ctid = any (array(select ctid from usage_changes limit $1))
    returning account_id, left(environment, 100) as environment,
              least(greatest(minute, to_timestamp(0)), timestamptz '3000-01-01 00:00:00Z') as minute,
              left(channel, 100) as channel, left(status, 100) as status, left(error_code, 100) as error_code,
              delivery_bucket, messages, segments
  ), hours as (${addTo("usage_hours", "hour", "date_bin('1 hour', minute, to_timestamp(0))")}
  ), minutes as (${addTo("usage_minutes", "minute", "minute", IS_KEPT)}
  )
  select (select count(*) from taken) as taken,
         array(select ctid::text from hours where messages = 0 and segments = 0) as empty_hours,
         array(select ctid::text from minutes where messages = 0 and segments = 0) as empty_minutes`);

/** Under the lock no other transaction writes to the tables, so every row is still in its place. */
const deleteEmpty = (table: string): Prepared =>
  prepare(`
  delete from ${table}
   where ctid = any ($1::tid[]) and messages = 0 and segments = 0`);

const emptyHours = deleteEmpty("usage_hours");
const emptyMinutes = deleteEmpty("usage_minutes");

// A year can be compared with the one before, for a month after it.
const KEPT_MS = 400 * 24 * 3_600_000;
// One hour more than a request can ask for, so that no minute is deleted while it is read.
const KEPT_BY_MINUTE_MS = 25 * 3_600_000;
const FORGET_ROWS = 20_000;

/** The tables have no index on only the time, because the planner would use it for reads. The statement walks from environment to
 *  environment, whose oldest rows are adjacent. */
const forgetText = (table: string, unit: string, keptSince: string): string => `
  with recursive owner as (
    (select account_id, environment
       from ${table}
      order by account_id, environment
      limit 1)
    union all
    select next.account_id, next.environment
      from owner
     cross join lateral (select account_id, environment
                           from ${table}
                          where (account_id, environment) > (owner.account_id, owner.environment)
                          order by account_id, environment
                          limit 1) next
  ), old as (
    select counted.ctid
      from owner
     cross join lateral (select ctid
                           from ${table}
                          where account_id = owner.account_id
                            and environment = owner.environment
                            and ${unit} < ${keptSince}
                          order by ${unit}
                          limit $1) counted
     limit $1
  ), deleted as (
    delete from ${table}
     where ctid = any (array(select ctid from old))
    returning 1
  )
  select count(*) as rows
    from deleted`;

const oldHours = prepare(forgetText("usage_hours", "hour", "$2"));
const oldMinutes = prepare(forgetText("usage_minutes", "minute", "(select usage_minutes_since from installation)"));

/** Deletes up to `maxRows` hours that are older than 400 days, and returns how many. */
export async function forgetHours(db: Database, nowMs: number, maxRows = FORGET_ROWS): Promise<number> {
  return db.transaction(async (tx) => {
    await takeLock(tx);
    const [forgotten] = await tx.rows<{ rows: number }>({ ...oldHours, values: [maxRows, new Date(nowMs - KEPT_MS)] });
    return forgotten?.rows ?? 0;
  });
}

/** Deletes up to `maxRows` minutes that are older than 25 hours, and returns how many. From the first turn on none of them counts as
 *  kept, however many turns the deletion takes. */
export async function forgetMinutes(db: Database, nowMs: number, maxRows = FORGET_ROWS): Promise<number> {
  return db.transaction(async (tx) => {
    await takeLock(tx);
    await tx.rows(sql`
  update installation
     set usage_minutes_since = greatest(usage_minutes_since,
                                        date_trunc('minute', ${new Date(nowMs - KEPT_BY_MINUTE_MS)}::timestamptz))`);
    const [forgotten] = await tx.rows<{ rows: number }>({ ...oldMinutes, values: [maxRows] });
    return forgotten?.rows ?? 0;
  });
}

/** The first minute that is kept. It only moves forward, and stays more than a day behind. A database that is older than its minutes
 *  has fewer of them on the first day. */
export async function minutesKeptSince(db: Queryable): Promise<number> {
  const [kept] = await db.rows<{ since: Date }>(sql`select usage_minutes_since as since from installation`);
  assert(kept !== undefined, "the installation has a row");
  return kept.since.getTime();
}

export type UsageInterval = "minute" | "hour" | "day";
/** A range of whole hours, or of whole minutes if the interval is a minute. */
export type UsageRange = { fromMs: number; toMs: number; interval: UsageInterval };
export type UsageFilter = { channel?: string | null; status?: string | null; errorCode?: string | null };

/** The messages of one kind in one minute, hour or day. */
export type UsageRow = {
  start: Date;
  channel: string;
  status: string;
  /** Empty: none. */
  error_code: string;
  messages: number;
  segments: number;
  /** The number of messages by bucket of the delivery time; null when none was delivered. */
  buckets: Record<string, number> | null;
};

const usageText = (table: string, unit: string): string => `
  with counted as (
    select ${unit} as counted_at, channel, status, error_code, delivery_bucket, messages, segments
      from ${table}
     where account_id = $1 and environment = $2
       and ${unit} >= to_timestamp($3::float8) and ${unit} < to_timestamp($4::float8)
    union all
    select minute, channel, status, error_code, delivery_bucket, messages, segments
      from usage_changes
     where account_id = $1 and environment = $2
       and minute >= to_timestamp($3::float8) and minute < to_timestamp($4::float8)
  ), bucketed as (
    select date_bin($5::interval, counted_at, to_timestamp(0)) as start, channel, status, error_code, delivery_bucket,
           sum(messages)::bigint as messages, sum(segments)::bigint as segments
      from counted
     where ($6::text is null or channel = $6)
       and ($7::text is null or status = $7)
       and ($8::text is null or error_code = $8)
     group by 1, 2, 3, 4, 5
    having sum(messages) <> 0
  )
  select start, channel, status, error_code, sum(messages)::bigint as messages, sum(segments)::bigint as segments,
         json_object_agg(delivery_bucket, messages) filter (where delivery_bucket >= 0) as buckets
    from bucketed
   group by start, channel, status, error_code
   order by start desc, channel, status, error_code
   limit $9`;

const ofHours = prepare(usageText("usage_hours", "hour"));
const ofMinutes = prepare(usageText("usage_minutes", "minute"));

/** Reads at most `maxRows` rows, newest first. A caller that asks for one more than it needs notices when there are more. Minutes are
 *  complete from `minutesKeptSince` on. */
export const readUsage = (
  db: Queryable,
  accountId: AccountId,
  environment: Environment,
  { fromMs, toMs, interval, channel = null, status = null, errorCode = null }: UsageRange & UsageFilter,
  maxRows: number,
): Promise<UsageRow[]> =>
  db.rows<UsageRow>({
    ...(interval === "minute" ? ofMinutes : ofHours),
    values: [accountId, environment, fromMs / 1_000, toMs / 1_000, `1 ${interval}`, channel, status, errorCode, maxRows],
  });

/** The number of unfinished messages, by status. */
export type Depth = { scheduled: number; queued: number; sending: number };

/** Reads the depth from the counts and not from the messages: few rows count very many messages of any age, because empty counts have no
 *  row. The statuses are literals, so that the partial index on them applies. */
export async function readDepth(db: Queryable, accountId: AccountId, environment: Environment): Promise<Depth> {
  const [depth] = await db.rows<Depth>(sql`
  select coalesce(sum(messages) filter (where status = 'scheduled'), 0)::bigint as scheduled,
         coalesce(sum(messages) filter (where status = 'queued'), 0)::bigint as queued,
         coalesce(sum(messages) filter (where status = 'sending'), 0)::bigint as sending
    from (select status, messages
            from usage_hours
           where account_id = ${accountId} and environment = ${environment}
             and status in ('scheduled', 'queued', 'sending')
          union all
          select status, messages
            from usage_changes
           where account_id = ${accountId} and environment = ${environment}
             and status in ('scheduled', 'queued', 'sending')) counted`);
  return depth ?? { scheduled: 0, queued: 0, sending: 0 };
}
