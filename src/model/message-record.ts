/** The record of a message, which responses and events contain, and the compact text that an event stores in its place: the members that can still
 *  change, in an array. The others are read from the message. */
import { isoTime } from "../lib/time.ts";
import { uuidTimeMs } from "../lib/uuid.ts";
import { encodeId, type BatchId, type Id, type IdPrefix, type MessageId } from "./id.ts";
import type { Environment } from "./owner.ts";
import type { StructuredContent } from "./content.ts";
import { ERASED } from "./phone-number.ts";

type ErrorFields = { code: string; message: string; permanent: boolean; provider_code: string | null };

/** The members of a record that are the same in all events of a message once it can no longer be edited. */
export type FixedFields = {
  id: MessageId;
  environment: Environment;
  direction: string;
  channel: string;
  recipient: string;
  body: string | null;
  template: { id: string; version: number; variables: Readonly<Record<string, string>> | null } | null;
  content: StructuredContent | null;
  segments: { count: number; encoding: string; characters: number } | null;
  priority: string;
  clientReference: string | null;
  metadata: Record<string, string>;
  sendAtMs: number | null;
  expiresAtMs: number | null;
  fallbackOf: MessageId | null;
  inReplyTo: MessageId | null;
  batchId: BatchId | null;
  source: string | null;
};

export type RecordFields = FixedFields & {
  status: string;
  sequence: number;
  sender: string | null;
  senderReason: string | null;
  linkReason: string | null;
  error: ErrorFields | null;
  provider: { name: string; link: string; messageId: string | null } | null;
  attempts: number;
  updatedAtMs: number;
  sentAtMs: number | null;
  deliveredAtMs: number | null;
  readAtMs: number | null;
  failedAtMs: number | null;
  canceledAtMs: number | null;
};

const idOrNull = <P extends IdPrefix>(prefix: P, id: Id<NoInfer<P>> | null): string | null => (id === null ? null : encodeId(prefix, id));
const timeOrNull = (timeMs: number | null): string | null => (timeMs === null ? null : isoTime(timeMs));

export const recordOf = <M extends RecordFields>(message: M) => ({
  id: encodeId("msg", message.id) as string,
  object: "message" as const,
  environment: message.environment,
  direction: message.direction as M["direction"],
  channel: message.channel as M["channel"],
  recipient: message.recipient,
  sender: message.sender,
  sender_reason: message.senderReason as M["senderReason"],
  link_reason: message.linkReason as M["linkReason"],
  body: message.body,
  content: message.content as M["content"],
  template_id: message.template?.id ?? null,
  template_version: message.template?.version ?? null,
  template_variables: message.template?.variables ?? null,
  status: message.status as M["status"],
  sequence: message.sequence,
  error: message.error,
  segments: message.segments as M["segments"],
  priority: message.priority as M["priority"],
  client_reference: message.clientReference,
  metadata: message.metadata,
  send_at: timeOrNull(message.sendAtMs),
  expires_at: timeOrNull(message.expiresAtMs),
  provider: message.provider && {
    name: message.provider.name,
    link: message.provider.link,
    message_id: message.provider.messageId,
    attempts: message.attempts,
  },
  fallback_of: idOrNull("msg", message.fallbackOf),
  in_reply_to: idOrNull("msg", message.inReplyTo),
  batch_id: idOrNull("batch", message.batchId),
  source: message.source as M["source"],
  created_at: isoTime(uuidTimeMs(message.id)),
  updated_at: isoTime(message.updatedAtMs),
  sent_at: timeOrNull(message.sentAtMs),
  delivered_at: timeOrNull(message.deliveredAtMs),
  read_at: timeOrNull(message.readAtMs),
  failed_at: timeOrNull(message.failedAtMs),
  canceled_at: timeOrNull(message.canceledAtMs),
});

/** The reasons that a compact text states by their position in this list, to which words are only added. */
const REASONS = [
  "link_default",
  "only_link",
  "simulator",
  "named",
  "reply",
  "sticky",
  "preferred",
  "pool",
  "first_sender",
  "only_sender",
  "file_order",
  "creation_order",
  "route",
  "weights",
  "quality",
  "price",
  "measuring",
  "sender",
  "failover",
] as const;
const CODES: ReadonlyMap<string, number> = new Map(REASONS.map((word, code) => [word, code]));

/** A word of the list by its position, or any other word. */
type Coded = number | string;

const encode = (word: string | null): Coded | null => (word === null ? null : (CODES.get(word) ?? word));
const decode = (word: Coded | null): string | null => (typeof word === "number" ? (REASONS[word] ?? null) : word);

/** The members of a compact text, in this order. Times are milliseconds since the creation of the message. Null members at the end are left out. The
 *  status is in the type of the event, and the sequence in its column. */
