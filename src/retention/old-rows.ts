/** The job that deletes old rows that belong to no week. Each kind of rows has its own turn, in small batches: a batch that left rows is
 *  followed by a pause of ten times its duration, so that a turn takes at most a tenth of one connection. */
import type { ChainKey } from "../audit/chain.ts";
import { deleteOldEntries } from "../audit/seal.ts";
import type { Clock } from "../database/database-clock.ts";
import type { Database } from "../database/database.ts";
import { walkExpiredKeys } from "../idempotency/forget-keys.ts";
import { RepeatingJob, type Turn } from "../lib/background-job.ts";
import { deleteLoggedRequests } from "../requests/request-log.ts";
import { deleteOldHours, deleteOldMinutes } from "../usage/fold.ts";
import { deleteOldRows, type AgingTableName } from "./queries.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

const BATCH_ROWS = 1_000;
const REST_RATIO = 10;
const MIN_REST_MS = 100;
// A start has more urgent work. A node that is restarted every day also deletes.
const FIRST_AFTER_MS = MINUTE_MS;
// Old rows have no effect, so there is no hurry after an error.
const AFTER_ERROR_MS = MINUTE_MS;
const STOP_WITHIN_MS = 5_000;

export type OldRowsParts = { db: Database; clock: Clock; retentionDays: number; auditRetentionDays: number; chainKey: ChainKey };

type OldRows = {
  table: string;
  /** The pause after the last batch. */
  everyMs: number;
  /** Deletes a batch. Returns whether it may have left rows. */
  deleteBatch: (nowMs: number, stopping: AbortSignal) => Promise<boolean>;
};

export function listOldRows({ db, retentionDays, auditRetentionDays, chainKey }: OldRowsParts): OldRows[] {
  const olderThan = (days: number, table: AgingTableName): OldRows => ({
    table,
    everyMs: HOUR_MS,
    deleteBatch: async (nowMs) => (await deleteOldRows(db, table, nowMs - days * DAY_MS, BATCH_ROWS)) === BATCH_ROWS,
  });
  return [
    olderThan(retentionDays, "batches"),
    olderThan(retentionDays, "verifications"),
    olderThan(retentionDays, "message_parts"),
    // Events first, because a message stays for as long as it has events there.
    olderThan(retentionDays, "events_default"),
    olderThan(retentionDays, "messages_default"),
    olderThan(retentionDays, "webhook_deliveries_default"),
    // The operator has this time to assign an inbound message, whatever the retention of messages is.
    olderThan(30, "kept_inbound"),
    // Carriers hold a receipt for two days at most, and a link can be down over a weekend.
    olderThan(3, "parked_receipts"),
    // Cloud APIs retry a webhook for up to seven days.
    olderThan(8, "inbound_names"),
    // The parts of a link that is no longer configured: delivery stores or deletes all others within minutes.
    olderThan(1, "inbound_parts"),
    // A key stays for half an hour more than its 24 hours, which makes the table 2 % larger. A small table is hardly ever read.
    { table: "idempotency_keys", everyMs: 30 * MINUTE_MS, deleteBatch: walkExpiredKeys(db) },
    {
      table: "request_log",
      everyMs: 10 * MINUTE_MS,
      deleteBatch: async (nowMs) => (await deleteLoggedRequests(db, nowMs, BATCH_ROWS)) === BATCH_ROWS,
    },
    { table: "usage_hours", everyMs: DAY_MS, deleteBatch: (nowMs) => deleteOldHours(db, nowMs) },
    // Each run deletes one part in 150, so that the table keeps its size and new rows reuse the space.
    { table: "usage_minutes", everyMs: 10 * MINUTE_MS, deleteBatch: (nowMs) => deleteOldMinutes(db, nowMs) },
    {
      table: "audit_events",
      everyMs: HOUR_MS,
      deleteBatch: async (nowMs, stopping) =>
        (await deleteOldEntries(db, { nowMs, keptMs: auditRetentionDays * DAY_MS, chainKey }, stopping)) > 0,
    },
  ];
}

export function oldRowsJob(parts: OldRowsParts, onError: (error: unknown) => void, firstAfterMs = FIRST_AFTER_MS): RepeatingJob {
  const turnOf =
    ({ table, everyMs, deleteBatch }: OldRows): Turn =>
    async (stopping) => {
      const startedAt = performance.now();
      const hasMore = await deleteBatch(parts.clock.now(), stopping).catch((error: unknown) => {
        throw new Error(`old rows of ${table} could not be deleted`, { cause: error });
      });
      return hasMore ? restAfter(performance.now() - startedAt) : everyMs;
    };
  return new RepeatingJob({
    turns: listOldRows(parts).map(turnOf),
    onError,
    afterErrorMs: AFTER_ERROR_MS,
    firstAfterMs,
    isSpread: true,
    stopWithinMs: STOP_WITHIN_MS,
  });
}

export const restAfter = (tookMs: number): number => Math.max(MIN_REST_MS, tookMs * REST_RATIO);
