/** The record of an event in the database. An event of a message stores a compact text where it can: it is in the week of its message, so that both are
 *  dropped together, and the message can no longer be edited. Every other event stores its whole record. */
import { compactRecord, completeRecord, isCompact, recordOf, type FixedFields, type RecordFields } from "../model/message-record.ts";
import type { EventId, MessageId } from "../model/id.ts";
import type { Environment } from "../model/owner.ts";
import { uuidTimeMs } from "../lib/uuid.ts";
import { weekStart } from "./partitions.ts";

/** Whether this process writes compact texts. A process uses one database, and what its nodes may write only ever grows. */
let isCompactWritten = false;

/** Nodes of earlier releases cannot read compact texts. See earlier-releases.ts. */
export const writeCompactRecords = (): void => {
  isCompactWritten = true;
};

/** Whether all nodes know what this release writes: compact texts, and the contents of messages. */
export const areEarlierReleasesGone = (): boolean => isCompactWritten;

const mayBeCompact = (message: RecordFields, eventId: EventId): boolean =>
  message.direction === "outbound" &&
  message.status !== "scheduled" &&
  weekStart(uuidTimeMs(message.id)) === weekStart(uuidTimeMs(eventId));

/** The text that the event of a change stores. */
export const recordToStore = (message: RecordFields, eventId: EventId): string =>
  isCompactWritten && mayBeCompact(message, eventId) ? compactRecord(message) : JSON.stringify(recordOf(message));

const columnsOf = (relation: string): string => `
         ${relation}.channel, ${relation}.recipient, ${relation}.body, ${relation}.content, ${relation}.template,
         ${relation}.segments_count, ${relation}.segments_encoding, ${relation}.segments_characters,
         ${relation}.priority, ${relation}.client_reference, ${relation}.metadata, ${relation}.send_at,
         ${relation}.expires_at, ${relation}.fallback_of, ${relation}.in_reply_to, ${relation}.batch_id, ${relation}.source,
         ${relation}.trace`;

/** The columns of a `RecordRow`, from the relation `e` of events and the join below. */
export const RECORD_COLUMNS = `e.type, e.sequence, e.record, e.message_id,${columnsOf("fixed")}`;

/** Joins the message of an event `e` as the relation `fixed`. The limit makes the join an index probe, even if the planner has no statistics of the
 *  table. */
export const JOIN_MESSAGE = `
  left join lateral (select${columnsOf("m")}
                       from messages m
                      where m.account_id = e.account_id and m.environment = e.environment and m.id = e.message_id
                      limit 1) fixed on true`;

/** Whether the record of an event can be read. A message in the default partition may be deleted a moment before its events. */
export const IS_READABLE = `(fixed.channel is not null or e.record is null or left(e.record, 1) <> '[')`;

type Nullable<T> = { [K in keyof T]: T[K] | null };

/** The members of the message are null if the event has none. */
export type RecordRow = {
  environment: Environment;
  type: string;
  sequence: number | null;
  record: string | null;
  message_id: MessageId | null;
} & Nullable<
  Pick<FixedFields, "channel" | "recipient" | "body" | "content" | "template" | "priority" | "metadata"> & {
    segments_count: number;
    segments_encoding: string;
    segments_characters: number;
    client_reference: string;
    send_at: Date;
    expires_at: Date;
    fallback_of: MessageId;
    in_reply_to: MessageId;
    batch_id: NonNullable<FixedFields["batchId"]>;
    source: string;
    trace: string;
  }
>;

/** The record of an event as JSON. Null for an entry of a timeline that is no event. */
export function recordText(row: RecordRow): string | null {
  const { type, sequence, record } = row;
  return record !== null && isCompact(record) ? completeRecord({ type, sequence, record }, fixedOf(row)) : record;
}

function fixedOf(row: RecordRow): FixedFields {
  const { segments_count: count, segments_encoding: encoding, segments_characters: characters } = row;
  const { message_id: id, channel, recipient, priority } = row;
  if (id === null || channel === null || recipient === null || priority === null)
    throw new Error("the message of a compact record is missing");
  return {
    id,
    environment: row.environment,
    direction: "outbound",
    channel,
    recipient,
    body: row.body,
    content: row.content,
    template: row.template,
    segments: count === null || encoding === null || characters === null ? null : { count, encoding, characters },
    priority,
    clientReference: row.client_reference,
    metadata: row.metadata ?? {},
    sendAtMs: row.send_at && row.send_at.getTime(),
    expiresAtMs: row.expires_at && row.expires_at.getTime(),
    fallbackOf: row.fallback_of,
    inReplyTo: row.in_reply_to,
    batchId: row.batch_id,
    source: row.source,
  };
}
