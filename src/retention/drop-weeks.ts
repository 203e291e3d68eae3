/** Retention: messages and events go away by whole weeks, some time after everything in them is over. */
import { setTimeout as sleep } from "node:timers/promises";
import { assert } from "../lib/assert.ts";
import type { Log } from "../lib/log.ts";
import type { Database } from "../storage/database.ts";
import type { Week } from "../storage/partitions.ts";
import {
  countBlocks,
  deleteSlice,
  dropTables,
  hasUnfinished,
  readSessionName,
  readWeeks,
  rollback,
  tablesOf,
  tryLock,
  unlock,
  type Default,
  type Run,
} from "./queries.ts";

const DAY_MS = 24 * 3_600_000;
// A message may wait 35 days for its time, then two days for a carrier and three for a receipt.
export const MIN_RETENTION_DAYS = 40;

// Every message of a large week is read.
const STATEMENT_TIMEOUT_MS = 30 * 60_000;
// Accepts that come while a drop waits for a lock wait as long; what is under way in the tables is over in a fraction of this.
// All of a drop's locks together take less than the second after which PostgreSQL looks for deadlocks: by then we are gone
// from any there is, and it is never an accept that is ended for one.
const LOCK_TIMEOUT_MS = 100;
// A deadlock, or a slow reader, is gone at one of the next tries. A backup is not, and outlasts any number of them.
const DROP_TRIES = 20;
const REST_MS = 200;
// Some 4,000 messages: a fraction of a second.
const SLICE_BLOCKS = 256;

export type Retention = { retentionDays: number; nowMs: number; log: Log };

/** What a turn did. Weeks by their first day. */
export type Turn = {
  dropped: string[];
  /** Old, and with messages that are not finished. */
  kept: string[];
  /** The one whose tables were in use. Those after it were not tried. */
  inUse: string | null;
  /** Rows taken out of the default partitions. */
  deleted: Record<Default, number>;
};

/** One turn. Undefined when another node is at it. When it is `stopping` the turn's session is ended, whatever it is doing. */
export async function applyRetention(
  db: Database,
  { retentionDays, nowMs, log }: Retention,
  stopping?: AbortSignal,
): Promise<Turn | undefined> {
  assert(retentionDays >= MIN_RETENTION_DAYS, `messages are kept for ${MIN_RETENTION_DAYS} days at least, not ${retentionDays}`);
  const beforeMs = nowMs - retentionDays * DAY_MS;
  return db.session(STATEMENT_TIMEOUT_MS, async (run) => {
    const session = await readSessionName(run);
    stopping?.throwIfAborted();
    let ending: Promise<void> | undefined;
    // The statement under way fails, and with it the turn. A session that cannot be ended ends with the process.
    const end = (): void => void (ending = db.endSession(session).catch(() => undefined));
    stopping?.addEventListener("abort", end);
    try {
      if (!(await tryLock(run))) return undefined;
      const weeks = (await readWeeks(run)).filter(({ toMs }) => toMs <= beforeMs);
      const turn = { ...(await dropWeeks(run, weeks, log)), deleted: await emptyDefaults(run, beforeMs, log) };
      await unlock(run);
      return turn;
    } finally {
      stopping?.removeEventListener("abort", end);
      // Until its end the session is ours, and not given back for others to use.
      await ending;
    }
  });
}

async function dropWeeks(run: Run, weeks: readonly Week[], log: Log): Promise<Omit<Turn, "deleted">> {
  const dropped: string[] = [];
  const kept: string[] = [];
  let inUse: string | null = null;
  for (const week of weeks) {
    const name = nameOf(week);
    if (await hasUnfinished(run, week)) kept.push(name);
    else if (await tryDrop(run, week)) {
      dropped.push(name);
      log.info({ week: name, tables: tablesOf(week) }, "an old week was dropped");
    } else {
      inUse = name;
      log.warn({ event: "retention.week_in_use", week: name }, "an old week could not be dropped: its tables are in use");
      break;
    }
  }
  if (kept.length > 0) log.warn({ event: "retention.weeks_kept", weeks: kept }, "old weeks were kept: they have unfinished messages");
  return { dropped, kept, inUse };
}

const nameOf = ({ fromMs }: Week): string => new Date(fromMs).toISOString().slice(0, 10);

/** False when its locks could not be had, in several short tries. */
async function tryDrop(run: Run, week: Week): Promise<boolean> {
  for (let tries = 1; ; tries += 1) {
    try {
      await dropTables(run, week, LOCK_TIMEOUT_MS);
      return true;
    } catch (error) {
      if (!isLockNotHad(error)) throw error;
      await rollback(run);
    }
    if (tries === DROP_TRIES) return false;
    await sleep(REST_MS * (0.5 + Math.random()));
  }
}

// The lock time-out, and a deadlock that was found.
const NOT_HAD = new Set(["55P03", "40P01"]);
const isLockNotHad = (error: unknown): boolean => error instanceof Error && "code" in error && NOT_HAD.has(String(error.code));

/** Rows that no week covers go one by one. Messages first: then their events are nobody's. */
async function emptyDefaults(run: Run, beforeMs: number, log: Log): Promise<Record<Default, number>> {
  const deleted = {
    messages: await emptyDefault(run, "messages", beforeMs),
    events: await emptyDefault(run, "events", beforeMs),
    webhook_deliveries: await emptyDefault(run, "webhook_deliveries", beforeMs),
  };
  if (deleted.messages + deleted.events + deleted.webhook_deliveries > 0)
    log.info(deleted, "old rows were deleted from the default partitions");
  return deleted;
}

async function emptyDefault(run: Run, table: Default, beforeMs: number): Promise<number> {
  let deleted = 0;
  const blocks = await countBlocks(run, table);
  for (let block = 0; block < blocks; block += SLICE_BLOCKS) {
    deleted += await deleteSlice(run, table, { beforeMs, fromBlock: block, toBlock: block + SLICE_BLOCKS });
  }
  return deleted;
}
