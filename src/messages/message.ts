/** The message: its type, its constructor, its record in the API and the schema of that record. */
import { environmentField, nullable, openEnum, timestamp, Type, type Static } from "../http/schema.ts";
import type { BatchId, MessageId } from "../model/id.ts";
import type { SentContent, StructuredContent } from "../model/content.ts";
import { recordOf } from "../model/message-record.ts";
import type { Recipient } from "../model/phone-number.ts";
import type { Segments } from "../model/segments.ts";
import type { Trace } from "../lib/trace.ts";
import { uuidTimeMs } from "../lib/uuid.ts";
import { CHANNELS, SegmentsRecord, type Channel } from "../links/channel.ts";
import { LINK_REASONS, type LinkReason } from "../links/choose-links.ts";
import { SENDER_REASONS, type SenderReason } from "../links/choose-sender.ts";
import type { CarrierOptions } from "../providers/provider.ts";
import type { Owner } from "../model/owner.ts";
import type { Category } from "../templates/template.ts";
import { contentField } from "./content-record.ts";
import { STATUSES, type Status } from "./states.ts";

export const PRIORITIES = ["high", "normal", "bulk"] as const;
export type Priority = (typeof PRIORITIES)[number];

export const DIRECTIONS = ["outbound", "inbound"] as const;
type Direction = (typeof DIRECTIONS)[number];

/** The APIs of other products that a message can come through. */
export const SOURCES = ["twilio", "kannel"] as const;
export type MessageSource = (typeof SOURCES)[number];

export const DEFAULT_TTL_SECONDS = 172_800;

/** The limit of a record. Every event contains the whole record, and a webhook request stays below 20 kB. */
export const MAX_RECORD_BYTES = 16_384;

export const MessageError = Type.Object(
  {
    code: Type.String({
      examples: ["invalid_destination"],
      description: "The stable code of the error: see [Error codes](/docs/states#error-codes-of-messages).",
    }),
    message: Type.String({ description: "An explanation for people." }),
    permanent: Type.Boolean({ description: "Whether the same message would fail again." }),
    provider_code: nullable(Type.String({ description: "The code of the carrier, if it sent one." })),
  },
  { description: "Why the message was not delivered. Null if there was no error." },
);
export type MessageError = Static<typeof MessageError>;

