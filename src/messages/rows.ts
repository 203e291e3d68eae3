/** The row of a message in the database, and its translation into a message. */
import type { Encoding } from "../model/segments.ts";
import type { Message } from "./message.ts";

type SnakeCase<Name extends string> = Name extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `_${Lowercase<First>}`}${SnakeCase<Rest>}`
  : Name;

/** Fields that a row has in another form. */
type SpecialField = "segments" | "metadata" | "provider" | "isRedacted";

/** The fields of a message by the names of their columns. The column of `sendAtMs` is `send_at`, a Date. */
export type MessageRow = {
  [Field in Exclude<keyof Message, SpecialField> as SnakeCase<Field extends `${infer Time}Ms` ? Time : Field>]: Field extends `${string}Ms`
    ? Date | Extract<Message[Field], null>
    : Message[Field];
} & {
  segments_count: number | null;
  segments_encoding: Encoding | null;
  segments_characters: number | null;
  metadata: Message["metadata"] | null;
  provider: string | null;
  link: string | null;
  provider_message_id: string | null;
  redacted_at: Date | null;
};

/** The columns of a `MessageRow`, from the relation `m`. */
export const MESSAGE_COLUMNS = `m.account_id, m.environment, m.id, m.direction, m.channel, m.recipient, m.sender, m.sender_reason,
       m.link_reason, m.body, m.content, m.status,
       m.sequence, m.error, m.segments_count, m.segments_encoding, m.segments_characters, m.priority,
       m.client_reference, m.metadata, m.max_segments, m.carrier_options, m.send_at, m.expires_at, m.provider, m.link,
       m.provider_message_id, m.attempts, m.updated_at, m.sent_at, m.delivered_at, m.read_at, m.failed_at,
       m.canceled_at, m.redacted_at, m.template, m.has_fallback, m.has_unknown, m.refusals, m.fallback_of,
       m.in_reply_to, m.is_opt_out_reply, m.batch_id, m.source, m.trace`;

/** Joins the message of a row of `owner` (account_id, environment, message_id) as the relation `m`. The limit makes the join an index
 *  probe, even if the planner has no statistics of the table. */
export const joinMessage = (owner: string): string => `
 cross join lateral (select *
                       from messages whole
                      where whole.account_id = ${owner}.account_id and whole.environment = ${owner}.environment
                        and whole.id = ${owner}.message_id
                      limit 1) m`;

const timeOrNull = (time: Date | null): number | null => (time === null ? null : time.getTime());

export function messageOfRow(row: MessageRow): Message {
  const { segments_count: count, segments_encoding: encoding, segments_characters: characters, provider: name, link } = row;
  return {
    accountId: row.account_id,
    environment: row.environment,
    id: row.id,
    direction: row.direction,
    channel: row.channel,
    recipient: row.recipient,
    sender: row.sender,
    senderReason: row.sender_reason,
    linkReason: row.link_reason,
    body: row.body,
    content: row.content,
    template: row.template,
    status: row.status,
    sequence: row.sequence,
    error: row.error,
    segments: count === null || encoding === null || characters === null ? null : { count, encoding, characters },
    priority: row.priority,
    clientReference: row.client_reference,
    metadata: row.metadata ?? {},
    maxSegments: row.max_segments,
    carrierOptions: row.carrier_options,
    sendAtMs: timeOrNull(row.send_at),
    expiresAtMs: timeOrNull(row.expires_at),
    provider: name === null || link === null ? null : { name, link, messageId: row.provider_message_id },
    attempts: row.attempts,
    hasFallback: row.has_fallback,
    hasUnknown: row.has_unknown,
    refusals: row.refusals,
    fallbackOf: row.fallback_of,
    inReplyTo: row.in_reply_to,
    isOptOutReply: row.is_opt_out_reply,
    batchId: row.batch_id,
    source: row.source,
    updatedAtMs: row.updated_at.getTime(),
    sentAtMs: timeOrNull(row.sent_at),
    deliveredAtMs: timeOrNull(row.delivered_at),
    readAtMs: timeOrNull(row.read_at),
    failedAtMs: timeOrNull(row.failed_at),
    canceledAtMs: timeOrNull(row.canceled_at),
    isRedacted: row.redacted_at !== null,
    trace: row.trace,
  };
}

/** The metadata as JSON. Null for empty metadata, which most messages have and which need not be stored. */
export const metadataText = (metadata: Message["metadata"]): string | null => {
  for (const name in metadata) if (Object.hasOwn(metadata, name)) return JSON.stringify(metadata);
  return null;
};
