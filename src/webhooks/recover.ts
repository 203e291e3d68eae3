/** Recovery: the events of a time that an endpoint has not acknowledged are queued again, those it never heard of too. It may be
 *  millions, so it goes page by page, each in a transaction with its place; a restart goes on from there. */
import { firstUuidAt } from "../lib/uuid.ts";
import type { Clock } from "../storage/database-clock.ts";
import type { Database } from "../storage/database.ts";
import { lockRecovering, storeEndpoint } from "./endpoint-queries.ts";
import { recoverNext } from "./queries.ts";

const PAGE = 1_000;
// What was being stored when the endpoint was enabled did not see it, and is there by then.
const SETTLE_MS = 2_000;

export type RecoverStep = { queued: number; hasMore: boolean };

/** One page of one recovery, if there is any. */
export function recoverStep(db: Database, clock: Clock): Promise<RecoverStep> {
  return db.transaction(async (tx) => {
    const endpoint = await lockRecovering(tx, firstUuidAt(clock.now() - SETTLE_MS));
    if (endpoint === undefined) return { queued: 0, hasMore: false };
    const { looked_at: lookedAt, queued, reached } = await recoverNext(tx, endpoint, PAGE);
    const isOver = lookedAt < PAGE || reached === null;
    await storeEndpoint(tx, {
      ...endpoint,
      recoverAfter: isOver ? null : reached,
      recoverUntil: isOver ? null : endpoint.recoverUntil,
      updatedAtMs: clock.now(),
    });
    return { queued, hasMore: true };
  });
}
