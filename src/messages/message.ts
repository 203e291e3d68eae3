/** The message: its type, its constructor, its record in the API and the schema of that record. */
import { nullable, openEnum, timestamp, Type, type Static } from "../http/schema.ts";
import { encodeId, type BatchId, type Id, type IdPrefix, type MessageId } from "../lib/id.ts";
import type { Recipient } from "../lib/phone-number.ts";
import type { Segments } from "../lib/segments.ts";
import { isoTime } from "../lib/time.ts";
import type { Trace } from "../lib/trace.ts";
import { uuidTimeMs } from "../lib/uuid.ts";
import { CHANNELS, SegmentsRecord, type Channel } from "../links/channel.ts";
import { LINK_REASONS, type LinkReason } from "../links/choose-links.ts";
import { SENDER_REASONS, type SenderReason } from "../links/choose-sender.ts";
import type { CarrierOptions } from "../providers/provider.ts";
import type { Owner } from "../storage/owner.ts";
import type { TemplateUse } from "./content.ts";
import { STATUSES, type Status } from "./states.ts";

export const PRIORITIES = ["high", "normal", "bulk"] as const;
export type Priority = (typeof PRIORITIES)[number];

export const DIRECTIONS = ["outbound", "inbound"] as const;
type Direction = (typeof DIRECTIONS)[number];

/** The default time to live of a message. */
export const DEFAULT_TTL_SECONDS = 172_800;

/** The limit of a record. Every event contains the whole record, and a webhook request stays below 20 kB. */
export const MAX_RECORD_BYTES = 16_384;

export const MessageError = Type.Object({
  code: Type.String({ examples: ["invalid_destination"] }),
  message: Type.String({ description: "For people." }),
  permanent: Type.Boolean({ description: "The same message would fail again." }),
  provider_code: nullable(Type.String({ description: "The carrier's own code." })),
});
export type MessageError = Static<typeof MessageError>;

export const MessageRecord = Type.Object(
  {
    id: Type.String({ examples: ["msg_01k9zs3v8mf4tb2xg1qj6n0d5c"] }),
    object: Type.Literal("message"),
    environment: openEnum(["test", "live"]),
    direction: openEnum(DIRECTIONS),
    channel: openEnum(CHANNELS),
    recipient: Type.String({
      examples: ["+14155550123"],
      description: "Empty on an inbound message whose carrier does not name the number that it was sent to.",
    }),
    sender: nullable(
      Type.String({ description: "Null until a route has chosen one, and on an inbound message whose carrier does not name its writer." }),
    ),
    sender_reason: nullable(openEnum(SENDER_REASONS, "Why it has this sender. Null on inbound messages.")),
    link_reason: nullable(openEnum(LINK_REASONS, "Why it takes its link. Null on inbound messages.")),
    body: nullable(Type.String({ description: "The text, of a template with its variables filled in." })),
    template_id: nullable(Type.String()),
    template_version: nullable(Type.Integer({ description: "The version of the template that was used." })),
    template_variables: nullable(Type.Record(Type.String())),
    status: openEnum(STATUSES),
    sequence: Type.Integer({ minimum: 1, description: "Counts this message's transitions, without gaps." }),
    error: nullable(MessageError),
    segments: nullable(SegmentsRecord),
    priority: openEnum(PRIORITIES),
    client_reference: nullable(Type.String()),
    metadata: Type.Record(Type.String()),
    send_at: nullable(timestamp("When to send it.")),
    expires_at: nullable(timestamp("Not handed to a carrier after this.")),
    provider: nullable(
      Type.Object({
        name: Type.String(),
        link: Type.String(),
        message_id: nullable(Type.String()),
        attempts: Type.Integer(),
      }),
    ),
    fallback_of: nullable(Type.String({ description: "The message that did not get delivered, in whose place this one is sent." })),
    in_reply_to: nullable(
      Type.String({
        description: "The message this one answers: of an inbound message where the carrier says so, of an automatic reply always.",
      }),
    ),
    batch_id: nullable(Type.String()),
    created_at: timestamp("When it was accepted."),
    updated_at: timestamp("When it last changed."),
    sent_at: nullable(timestamp("When a carrier took it.")),
    delivered_at: nullable(timestamp("When it reached the recipient.")),
    read_at: nullable(timestamp("When it was read.")),
    failed_at: nullable(timestamp("When it failed for good.")),
    canceled_at: nullable(timestamp("When it was canceled.")),
  },
  { title: "Message", description: "A message." },
);

export type MessageRecord = Static<typeof MessageRecord>;