export const MessageRecord = Type.Object(
  {
    id: Type.String({ examples: ["msg_01k9zs3v8mf4tb2xg1qj6n0d5c"], description: "The id of the message." }),
    object: Type.Literal("message"),
    environment: environmentField,
    direction: openEnum(DIRECTIONS, "Whether the message was sent to a person or received from one."),
    channel: openEnum(CHANNELS, "The channel of the message."),
    recipient: Type.String({
      examples: ["+14155550123"],
      description:
        "The phone number that the message is sent to. On an inbound message your number, or an empty text if the carrier does not report it.",
    }),
    sender: nullable(
      Type.String({
        description:
          "The number, short code or name that the message comes from. Null if the carrier chooses the sender, or does not report the sender of an inbound message.",
      }),
    ),
    sender_reason: nullable(openEnum(SENDER_REASONS, "Why this sender was chosen. Null on inbound messages.")),
    link_reason: nullable(openEnum(LINK_REASONS, "Why this link was chosen. Null on inbound messages.")),
    body: nullable(
      Type.String({
        description: "The text. For a template, with its variables filled in. Null after redaction, and for a content without a text.",
      }),
    ),
    content: contentField,
    template_id: nullable(Type.String({ description: "The id of the template, if one was used." })),
    template_version: nullable(Type.Integer({ description: "The version of the template that was used." })),
    template_variables: nullable(Type.Record(Type.String(), { description: "The values of the variables of the template." })),
    status: openEnum(STATUSES, "The current [status](/docs/states)."),
    sequence: Type.Integer({
      minimum: 1,
      description: "The number of transitions of the message so far, without gaps. Use it to order events.",
    }),
    error: nullable(MessageError),
    segments: nullable(SegmentsRecord),
    priority: openEnum(PRIORITIES, "The priority in the queue."),
    client_reference: nullable(Type.String({ description: "Your own reference." })),
    metadata: Type.Record(Type.String(), { description: "Your own keys and values." }),
    send_at: nullable(timestamp("The time at which the message is sent. Null if it is sent at once.")),
    expires_at: nullable(timestamp("The end of the time to live: the message is not submitted after this time.")),
    provider: nullable(
      Type.Object(
        {
          name: Type.String({ description: "The provider, such as `smpp`." }),
          link: Type.String({ description: "The id of the link; its name for a link of the configuration file." }),
          message_id: nullable(Type.String({ description: "The carrier id: the id that the carrier gave to the message." })),
          attempts: Type.Integer({ description: "The number of attempts to submit the message." }),
        },
        { description: "The last submission to a carrier. Null before the first one." },
      ),
    ),
    fallback_of: nullable(Type.String({ description: "The id of the message that was not delivered, if this message is its fallback." })),
    in_reply_to: nullable(
      Type.String({
        description:
          "The id of the message that this one replies to. Set on automatic replies, and on inbound messages if the carrier reports it.",
      }),
    ),
    batch_id: nullable(Type.String({ description: "The id of the batch, if the message is part of one." })),
    source: nullable(openEnum(SOURCES, "The API that the message came through, if it was not this one.")),
    created_at: timestamp("The time at which the message was accepted."),
    updated_at: timestamp("The time of the last change."),
    sent_at: nullable(timestamp("The time at which a carrier accepted the message.")),
    delivered_at: nullable(timestamp("The time at which the message reached the recipient.")),
    read_at: nullable(timestamp("The time at which the recipient read the message.")),
    failed_at: nullable(timestamp("The time at which the message failed, expired or was not delivered.")),
    canceled_at: nullable(timestamp("The time at which the message was canceled.")),
  },
  { title: "Message", description: "A message to one recipient, or from one person." },
);

export type MessageRecord = Static<typeof MessageRecord>;

/** The template of a message, in the version that the message was made of. */
export type TemplateUse = {
  /** The public id of the template. */
  id: string;
  name: string;
  language: string;
  version: number;
  /** Null after a redaction. */
  variables: Readonly<Record<string, string>> | null;
  /** The category and the parts are absent from messages that were stored before templates had them. */
  category?: Category;
  /** The variables of each part of the template, in the order in which a carrier expects them. */
  parts?: Readonly<Record<"header" | "body", readonly string[]>>;
};

/** `body` is the text: of a template, with its variables filled in; of a structured content, its text or caption, or empty. */
export type Content = { body: string; template: TemplateUse | null; structured?: SentContent | null };

export type OwnedMessage = Owner & { id: MessageId };

/** A message as it is stored. */
export type Message = OwnedMessage & {
  direction: Direction;
  channel: Channel;
  recipient: Recipient;
  sender: string | null;
  /** Null on inbound messages, and on messages from before reasons were stored. */
  senderReason: SenderReason | null;
  linkReason: LinkReason | null;
  body: string | null;
  content: StructuredContent | null;
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
  source: MessageSource | null;
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
  content: fields.content ?? null,
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
  source: fields.source ?? null,
  updatedAtMs: fields.updatedAtMs ?? uuidTimeMs(id),
  sentAtMs: fields.sentAtMs ?? null,
  deliveredAtMs: fields.deliveredAtMs ?? null,
  readAtMs: fields.readAtMs ?? null,
  failedAtMs: fields.failedAtMs ?? null,
  canceledAtMs: fields.canceledAtMs ?? null,
  isRedacted: fields.isRedacted ?? false,
  trace: fields.trace ?? null,
});

export const messageRecord = (message: Message): MessageRecord => recordOf(message);