type CompactMembers = [
  updatedAt: number,
  sender?: string | null,
  senderReason?: Coded | null,
  linkReason?: Coded | null,
  /** Zero if it is that of the link. */
  providerName?: string | 0 | null,
  link?: string | null,
  providerMessageId?: string | null,
  attempts?: number | null,
  sentAt?: number | null,
  deliveredAt?: number | null,
  readAt?: number | null,
  failedAt?: number | null,
  canceledAt?: number | null,
  error?: ErrorFields | null,
];

/** A whole record is an object. */
export const isCompact = (text: string): boolean => text.startsWith("[");

export function compactRecord(message: RecordFields): string {
  const createdMs = uuidTimeMs(message.id);
  const since = (timeMs: number | null): number | null => (timeMs === null ? null : timeMs - createdMs);
  const { provider } = message;
  return compactText([
    message.updatedAtMs - createdMs,
    message.sender,
    encode(message.senderReason),
    encode(message.linkReason),
    provider && (provider.name === provider.link ? 0 : provider.name),
    provider && provider.link,
    provider && provider.messageId,
    provider && message.attempts,
    since(message.sentAtMs),
    since(message.deliveredAtMs),
    since(message.readAtMs),
    since(message.failedAtMs),
    since(message.canceledAtMs),
    message.error,
  ]);
}

function compactText(members: CompactMembers): string {
  let length = members.length;
  while (members[length - 1] === null) length -= 1;
  return JSON.stringify(length === members.length ? members : members.slice(0, length));
}

/** The row of an event, as far as its record depends on it. */
export type StoredRecord = { type: string; sequence: number | null; record: string };

const KIND = "message.";

/** The status of the message after an event. */
export const statusIn = ({ type, record }: Pick<StoredRecord, "type" | "record">): string =>
  isCompact(record) ? type.slice(KIND.length) : (JSON.parse(record) as { status: string }).status;

/** The record of an event as JSON. A compact text is completed with the members of its message. */
export function completeRecord({ type, sequence, record }: StoredRecord, message: FixedFields): string {
  const at = uuidTimeMs(message.id);
  const timeOf = (since: number | null): number | null => (since === null ? null : at + since);
  const [
    updatedAt,
    sender = null,
    senderReason = null,
    linkReason = null,
    name = null,
    link = null,
    messageId = null,
    attempts = null,
    sentAt = null,
    deliveredAt = null,
    readAt = null,
    failedAt = null,
    canceledAt = null,
    error = null,
  ] = JSON.parse(record) as CompactMembers;
  return JSON.stringify(
    recordOf({
      id: message.id,
      environment: message.environment,
      direction: message.direction,
      channel: message.channel,
      recipient: message.recipient,
      body: message.body,
      content: message.content,
      template: message.template,
      segments: message.segments,
      priority: message.priority,
      clientReference: message.clientReference,
      metadata: message.metadata,
      sendAtMs: message.sendAtMs,
      expiresAtMs: message.expiresAtMs,
      fallbackOf: message.fallbackOf,
      inReplyTo: message.inReplyTo,
      batchId: message.batchId,
      source: message.source,
      status: type.slice(KIND.length),
      sequence: sequence ?? 0,
      sender,
      senderReason: decode(senderReason),
      linkReason: decode(linkReason),
      error,
      provider: name === null || link === null ? null : { name: name === 0 ? link : name, link, messageId },
      attempts: attempts ?? 0,
      updatedAtMs: at + updatedAt,
      sentAtMs: timeOf(sentAt),
      deliveredAtMs: timeOf(deliveredAt),
      readAtMs: timeOf(readAt),
      failedAtMs: timeOf(failedAt),
      canceledAtMs: timeOf(canceledAt),
    }),
  );
}

/** The place of the link in a compact text, for statements that read it, and those of other members. */
export const LINK_IN_RECORD = 5;
const [CARRIER_ID, ATTEMPTS, ERROR] = [6, 7, 13] as const;

/** The link, the carrier id and the attempts in a compact text with a provider. */
export function providerIn(record: string): { link: string; messageId: string | null; attempts: number } {
  const members = JSON.parse(record) as CompactMembers;
  return { link: members[LINK_IN_RECORD] ?? "", messageId: members[CARRIER_ID] ?? null, attempts: members[ATTEMPTS] ?? 0 };
}

/** A compact text without the words and the id of a carrier, which may contain the number of the recipient. */
export function eraseCompact(text: string): string {
  const members = JSON.parse(text) as CompactMembers;
  if (members[CARRIER_ID] !== undefined) members[CARRIER_ID] = null;
  const error = members[ERROR];
  if (error) members[ERROR] = { ...error, message: ERASED };
  return compactText(members);
}
