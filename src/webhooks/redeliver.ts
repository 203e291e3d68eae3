/** Repetition on request: one delivery, or every event since a moment that an endpoint has not acknowledged. */
import { Problem } from "../http/problem.ts";
import { HINT, Type } from "../http/schema.ts";
import type { AuditedCall, Executed, Replay, WriteCall } from "../idempotency/once.ts";
import type { DeliveryId, EndpointId } from "../model/id.ts";
import { firstUuidAt } from "../lib/uuid.ts";
import { shownPlain, type EndpointChanger } from "./change-endpoint.ts";
import { deliveryRecord } from "./delivery-record.ts";
import { storeEndpoint } from "./endpoint-queries.ts";
import type { Endpoint } from "./endpoint.ts";
import { queueAgain } from "./queries.ts";

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
    return { status: 202, location: null, body: JSON.stringify(deliveryRecord(delivery)), eventId: null };
  });

/** Begins a recovery; `recover.ts` then goes through the events page by page. A recovery that is under way starts again from `sinceMs`. */
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
