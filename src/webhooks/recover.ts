/** Recovery: queues again the events of a time that an endpoint has not acknowledged, including those that it never received. There may be
 *  millions, so each page is one transaction, which also stores the position; after a restart the recovery continues from there. */
import { firstUuidAt } from "../lib/uuid.ts";
import type { Clock } from "../storage/database-clock.ts";
import type { Database } from "../storage/database.ts";
import { lockRecovering, storeEndpoint } from "./endpoint-queries.ts";
import { recoverNext } from "./queries.ts";

const PAGE = 1_000;
// A transaction that was open when the endpoint was enabled queued nothing for it. After this time its events are visible.
const SETTLE_MS = 2_000;

export type RecoverStep = { queued: number; hasMore: boolean };

/** Processes one page of one recovery, if there is any. */
export function recoverStep(db: Database, clock: Clock): Promise<RecoverStep> {
  return db.transaction(async (tx) => {
    const endpoint = await lockRecovering(tx, firstUuidAt(clock.now() - SETTLE_MS));
    if (endpoint === undefined) return { queued: 0, hasMore: false };
    const { looked_at: lookedAt, queued, reached } = await recoverNext(tx, endpoint, PAGE);
    const isFinished = lookedAt < PAGE || reached === null;
    await storeEndpoint(tx, {
      ...endpoint,
      recoverAfter: isFinished ? null : reached,
      recoverUntil: isFinished ? null : endpoint.recoverUntil,
      updatedAtMs: clock.now(),
    });
    return { queued, hasMore: true };
  });
}
