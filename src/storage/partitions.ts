/** Weekly partitions of messages, events and webhook deliveries, by id, which contains the time. A week is dropped as a whole, and the
 *  indexes that are written to stay small. Partitions are created ahead of time; a default partition takes all other rows. */
import { RepeatingJob } from "../lib/background-job.ts";
import { firstUuidAt, uuidFromText, uuidTimeMs, uuidToText } from "../lib/uuid.ts";
import type { Database, Queryable } from "./database.ts";
import { DATABASE_LOCK, LOCKS } from "./locks.ts";
import { sql } from "./sql.ts";

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

const weekStart = (timeMs: number): number => Math.floor((timeMs - MONDAY_OFFSET_MS) / WEEK_MS) * WEEK_MS + MONDAY_OFFSET_MS;

/** Creates the missing partitions of this week and the next ones. */
export async function createPartitions(db: Database, nowMs: number, lockTimeoutMs = 0): Promise<void> {
  const first = weekStart(nowMs);
  const statements: string[] = [];
  for (let week = 0; week <= WEEKS_AHEAD; week += 1) {
    const from = first + week * WEEK_MS;
    const suffix = new Date(from).toISOString().slice(0, 10).replaceAll("-", "");
    const bounds = `from ('${uuidToText(firstUuidAt(from))}') to ('${uuidToText(firstUuidAt(from + WEEK_MS))}')`;
    for (const [table, options] of Object.entries(TABLES))
      statements.push(`create table if not exists ${table}_${suffix} partition of ${table} for values ${bounds} ${options};`);
  }
  // `if not exists` does not protect against another node that creates the same partition at the same moment.
  await db.script(
    `begin; set local lock_timeout = ${lockTimeoutMs}; select pg_advisory_xact_lock(${DATABASE_LOCK}, ${LOCKS.partitions}); ${statements.join("\n")} commit`,
  );
}

/** The job that creates the partitions of the coming weeks. The start of the service has created this week's before. */
export function partitionJob(db: Database, now: () => number, onError: (error: unknown) => void): RepeatingJob {
  const run = async (): Promise<number> => {
    // Writers wait behind a requested lock, so the request is given up soon. A later run takes the lock long before the week is needed.
    await createPartitions(db, now(), LOCK_TIMEOUT_MS);
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
