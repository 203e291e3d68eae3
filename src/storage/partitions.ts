/** Messages, events and what became of telling them lie in weekly partitions by id, which carries the time: a week goes away as a whole, and the
 *  indexes that are written to stay small. Partitions are made ahead; a default one catches what none covers. */
import { RepeatingJob } from "../lib/background-job.ts";
import { firstUuidAt, uuidFromText, uuidTimeMs, uuidToText } from "../lib/uuid.ts";
import type { Database, Queryable } from "./database.ts";
import { DATABASE_LOCK, LOCKS } from "./locks.ts";
import { sql } from "./sql.ts";

/** What the partitions of a table are made with. A message changes a few times in its first seconds: half a page left free
 *  keeps each change on the page of the message. An event never changes, and most deliveries are written once. */
const TABLES = { messages: "with (fillfactor = 50)", events: "", webhook_deliveries: "" } as const;
const WEEK_MS = 7 * 24 * 3_600_000;
// The Unix epoch was a Thursday; weeks begin on Mondays.
const MONDAY_OFFSET_MS = 4 * 24 * 3_600_000;
// A month ahead: a service that could not make partitions for that long has louder problems.
const WEEKS_AHEAD = 4;
const CHECK_EVERY_MS = 6 * 3_600_000;
const LOCK_TIMEOUT_MS = 1_000;

const weekStart = (timeMs: number): number => Math.floor((timeMs - MONDAY_OFFSET_MS) / WEEK_MS) * WEEK_MS + MONDAY_OFFSET_MS;

/** Makes the partitions of this week and the next ones, where they are missing. */
export async function makePartitions(db: Database, nowMs: number, lockTimeoutMs = 0): Promise<void> {
  const first = weekStart(nowMs);
  const statements: string[] = [];
  for (let week = 0; week <= WEEKS_AHEAD; week += 1) {
    const from = first + week * WEEK_MS;
    const suffix = new Date(from).toISOString().slice(0, 10).replaceAll("-", "");
    const bounds = `from ('${uuidToText(firstUuidAt(from))}') to ('${uuidToText(firstUuidAt(from + WEEK_MS))}')`;
    for (const [table, options] of Object.entries(TABLES))
      statements.push(`create table if not exists ${table}_${suffix} partition of ${table} for values ${bounds} ${options};`);
  }
  // `if not exists` is no protection against a neighbour who makes the same one at the same moment.
  await db.script(
    `begin; set local lock_timeout = ${lockTimeoutMs}; select pg_advisory_xact_lock(${DATABASE_LOCK}, ${LOCKS.partitions}); ${statements.join("\n")} commit`,
  );
}

/** The job that makes the partitions of the coming weeks. `makePartitions` has made this week's before. */
export function partitionJob(db: Database, now: () => number, onError: (error: unknown) => void): RepeatingJob {
  const turn = async (): Promise<number> => {
    // Writers wait behind a lock that is waited for: it is given up soon, and taken by a later turn long before the week is needed.
    await makePartitions(db, now(), LOCK_TIMEOUT_MS);
    return CHECK_EVERY_MS;
  };
  return new RepeatingJob({ turns: [turn], onError, afterErrorMs: CHECK_EVERY_MS, firstAfterMs: CHECK_EVERY_MS });
}

/** One week's tables, and the times of its ids: from `fromMs` on, before `toMs`. */
export type Week = { fromMs: number; toMs: number; messages: string; events: string; webhook_deliveries?: string };

const BOUNDS = /^FOR VALUES FROM \('([0-9a-f-]{36})'\) TO \('([0-9a-f-]{36})'\)$/;

/** The weeks that are there, oldest first. Those of before there were webhooks have no deliveries; a table of messages without its events is no week of ours: hands made it, or left it. */
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
