/** Weekly partitions of messages, events and webhook deliveries, by id, which contains the time. A week is dropped as a whole, and the
 *  indexes that are written to stay small. Partitions are created ahead of time; a default partition takes all other rows. */
import { RepeatingJob } from "../lib/background-job.ts";
import { uuidFromText, uuidTimeMs } from "../lib/uuid.ts";
import type { Database, Queryable } from "./database.ts";
import { DATABASE_LOCK, LOCKS } from "./locks.ts";
import { sql } from "./sql.ts";

/** As the functions `create_week` and `drop_week` of the schema know them. */
const TABLES = ["messages", "events", "webhook_deliveries"] as const;
const WEEK_MS = 7 * 24 * 3_600_000;
// The Unix epoch was a Thursday; weeks begin on Mondays.
const MONDAY_OFFSET_MS = 4 * 24 * 3_600_000;
// A month ahead. A service that cannot create partitions for that long has greater problems.
const WEEKS_AHEAD = 4;
const CHECK_EVERY_MS = 6 * 3_600_000;
const LOCK_TIMEOUT_MS = 1_000;

/** The name of a week: its first day. */
export const weekName = (fromMs: number): string => new Date(fromMs).toISOString().slice(0, 10);

export const weekStart = (timeMs: number): number => Math.floor((timeMs - MONDAY_OFFSET_MS) / WEEK_MS) * WEEK_MS + MONDAY_OFFSET_MS;

/** One partition that is to exist. */
type Wanted = { table: (typeof TABLES)[number]; week: string; name: string; isThisWeek: boolean };

/** The rows of one week in the default partition of a table. */
type WeekRows = { partition: string; rows: number };

/** The outcome of creating partitions. `moved`: rows that were in the default partition and are in that of their week now. `skipped`: weeks
 *  whose rows stay in the default partition, because they are too many to move while others wait. */
export type PartitionReport = { moved: WeekRows[]; skipped: WeekRows[]; failures: unknown[]; hasThisWeek: boolean };

// Writers wait while rows are moved. So many take about a second.
const MAX_MOVED_ROWS = 100_000;

/** Creates the missing partitions of this week and the next ones, each in a transaction of its own, so that one that fails keeps no other
 *  from being created. Rows of such a week that are in the default partition, where a wrong clock puts them, are moved. */
export async function createPartitions(db: Database, nowMs: number, lockTimeoutMs = 0): Promise<PartitionReport> {
  const report: PartitionReport = { moved: [], skipped: [], failures: [], hasThisWeek: true };
  for (const wanted of await findMissing(db, wantedAt(nowMs))) {
    try {
      await createOne(db, wanted, lockTimeoutMs, report);
    } catch (error) {
      report.failures.push(error);
      if (wanted.isThisWeek) report.hasThisWeek = false;
    }
  }
  return report;
}

function wantedAt(nowMs: number): Wanted[] {
  const weeks = Array.from({ length: WEEKS_AHEAD + 1 }, (_, index) => weekName(weekStart(nowMs) + index * WEEK_MS));
  return weeks.flatMap((week, index) =>
    TABLES.map((table) => ({ table, week, name: `${table}_${week.replaceAll("-", "")}`, isThisWeek: index === 0 })),
  );
}

async function findMissing(db: Queryable, wanted: readonly Wanted[]): Promise<Wanted[]> {
  const rows = await db.rows<{ name: string }>(sql`
    select name
      from unnest(${wanted.map(({ name }) => name)}::text[]) name
     where to_regclass(name) is null`);
  const missing = new Set(rows.map(({ name }) => name));
  return wanted.filter(({ name }) => missing.has(name));
}

/** `create_week` has the rights of the owner of the schema, which the role of this node may lack. */
async function createOne(db: Database, { table, week, name }: Wanted, lockTimeoutMs: number, report: PartitionReport): Promise<void> {
  const [created] = await db.transaction(async (tx) => {
    // `if not exists` does not protect against another node that creates the same partition at the same moment.
    await tx.rows(sql`
      select set_config('lock_timeout', ${`${lockTimeoutMs}ms`}, true),
             pg_advisory_xact_lock(${DATABASE_LOCK}, ${LOCKS.partitions})`);
    return tx.rows<{ rows: number }>(sql`select create_week(${table}, ${week}::date, ${MAX_MOVED_ROWS}) as rows`);
  });
  const rows = created?.rows ?? 0;
  if (rows > 0) (rows > MAX_MOVED_ROWS ? report.skipped : report.moved).push({ partition: name, rows });
}

// Only a wrong clock puts so many rows there that their exact number does not matter.
const MAX_COUNTED_ROWS = 10_000;

/** Counts the rows in the default partitions, up to a limit for each. A service whose clock is right puts none there. */
export async function countStrayRows(db: Queryable): Promise<number> {
  const [found] = await db.rows<{ count: number }>(sql`
    select ((select count(*) from (select from messages_default limit ${MAX_COUNTED_ROWS}) found)
            + (select count(*) from (select from events_default limit ${MAX_COUNTED_ROWS}) found)
            + (select count(*) from (select from webhook_deliveries_default limit ${MAX_COUNTED_ROWS}) found))::integer as count`);
  return found?.count ?? 0;
}

/** The job that creates the partitions of the coming weeks. The start of the service has created this week's before. */
export function partitionJob(
  db: Database,
  now: () => number,
  { onReport, onError }: { onReport: (report: PartitionReport) => void; onError: (error: unknown) => void },
): RepeatingJob {
  const run = async (): Promise<number> => {
    // Writers wait behind a requested lock, so the request is given up soon. A later run takes the lock long before the week is needed.
    onReport(await createPartitions(db, now(), LOCK_TIMEOUT_MS));
    return CHECK_EVERY_MS;
  };
  return new RepeatingJob({ turns: [run], onError, afterErrorMs: CHECK_EVERY_MS, firstAfterMs: CHECK_EVERY_MS });
}

/** The tables of one week, and the times of its ids: from `fromMs`, and before `toMs`. */
export type Week = { fromMs: number; toMs: number; messages: string; events: string; webhook_deliveries?: string };

const BOUNDS = /^FOR VALUES FROM \('([0-9a-f-]{36})'\) TO \('([0-9a-f-]{36})'\)$/;

/** The existing weeks, the oldest first. Weeks from before webhooks existed have no deliveries. A table of messages without a table of
 *  events was created by hand and is not a week. */
export async function listWeeks(db: Queryable): Promise<Week[]> {
  const tables = await db.rows<{ parent: Wanted["table"]; name: string; bounds: string }>(sql`
    select parent.relname as parent, part.oid::regclass::text as name, pg_get_expr(part.relpartbound, part.oid) as bounds
      from pg_inherits
      join pg_class parent on parent.oid = inhparent
      join pg_class part on part.oid = inhrelid
     where inhparent in ('messages'::regclass, 'events'::regclass, 'webhook_deliveries'::regclass)`);
  const weeks = new Map<string, Partial<Week>>();
  for (const { parent, name, bounds } of tables) {
    const [, from, to] = BOUNDS.exec(bounds) ?? [];
    if (from === undefined || to === undefined) continue;
    const times = { fromMs: uuidTimeMs(uuidFromText(from)), toMs: uuidTimeMs(uuidFromText(to)) };
    weeks.set(bounds, { ...times, ...weeks.get(bounds), [parent]: name });
  }
  return [...weeks.values()].filter(isWhole).toSorted((a, b) => a.fromMs - b.fromMs);
}

const isWhole = (week: Partial<Week>): week is Week => week.messages !== undefined && week.events !== undefined;