/** A message as it is stored. */
export type Message = Owner & {
  id: MessageId;
  direction: Direction;
  channel: Channel;
  recipient: Recipient;
  sender: string | null;
  /** Null on inbound messages, and on messages from before reasons were stored. */
  senderReason: SenderReason | null;
  linkReason: LinkReason | null;
  body: string | null;
  template: TemplateUse | null;
  status: Status;
  sequence: number;
  error: MessageError | null;
  segments: Segments | null;
  priority: Priority;
  clientReference: string | null;
  metadata: Record<string, string>;
  /** The limit of segments that the request sets. Not part of the record. */
  maxSegments: number | null;
  /** Members that only one kind of carrier understands. Not part of the record. */
  carrierOptions: CarrierOptions | null;
  sendAtMs: number | null;
  expiresAtMs: number | null;
  /** The link of the last attempt, and the carrier id. */
  provider: { name: string; link: string; messageId: string | null } | null;
  attempts: number;
  /** The number of attempts that a carrier refused temporarily. Not part of the record. */
  refusals: number;
  /** Whether an attempt had an unknown outcome. Not part of the record. */
  hasUnknown: boolean;
  /** Whether the message has a fallback. Not part of the record. */
  hasFallback: boolean;
  fallbackOf: MessageId | null;
  inReplyTo: MessageId | null;
  /** True for the automatic reply to an opt-out, which is sent although its recipient has opted out. Only `reply.ts` sets it. Not part of
   *  the record. */
  isOptOutReply: boolean | null;
  batchId: BatchId | null;
  updatedAtMs: number;
  sentAtMs: number | null;
  deliveredAtMs: number | null;
  readAtMs: number | null;
  failedAtMs: number | null;
  canceledAtMs: number | null;
  isRedacted: boolean;
  /** The trace of the request that created the message. Not part of the record. */
  trace: Trace | null;
};

/** The fields that a message is made with. Those that are left out get the value of a new message. */
type NewFields = Pick<Message, "direction" | "channel" | "recipient" | "sender" | "body" | "status"> &
  Partial<Omit<Message, keyof Owner | "id">>;

/** Makes a message. Written out field by field: it runs for every request, and a spread takes ten times as long. */
export const newMessage = ({ accountId, environment }: Owner, id: MessageId, fields: NewFields): Message => ({
  accountId,
  environment,
  id,
  direction: fields.direction,
  channel: fields.channel,
  recipient: fields.recipient,
  sender: fields.sender,
  senderReason: fields.senderReason ?? null,
  linkReason: fields.linkReason ?? null,
  body: fields.body,
  template: fields.template ?? null,
  status: fields.status,
  sequence: fields.sequence ?? 1,
  error: fields.error ?? null,
  segments: fields.segments ?? null,
  priority: fields.priority ?? "normal",
  clientReference: fields.clientReference ?? null,
  metadata: fields.metadata ?? {},
  maxSegments: fields.maxSegments ?? null,
  carrierOptions: fields.carrierOptions ?? null,
  sendAtMs: fields.sendAtMs ?? null,
  expiresAtMs: fields.expiresAtMs ?? null,
  provider: fields.provider ?? null,
  attempts: fields.attempts ?? 0,
  refusals: fields.refusals ?? 0,
  hasUnknown: fields.hasUnknown ?? false,
  hasFallback: fields.hasFallback ?? false,
  fallbackOf: fields.fallbackOf ?? null,
  inReplyTo: fields.inReplyTo ?? null,
  isOptOutReply: fields.isOptOutReply ?? null,
  batchId: fields.batchId ?? null,
  updatedAtMs: fields.updatedAtMs ?? uuidTimeMs(id),
  sentAtMs: fields.sentAtMs ?? null,
  deliveredAtMs: fields.deliveredAtMs ?? null,
  readAtMs: fields.readAtMs ?? null,
  failedAtMs: fields.failedAtMs ?? null,
  canceledAtMs: fields.canceledAtMs ?? null,
  isRedacted: fields.isRedacted ?? false,
  trace: fields.trace ?? null,
});

const idOrNull = <P extends IdPrefix>(prefix: P, id: Id<NoInfer<P>> | null): string | null => (id === null ? null : encodeId(prefix, id));
const timeOrNull = (timeMs: number | null): string | null => (timeMs === null ? null : isoTime(timeMs));

export function messageRecord(message: Message): MessageRecord {
  const { provider, template } = message;
  return {
    id: encodeId("msg", message.id),
    object: "message",
    environment: message.environment,
    direction: message.direction,
    channel: message.channel,
    recipient: message.recipient,
    sender: message.sender,
    sender_reason: message.senderReason,
    link_reason: message.linkReason,
    body: message.body,
    template_id: template?.id ?? null,
    template_version: template?.version ?? null,
    template_variables: template?.variables ?? null,
    status: message.status,
    sequence: message.sequence,
    error: message.error,
    segments: message.segments,
    priority: message.priority,
    client_reference: message.clientReference,
    metadata: message.metadata,
    send_at: timeOrNull(message.sendAtMs),
    expires_at: timeOrNull(message.expiresAtMs),
    provider: provider && { name: provider.name, link: provider.link, message_id: provider.messageId, attempts: message.attempts },
    fallback_of: idOrNull("msg", message.fallbackOf),
    in_reply_to: idOrNull("msg", message.inReplyTo),
    batch_id: idOrNull("batch", message.batchId),
    created_at: isoTime(uuidTimeMs(message.id)),
    updated_at: isoTime(message.updatedAtMs),
    sent_at: timeOrNull(message.sentAtMs),
    delivered_at: timeOrNull(message.deliveredAtMs),
    read_at: timeOrNull(message.readAtMs),
    failed_at: timeOrNull(message.failedAtMs),
    canceled_at: timeOrNull(message.canceledAtMs),
  };
}
