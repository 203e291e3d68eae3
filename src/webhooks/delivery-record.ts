/** A delivery: one event for one endpoint, with its attempts. Its record in the API and the schema of the record. */
import { nullable, openEnum, timestamp, Type, type Static } from "../http/schema.ts";
import { encodeId, type DeliveryId, type EndpointId, type EventId } from "../model/id.ts";
import { isoTime } from "../lib/time.ts";
import { uuidTimeMs } from "../lib/uuid.ts";
import { FAILURES } from "../outbound/failure.ts";

export const DELIVERY_STATUSES = ["pending", "succeeded", "failed"] as const;
type DeliveryStatus = (typeof DELIVERY_STATUSES)[number];

const DeliveryAttempt = Type.Object(
  {
    attempted_at: timestamp("The start of the attempt."),
    duration_ms: Type.Integer({ minimum: 0, description: "The duration in milliseconds." }),
    response_status: nullable(Type.Integer({ description: "The HTTP status of the response. Null if there was no response." })),
    response_body: nullable(Type.String({ description: "The beginning of the response body." })),
    error: nullable(
      openEnum(FAILURES, "Why there was no response, or `invalid_response` for one whose instructions could not be carried out."),
    ),
  },
  { title: "DeliveryAttempt", description: "One call of an endpoint." },
);
export type DeliveryAttempt = Static<typeof DeliveryAttempt>;

export const DeliveryRecord = Type.Object(
  {
    id: Type.String({ examples: ["dlv_01k9zs3v8mf4tb2xg1qj6n0d5c"], description: "The id of the delivery." }),
    object: Type.Literal("webhook_delivery"),
    endpoint_id: Type.String({ description: "The id of the endpoint." }),
    event_id: Type.String({ description: "The id of the event." }),
    event_type: Type.String({ examples: ["message.sent"], description: "The type of the event." }),
    status: openEnum(DELIVERY_STATUSES, "The status. `pending`: another attempt follows. `failed`: there are no further attempts."),
    attempts: Type.Array(DeliveryAttempt, { description: "The last fifty attempts, oldest first." }),
    next_attempt_at: nullable(timestamp("The time of the next attempt. Null if there is none.")),
    created_at: timestamp("The time of the event."),
    updated_at: timestamp("The time of the last change."),
  },
  { title: "WebhookDelivery", description: "One event for one endpoint, with all its attempts." },
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
