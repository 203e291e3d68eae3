/** The jobs that delete old data: whole weeks soon after the start and then a few times a day, rows of tables without weeks every hour. */
import { assert } from "../lib/assert.ts";
import { RepeatingJob, type Turn } from "../lib/background-job.ts";
import type { Log } from "../model/log.ts";
import { firstUuidAt } from "../lib/uuid.ts";
import type { Clock } from "../database/database-clock.ts";
import type { Database } from "../database/database.ts";
import { applyRetention, MIN_RETENTION_DAYS } from "./drop-weeks.ts";
import { AGEING_TABLES, deleteOldRows, type AgeingTable } from "./queries.ts";

const DAY_MS = 24 * 3_600_000;

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

const ROWS_PER_DELETION = 1_000;
const DELETE_ROWS_EVERY_MS = 3_600_000;
// The operator has this time to assign an inbound message, whatever the retention of messages is.
const KEPT_INBOUND_DAYS = 30;

/** Deletes the old rows of small tables one by one, because these tables have no weeks that could be dropped. */
export function rowCleanup(
  { db, clock, retentionDays }: { db: Database; clock: Clock; retentionDays: number },
  onError: (error: unknown) => void,
): RepeatingJob {
  const cleanUp =
    (table: AgeingTable): Turn =>
    async () => {
      const days = table === "kept_inbound" ? KEPT_INBOUND_DAYS : retentionDays;
      const deleted = await deleteOldRows(db, table, firstUuidAt(clock.now() - days * DAY_MS), ROWS_PER_DELETION);
      return deleted === ROWS_PER_DELETION ? 0 : DELETE_ROWS_EVERY_MS;
    };
  return new RepeatingJob({ turns: (Object.keys(AGEING_TABLES) as AgeingTable[]).map(cleanUp), onError });
}
