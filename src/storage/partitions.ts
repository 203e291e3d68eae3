/** Messages and events lie in weekly partitions by id, which carries the time: a week goes away as a whole, and the
 *  indexes that are written to stay small. Partitions are made ahead; a default one catches what none covers. */
import { firstUuidAt, uuidToText } from "../lib/uuid.ts";
import type { Database } from "./database.ts";

const TABLES = ["messages", "events"] as const;
const WEEK_MS = 7 * 24 * 3_600_000;
// The Unix epoch was a Thursday; weeks begin on Mondays.
const MONDAY_OFFSET_MS = 4 * 24 * 3_600_000;
// A month ahead: a service that could not make partitions for that long has louder problems.
const WEEKS_AHEAD = 4;
const CHECK_EVERY_MS = 6 * 3_600_000;
const LOCK = "7361, 2";

const weekStart = (timeMs: number): number => Math.floor((timeMs - MONDAY_OFFSET_MS) / WEEK_MS) * WEEK_MS + MONDAY_OFFSET_MS;

/** Makes the partitions of this week and the next ones, where they are missing. */
export async function makePartitions(db: Database, nowMs: number): Promise<void> {
  const first = weekStart(nowMs);
  const statements: string[] = [];
  for (let week = 0; week <= WEEKS_AHEAD; week += 1) {
    const from = first + week * WEEK_MS;
    const suffix = new Date(from).toISOString().slice(0, 10).replaceAll("-", "");
    const bounds = `from ('${uuidToText(firstUuidAt(from))}') to ('${uuidToText(firstUuidAt(from + WEEK_MS))}')`;
    for (const table of TABLES)
      statements.push(`create table if not exists ${table}_${suffix} partition of ${table} for values ${bounds};`);
  }
  // `if not exists` is no protection against a neighbour who makes the same one at the same moment.
  await db.script(`begin; select pg_advisory_xact_lock(${LOCK}); ${statements.join("\n")} commit`);
}

export function keepPartitions(db: Database, now: () => number, onError: (error: unknown) => void): { stop(): void } {
  const timer = setInterval(() => void makePartitions(db, now()).catch(onError), CHECK_EVERY_MS);
  return { stop: () => clearInterval(timer) };
}
