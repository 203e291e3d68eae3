/** Repetition on request: one delivery, or a recovery. A recovery queues again the events of a time that an endpoint has not acknowledged,
 *  including those that it never received. There may be millions, so each page is one transaction, which also stores the position; after
 *  a restart the recovery continues from there.
 *
 *  A transaction that did not see the endpoint as enabled queued nothing for it, and may commit after the recovery was requested. So a
 *  page is read when all such transactions have ended (`events/positions.ts`); each later one queues its deliveries itself. */
import { writersEnd } from "../events/positions.ts";
import { jsonResponse } from "../http/json-response.ts";
import type { Clock } from "../database/database-clock.ts";
import type { Database } from "../database/database.ts";
import { Problem } from "../http/problem.ts";
import { HINT, Type } from "../http/schema.ts";
import type { AuditedCall, Executed, Replay, WriteCall } from "../idempotency/once.ts";
import type { DeliveryId, EndpointId } from "../model/id.ts";
import { firstUuidAt } from "../lib/uuid.ts";
import { findRecovering, lockRecovering, storeEndpoint } from "./endpoint-queries.ts";
import { recoverNext, queueAgain } from "./queries.ts";
import { shownPlain, type EndpointChanger } from "./change-endpoint.ts";
import { deliveryRecord } from "./delivery-record.ts";
import type { Endpoint } from "./endpoint.ts";

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

export const RecoverBody = Type.Object(
  {
    since: Type.String({
      format: "date-time",
      [HINT]: "must be an RFC 3339 time such as 2030-01-31T09:00:00Z",
      description: "The start of the recovery: events from this time on that the endpoint has not acknowledged are delivered again.",
    }),
  },
  { additionalProperties: false },
);

/** Queues a delivery for another attempt now, whatever its status. */
export const retryDelivery = (
  changer: EndpointChanger,
  call: WriteCall,
  { endpointId, deliveryId }: { endpointId: EndpointId | undefined; deliveryId: DeliveryId | undefined },
): Promise<Executed | Replay> =>
  changer.doForEnabled(call, endpointId, async (tx, endpoint) => {
    const [delivery] = deliveryId === undefined ? [] : await queueAgain(tx, endpoint, deliveryId, changer.now());
    if (delivery === undefined) throw new Problem("not_found", { detail: "no such delivery of this endpoint" });
    return jsonResponse(deliveryRecord(delivery), 202);
  });

/** Begins a recovery; `recoverStep` then goes through the events page by page. A recovery that is under way starts again from `sinceMs`. */
export const beginRecovery = (
  changer: EndpointChanger,
  call: AuditedCall,
  endpointId: EndpointId | undefined,
  sinceMs: number,
): Promise<Executed | Replay> =>
  changer.changeEnabled(call, endpointId, async (tx, endpoint) => {
    const nowMs = changer.now();
    const recovering: Endpoint = {
      ...endpoint,
      recoverAfter: firstUuidAt(Math.max(0, Math.min(sinceMs, nowMs))),
      recoverUntil: firstUuidAt(nowMs + 1),
      updatedAtMs: nowMs,
    };
    await storeEndpoint(tx, recovering);
    await changer.record(tx, call, endpoint.id, { action: "endpoint.recovered", changes: { since: new Date(sinceMs).toISOString() } });
    return { ...shownPlain(recovering), status: 202 };
  });
