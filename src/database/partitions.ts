/** Weekly partitions of messages, events and webhook deliveries, by id, which contains the time. A week is dropped as a whole, and the
 *  indexes that are written to stay small. Partitions are created ahead of time; a default partition takes all other rows. */
import { RepeatingJob } from "../lib/background-job.ts";
import { firstUuidAt, MAX_UUID, NIL_UUID, uuidFromText, uuidTimeMs, uuidToText } from "../lib/uuid.ts";
import type { Database, Queryable } from "./database.ts";
import { DATABASE_LOCK, LOCKS } from "./locks.ts";
import { prepare, sql, type Prepared } from "./sql.ts";

/** The storage options of the partitions. A message changes a few times in its first seconds: with half a page free, each change stays
 *  on the page of the message. An event never changes, and most deliveries are written once. */
const TABLES = { messages: "with (fillfactor = 50)", events: "", webhook_deliveries: "" } as const;
const WEEK_MS = 7 * 24 * 3_600_000;
// The Unix epoch was a Thursday; weeks begin on Mondays.
const MONDAY_OFFSET_MS = 4 * 24 * 3_600_000;
// A month ahead. A service that cannot create partitions for that long has greater problems.
const WEEKS_AHEAD = 4;
const CHECK_EVERY_MS = 6 * 3_600_000;
const LOCK_TIMEOUT_MS = 1_000;

export const weekStart = (timeMs: number): number => Math.floor((timeMs - MONDAY_OFFSET_MS) / WEEK_MS) * WEEK_MS + MONDAY_OFFSET_MS;

/** One partition that is to exist: its table, its name and its bounds. */
type Wanted = { table: keyof typeof TABLES; name: string; from: string; to: string; isThisWeek: boolean };

/** The rows of one week in the default partition of a table. */
type WeekRows = { partition: string; rows: number };

/** The outcome of creating partitions. `moved`: rows that were in the default partition and are in that of their week now. `skipped`: weeks
 *  whose rows stay in the default partition, because they are too many to move while others wait. */
export type PartitionReport = { moved: WeekRows[]; skipped: WeekRows[]; failures: unknown[]; hasThisWeek: boolean };

// Writers wait while rows are moved. So many take about a second.
const MAX_MOVED_ROWS = 100_000;
const CHECK_VIOLATION = "23514";

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
  const weeks = Array.from({ length: WEEKS_AHEAD + 1 }, (_, week) => weekStart(nowMs) + week * WEEK_MS);
  return weeks.flatMap((fromMs, week) => {
    const suffix = new Date(fromMs).toISOString().slice(0, 10).replaceAll("-", "");
    const bounds = { from: uuidToText(firstUuidAt(fromMs)), to: uuidToText(firstUuidAt(fromMs + WEEK_MS)) };
    return (Object.keys(TABLES) as Wanted["table"][]).map((table) => ({
      table,
      name: `${table}_${suffix}`,
      ...bounds,
      isThisWeek: week === 0,
    }));
  });
}

async function findMissing(db: Queryable, wanted: readonly Wanted[]): Promise<Wanted[]> {
  const rows = await db.rows<{ name: string }>(sql`
    select name
      from unnest(${wanted.map(({ name }) => name)}::text[]) name
     where to_regclass(name) is null`);
  const missing = new Set(rows.map(({ name }) => name));
  return wanted.filter(({ name }) => missing.has(name));
}

async function createOne(db: Database, wanted: Wanted, lockTimeoutMs: number, report: PartitionReport): Promise<void> {
  const { table, name, from, to } = wanted;
  const bounds = `for values from ('${from}') to ('${to}')`;
  // `if not exists` does not protect against another node that creates the same partition at the same moment.
  const run = (statements: string): Promise<void> =>
    db.script(
      `begin; set local lock_timeout = ${lockTimeoutMs}; select pg_advisory_xact_lock(${DATABASE_LOCK}, ${LOCKS.partitions}); ${statements}; commit`,
    );
  try {
    await run(`create table if not exists ${name} partition of ${table} ${bounds} ${TABLES[table]}`);
  } catch (error) {
    if ((error as { code?: string }).code !== CHECK_VIOLATION) throw error;
    const rows = await countDefaultRows(db, wanted, MAX_MOVED_ROWS + 1);
    if (rows > MAX_MOVED_ROWS) return void report.skipped.push({ partition: name, rows });
    await run(`
      create table ${name} (like ${table} including all) ${TABLES[table]};
      with moved as (
        delete from ${table}_default
         where id >= '${from}' and id < '${to}'
        returning *
      )
      insert into ${name}
      select *
        from moved;
      alter table ${table} attach partition ${name} ${bounds}`);
    report.moved.push({ partition: name, rows });
  }
}

const countStatement = (table: string): Prepared =>
  prepare(`
select count(*)::integer as count
  from (select from ${table}_default where id >= $1::uuid and id < $2::uuid limit $3::integer) found`);

const countIn = {
  messages: countStatement("messages"),
  events: countStatement("events"),
  webhook_deliveries: countStatement("webhook_deliveries"),
} as const satisfies Record<Wanted["table"], Prepared>;

/** Counts the rows with these ids in the default partition of a table, up to a limit. */
async function countDefaultRows(db: Queryable, { table, from, to }: Pick<Wanted, "table" | "from" | "to">, most: number): Promise<number> {
  const [found] = await db.rows<{ count: number }>({ ...countIn[table], values: [from, to, most] });
  return found?.count ?? 0;
}

const MAX_COUNTED_ROWS = 10_000;

/** Counts the rows in the default partitions, up to a limit. A service whose clock is right puts none there. */
export async function countStrayRows(db: Queryable): Promise<number> {
  const all = { from: uuidToText(NIL_UUID), to: uuidToText(MAX_UUID) };
  let count = 0;
  for (const table of Object.keys(TABLES) as Wanted["table"][]) count += await countDefaultRows(db, { table, ...all }, MAX_COUNTED_ROWS);
  return count;
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
  const tables = await db.rows<{ parent: keyof typeof TABLES; name: string; bounds: string }>(sql`
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
