/** The job that drops old weeks: soon after the start, and then a few times a day. */
import { assert } from "../lib/assert.ts";
import { RepeatingJob } from "../lib/background-job.ts";
import type { Log } from "../model/log.ts";
import type { Database } from "../database/database.ts";
import { applyRetention, MIN_RETENTION_DAYS } from "./drop-weeks.ts";

const FIRST_AFTER_MS = 30_000;
const EVERY_MS = 6 * 3_600_000;
// A backup or a long report that used the tables may have ended by then.
const AGAIN_AFTER_MS = 10 * 60_000;
const STOP_WITHIN_MS = 5_000;

export type RetentionOptions = {
  retentionDays: number;
  now: () => number;
  log: Log;
  onError: (error: unknown) => void;
  firstAfterMs?: number;
};

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
