/** An event: one change, with the record at that moment. The API, the event stream and webhooks show the same JSON. */
import { environmentField, nullable, openEnum, timestamp, Type } from "../http/schema.ts";
import { encodeId, type EventId } from "../model/id.ts";
import { isoTime } from "../lib/time.ts";
import { uuidTimeMs } from "../lib/uuid.ts";
import { recordText, type RecordRow } from "../database/stored-record.ts";

/** The types of events that customers receive. */
export const EVENT_TYPES = [
  "message.scheduled",
  "message.queued",
  "message.sending",
  "message.sent",
  "message.delivered",
  "message.read",
  "message.undelivered",
  "message.failed",
  "message.expired",
  "message.canceled",
  "message.received",
  "message.unrouted",
  "message.fallback_started",
  "recipient.opted_out",
  "recipient.opted_in",
  "template.approved",
  "template.rejected",
  "template.paused",
  "batch.completed",
  "endpoint.disabled",
  "webhook.test",
  "audit.created",
] as const;

const KINDS = [...new Set(EVENT_TYPES.map((type) => type.slice(0, type.indexOf("."))))];

/** The patterns that select types: by name, by kind, or all. */
export const TYPE_PATTERNS: readonly string[] = ["*", ...KINDS.map((kind) => `${kind}.*`), ...EVENT_TYPES];

/** A reference to the schema of a record in the OpenAPI document. The schema itself belongs to a feature of a higher rank. */
const published = (title: string) => Type.Unsafe<object>({ $ref: `#/components/schemas/${title}` });

export const Event = Type.Object(
  {
    id: Type.String({
      examples: ["evt_01k9zs3v8mf4tb2xg1qj6n0d5c"],
      description: "The id of the event. Use it to ignore repeated deliveries.",
    }),
    type: openEnum(EVENT_TYPES, "The type of the event."),
    timestamp: timestamp("The time of the change."),
    environment: environmentField,
    data: Type.Object(
      {
        message: Type.Optional(published("Message")),
        previous_status: Type.Optional(
          nullable(Type.String({ description: "The status of the message before the change. Null for a new message." })),
        ),
        sequence: Type.Optional(Type.Integer({ description: "The `sequence` of the message after the change." })),
        fallback_message_id: Type.Optional(Type.String({ description: "The id of the fallback message that was started." })),
        suppression: Type.Optional(published("Suppression")),
        template: Type.Optional(published("Template")),
        batch: Type.Optional(published("Batch")),
        webhook_endpoint: Type.Optional(published("WebhookEndpoint")),
        audit_event: Type.Optional(published("AuditEvent")),
      },
      {
        additionalProperties: true,
        description:
          "The changed record. `message.*` has `message` (the whole record after the change), `previous_status` and `sequence`, and `message.fallback_started` also `fallback_message_id`. `recipient.*` has `suppression`, `template.*` has `template`, `batch.*` has `batch`, `endpoint.*` and `webhook.*` have `webhook_endpoint`, and `audit.*` has `audit_event`.",
      },
    ),
  },
  {
    title: "Event",
    description: "The report of one change, with the record after it. It is the same in the API, in the event stream and in webhooks.",
  },
);

export type StoredEvent = RecordRow & {
  id: EventId;
  previous_status: string | null;
  /** Only with `message.fallback_started`. */
  fallback_message_id: string | null;
};

/** The facts that the JSON of an event contains. `record`: the whole record as JSON. */
export type EventFacts = Pick<StoredEvent, "id" | "environment" | "type" | "sequence" | "previous_status" | "fallback_message_id"> & {
  record: string;
};

/** The member of an event that holds its record, by the kind of the event. */
const NOUNS: Readonly<Record<string, string>> = {
  message: "message",
  recipient: "suppression",
  template: "template",
  batch: "batch",
  endpoint: "webhook_endpoint",
  webhook: "webhook_endpoint",
  audit: "audit_event",
};

/** The event as JSON. The record is JSON already. */
export function eventText(event: EventFacts): string {
  const { id, environment, type, sequence, record, previous_status: previous, fallback_message_id: fallback } = event;
  const kind = type.slice(0, type.indexOf("."));
  const transition = kind === "message" ? `,"previous_status":${JSON.stringify(previous)},"sequence":${sequence ?? "null"}` : "";
  const more = fallback === null ? transition : `${transition},"fallback_message_id":${JSON.stringify(fallback)}`;
  return (
    `{"id":"${encodeId("evt", id)}","type":"${type}","timestamp":"${isoTime(uuidTimeMs(id))}","environment":"${environment}",` +
    `"data":{"${NOUNS[kind] ?? kind}":${record}${more}}}`
  );
}

/** The event as JSON, from its row and that of its message. */
export const storedEventText = (event: StoredEvent): string =>
  eventText({
    id: event.id,
    environment: event.environment,
    type: event.type,
    sequence: event.sequence,
    record: recordText(event) ?? "null",
    previous_status: event.previous_status,
    fallback_message_id: event.fallback_message_id,
  });
