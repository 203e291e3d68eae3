/** Completes batches: a job checks from time to time whether every message has a final status, and publishes that once. */
import { publishEvent } from "../events/publish.ts";
import { RepeatingJob } from "../lib/background-job.ts";
import { newId } from "../model/id.ts";
import { isFinished, type Status } from "../messages/states.ts";
import type { Clock } from "../database/database-clock.ts";
import type { Database, Tx } from "../database/database.ts";
import { batchRecord, type Batch } from "./batch.ts";
import { claimOpenBatches, completeBatch, countStatuses, type StatusCount } from "./queries.ts";

const LOOK_EVERY_MS = 500;
const BATCHES = 20;

export type CompleterParts = { db: Database; clock: Clock; wakeWebhooks: () => void };

export const batchCompletion = (parts: CompleterParts, onError: (error: unknown) => void): RepeatingJob =>
  new RepeatingJob({ turns: [async () => ((await completeBatches(parts)) === BATCHES ? 0 : LOOK_EVERY_MS)], onError });

/** Returns how many batches were checked. */
async function completeBatches({ db, clock, wakeWebhooks }: CompleterParts): Promise<number> {
  const open = await claimOpenBatches(db, clock.now(), BATCHES);
  for (const batch of open) {
    const statuses = await countStatuses(db, batch);
    if (!statuses.every(({ status }) => isFinished(status as Status))) continue;
    const nowMs = clock.now();
    const isMine = await db.transaction(async (tx) => {
      const isCompleted = await completeBatch(tx, batch, nowMs);
      if (isCompleted) await publishCompleted(tx, { ...batch, completedAtMs: nowMs }, statuses, nowMs);
      return isCompleted;
    });
    if (isMine) wakeWebhooks();
  }
  return open.length;
}

export const publishCompleted = (tx: Tx, batch: Batch, statuses: readonly StatusCount[], nowMs: number): Promise<void> =>
  publishEvent(tx, {
    accountId: batch.accountId,
    environment: batch.environment,
    id: newId("evt", nowMs),
    type: "batch.completed",
    record: JSON.stringify(batchRecord(batch, toCounts(statuses))),
  });

export const toCounts = (statuses: readonly StatusCount[]): Record<string, number> =>
  Object.fromEntries(statuses.map(({ status, messages }) => [status, messages]));
