/** A delivery: one event for one endpoint, with its attempts. Its record in the API and the schema of the record. */
import { nullable, openEnum, timestamp, Type, type Static } from "../http/schema.ts";
import { encodeId, type DeliveryId, type EndpointId, type EventId } from "../lib/id.ts";
import { isoTime } from "../lib/time.ts";
import { uuidTimeMs } from "../lib/uuid.ts";
import { FAILURES } from "./outbound.ts";

export const DELIVERY_STATUSES = ["pending", "succeeded", "failed"] as const;
type DeliveryStatus = (typeof DELIVERY_STATUSES)[number];

const DeliveryAttempt = Type.Object(
  {
    attempted_at: timestamp("When it began."),
    duration_ms: Type.Integer({ minimum: 0 }),
    response_status: nullable(Type.Integer({ description: "The HTTP status; null when there was no answer." })),
    response_body: nullable(Type.String({ description: "The first bytes of the answer." })),
    error: nullable(openEnum(FAILURES, "Why there was no answer.")),
  },
  { title: "DeliveryAttempt", description: "One try at an endpoint." },
);
export type DeliveryAttempt = Static<typeof DeliveryAttempt>;

export const DeliveryRecord = Type.Object(
  {
    id: Type.String({ examples: ["dlv_01k9zs3v8mf4tb2xg1qj6n0d5c"] }),
    object: Type.Literal("webhook_delivery"),
    endpoint_id: Type.String(),
    event_id: Type.String(),
    event_type: Type.String({ examples: ["message.sent"] }),
    status: openEnum(DELIVERY_STATUSES, "`pending`: will be tried again. `failed`: given up."),
    attempts: Type.Array(DeliveryAttempt, { description: "The tries, oldest first; the last fifty." }),
    next_attempt_at: nullable(timestamp("When it is tried again.")),
    created_at: timestamp("When the event happened."),
    updated_at: timestamp("When it was last changed."),
  },
  { title: "WebhookDelivery", description: "One event for one endpoint." },
);
export type DeliveryRecord = Static<typeof DeliveryRecord>;

export type DeliveryRow = {
  id: DeliveryId;
  endpoint_id: EndpointId;
  event_id: EventId;
  event_type: string;
  status: DeliveryStatus;
  attempts: DeliveryAttempt[];
  next_attempt_at: Date | null;
  updated_at: Date;
};

export const deliveryRecord = (row: DeliveryRow): DeliveryRecord => ({
  id: encodeId("dlv", row.id),
  object: "webhook_delivery",
  endpoint_id: encodeId("whe", row.endpoint_id),
  event_id: encodeId("evt", row.event_id),
  event_type: row.event_type,
  status: row.status,
  // jsonb does not keep the order of the members.
  attempts: row.attempts.map((attempt) => ({
    attempted_at: attempt.attempted_at,
    duration_ms: attempt.duration_ms,
    response_status: attempt.response_status,
    response_body: attempt.response_body,
    error: attempt.error,
  })),
  next_attempt_at: row.next_attempt_at === null ? null : isoTime(row.next_attempt_at.getTime()),
  created_at: isoTime(uuidTimeMs(row.event_id)),
  updated_at: isoTime(row.updated_at.getTime()),
});
