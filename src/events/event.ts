/** An event: one change, with the record at that moment. The API, the event stream and webhooks show the same JSON. */
import { environmentField, nullable, oneOf, timestamp, Type, type Schema } from "../http/schema.ts";
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
  "media.ready",
  "media.failed",
  "endpoint.disabled",
  "webhook.test",
  "audit.created",
] as const;

const KINDS = [...new Set(EVENT_TYPES.map((type) => type.slice(0, type.indexOf("."))))];

/** The patterns that select types: by name, by kind, or all. */
export const TYPE_PATTERNS: readonly string[] = ["*", ...KINDS.map((kind) => `${kind}.*`), ...EVENT_TYPES];

/** A reference to the schema of a record in the OpenAPI document. The schema itself belongs to a feature of a higher rank. */
const published = (title: string) => Type.Unsafe<object>({ $ref: `#/components/schemas/${title}` });

const envelope = (type: Schema<string>, data: Schema, title: string, description: string) =>
  Type.Object(
    {
      id: Type.String({
        examples: ["evt_01k9zs3v8mf4tb2xg1qj6n0d5c"],
        description: "The id of the event. Use it to ignore repeated deliveries.",
      }),
      type,
      timestamp: timestamp("The time of the change."),
      environment: environmentField,
      data,
    },
    { title, description },
  );

type EventType = (typeof EVENT_TYPES)[number];

const TYPE_TEXT = { description: "The type of the event." };
const DATA_TEXT = { description: "The changed record." };

const TRANSITION = {
  message: published("Message"),
  previous_status: nullable(Type.String({ description: "The status of the message before the change. Null for a new message." })),
  sequence: Type.Integer({ description: "The `sequence` of the message after the change." }),
};

const typesOf = (kind: string): EventType[] => EVENT_TYPES.filter((type) => type.startsWith(`${kind}.`));

/** The events whose data have the same form: a title, the types, the members of `data`, and a description. */
const FORMS: readonly (readonly [title: string, types: readonly EventType[], members: Readonly<Record<string, Schema>>, text: string])[] = [
  [
    "MessageEvent",
    typesOf("message").filter((type) => type !== "message.fallback_started"),
    TRANSITION,
    "The status of a message changed. `data` has the whole message after the change.",
  ],
  [
    "FallbackEvent",
    ["message.fallback_started"],
    { ...TRANSITION, fallback_message_id: Type.String({ description: "The id of the fallback message that was started." }) },
    "A message was not delivered in time, and its fallback was started.",
  ],
  ["RecipientEvent", typesOf("recipient"), { suppression: published("Suppression") }, "A recipient opted out, or in again."],
  ["TemplateEvent", typesOf("template"), { template: published("Template") }, "A carrier reviewed a template."],
  ["BatchEvent", typesOf("batch"), { batch: published("Batch") }, "All messages of a batch have a final status."],
  ["MediaEvent", typesOf("media"), { media: published("Media") }, "A file of an inbound message was downloaded, or cannot be."],
  [
    "WebhookEndpointEvent",
    [...typesOf("endpoint"), ...typesOf("webhook")],
    { webhook_endpoint: published("WebhookEndpoint") },
    "An endpoint was disabled, or is tested.",
  ],
  ["AuditLogEvent", typesOf("audit"), { audit_event: published("AuditEvent") }, "The audit log has a new entry."],
];

/** The schema of an event: one of the forms, which `type` distinguishes, or an event of a type that a later version adds. Without the last one,
 *  clients that are generated from the document would refuse such an event. */
export const Event = Type.Unsafe<object>({
  title: "Event",
  description: "The report of one change, with the record after it. It is the same in the API, in the event stream and in webhooks.",
  anyOf: [
    ...FORMS.map(([title, types, members, text]) => envelope(oneOf(types, TYPE_TEXT), Type.Object(members, DATA_TEXT), title, text)),
    envelope(
      Type.String({ ...TYPE_TEXT, not: { enum: EVENT_TYPES } }),
      Type.Record(Type.Unsafe<unknown>({}), DATA_TEXT),
      "OtherEvent",
      "An event of a type that a later version of the service adds. Ignore it.",
    ),
  ],
});

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
  media: "media",
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
