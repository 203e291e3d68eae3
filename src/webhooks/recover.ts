/** Recoveries. A recovery queues again the events of a time that an endpoint has not acknowledged,
 *  including those that it never received. There may be millions, so each page is one transaction, which also stores the position; after
 *  a restart the recovery continues from there.
 *
 *  A transaction that did not see the endpoint as enabled queued nothing for it, and may commit after the recovery was requested. So a
 *  page is read when all such transactions have ended (`events/positions.ts`); each later one queues its deliveries itself. */
import { writersEnd } from "../events/positions.ts";
import type { Clock } from "../database/database-clock.ts";
import type { Database } from "../database/database.ts";
import { findRecovering, lockRecovering, storeEndpoint } from "./endpoint-queries.ts";
import { recoverNext } from "./queries.ts";

const PAGE = 1_000;

type RecoverStep = { queued: number; hasMore: boolean };

const NOTHING: RecoverStep = { queued: 0, hasMore: false };

/** Processes one page of one recovery, if there is any. */
export async function recoverStep(db: Database, clock: Clock, stopping: AbortSignal): Promise<RecoverStep> {
  const requested = await findRecovering(db);
  if (requested === undefined || !(await writersEnd(db, stopping))) return NOTHING;
  return db.transaction(async (tx) => {
    const endpoint = await lockRecovering(tx, requested);
    if (endpoint === undefined) return NOTHING;
    const nowMs = clock.now();
    const { looked_at: lookedAt, queued, reached } = await recoverNext(tx, endpoint, nowMs, PAGE);
    const isFinished = lookedAt < PAGE || reached === null;
    await storeEndpoint(tx, {
      ...endpoint,
      recoverAfter: isFinished ? null : reached,
      recoverUntil: isFinished ? null : endpoint.recoverUntil,
      updatedAtMs: nowMs,
    });
    return { queued, hasMore: true };
  });
}
