/** Retention: drops messages and events by whole weeks, some time after every message of the week is finished. A message that is still
 *  open a month later is finished then. */
import { assert } from "../lib/assert.ts";
import type { Log } from "../model/log.ts";
import type { Database } from "../database/database.ts";
import { weekName, type Week } from "../database/partitions.ts";
import { isLockRefused, withShortLocks, type Run } from "../database/short-locks.ts";
import { RepeatingJob } from "../lib/background-job.ts";
import { finishStuck } from "./finish-stuck.ts";
import { dropStatement, hasUnfinished, readSessionName, readWeeks, tablesOf, tryLock, unlock } from "./queries.ts";

const DAY_MS = 24 * 3_600_000;
// A message may be scheduled for 35 days ahead, then wait two days for a carrier and three for a receipt. `drop_week` refuses a
// week that ended later.
export const MIN_RETENTION_DAYS = 40;

// An unfinished message keeps its week for so long. By then it is stuck, whatever the reason.
const STUCK_AFTER_MS = 30 * DAY_MS;

// The check of a large week reads every message.
const STATEMENT_TIMEOUT_MS = 30 * 60_000;
// While a drop waits for a lock, new accepts wait too. The transactions in the tables end in a fraction of this time. All locks of a drop
// together take less than the second after which PostgreSQL looks for deadlocks: by then the drop has given up, so PostgreSQL never
// ends an accept because of it.
// A deadlock or a slow reader has ended at one of the next attempts. A backup outlasts any number of them.
const LOCK_ATTEMPTS = { timeoutMs: 100, pauseMs: 200, most: 20 };

type Retention = { retentionDays: number; nowMs: number; log: Log };

/** The result of a turn. Weeks are named by their first day. */
export type RetentionResult = {
  dropped: string[];
  /** Old weeks with messages that are not finished. */
  kept: string[];
  /** The week whose tables were in use. Later weeks were not attempted. */
  inUse: string | null;
};

/** Runs one turn. Returns undefined while another node runs one. `stopping` ends the session of the turn, whatever it is doing. */
export async function applyRetention(
  db: Database,
  { retentionDays, nowMs, log }: Retention,
  stopping?: AbortSignal,
): Promise<RetentionResult | undefined> {
  assert(retentionDays >= MIN_RETENTION_DAYS, `messages are kept for ${MIN_RETENTION_DAYS} days at least, not ${retentionDays}`);
  const beforeMs = nowMs - retentionDays * DAY_MS;
  return db.session(STATEMENT_TIMEOUT_MS, async (run) => {
    const session = await readSessionName(run);
    stopping?.throwIfAborted();
    let ending: Promise<void> | undefined;
    // The running statement fails, and with it the turn. A session that cannot be ended ends with the process.
    const end = (): void => void (ending = db.endSession(session).catch(() => undefined));
    stopping?.addEventListener("abort", end);
    try {
      if (!(await tryLock(run))) return undefined;
      const weeks = (await readWeeks(run)).filter(({ toMs }) => toMs <= beforeMs);
      // One transaction after the other, outside the session, whose statements may take long.
      for (const week of weeks.filter(({ toMs }) => toMs <= beforeMs - STUCK_AFTER_MS))
        if (await hasUnfinished(run, week)) await finishStuck(db, week, { nowMs, log });
      const turn = await dropWeeks(run, weeks, log);
      await unlock(run);
      return turn;
    } finally {
      stopping?.removeEventListener("abort", end);
      // The session must not return to the pool before it has ended.
      await ending;
    }
  });
}

async function dropWeeks(run: Run, weeks: readonly Week[], log: Log): Promise<RetentionResult> {
  const dropped: string[] = [];
  const kept: string[] = [];
  let inUse: string | null = null;
  for (const week of weeks) {
    const name = weekName(week.fromMs);
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

/** Drops all tables of a week or none. Returns false if several short attempts did not get the locks. */
async function tryDrop(run: Run, week: Week): Promise<boolean> {
  try {
    await withShortLocks(run, dropStatement(week), LOCK_ATTEMPTS);
    return true;
  } catch (error) {
    if (isLockRefused(error)) return false;
    throw error;
  }
}

const FIRST_AFTER_MS = 30_000;
const EVERY_MS = 6 * 3_600_000;
// A backup or a long report that used the tables may have ended by then.
const AGAIN_AFTER_MS = 10 * 60_000;
const STOP_WITHIN_MS = 5_000;

type RetentionOptions = {
  retentionDays: number;
  now: () => number;
  log: Log;
  onError: (error: unknown) => void;
  firstAfterMs?: number;
};

/** The job that drops old weeks: soon after the start, and then a few times a day. */
export function retentionJob(db: Database, options: RetentionOptions): RepeatingJob {
  const { retentionDays, now, log, onError, firstAfterMs = FIRST_AFTER_MS } = options;
  assert(retentionDays >= MIN_RETENTION_DAYS, `messages are kept for ${MIN_RETENTION_DAYS} days at least`);
  const turn = async (stopping: AbortSignal): Promise<number> => {
    const outcome = await applyRetention(db, { retentionDays, nowMs: now(), log }, stopping).catch((error: unknown) => {
      // A stop ends the statements of a turn.
      if (stopping.aborted) return undefined;
      throw error;
    });
    return typeof outcome?.inUse === "string" ? AGAIN_AFTER_MS : EVERY_MS;
  };
  return new RepeatingJob({
    turns: [turn],
    onError,
    afterErrorMs: AGAIN_AFTER_MS,
    firstAfterMs,
    isSpread: true,
    stopWithinMs: STOP_WITHIN_MS,
  });
}
