/** The SQL of messages, except the accept and the advance statement, fallbacks and parts, which have files of their own. */
import { queueDeliveries } from "../events/publish.ts";
import type { AccountId, BatchId, MessageId } from "../model/id.ts";
import type { Recipient } from "../model/phone-number.ts";
import { firstUuidAt, type Uuid } from "../lib/uuid.ts";
import { batchStatement, column } from "../database/batch.ts";
import type { Queryable, Tx } from "../database/database.ts";
import type { Environment, Owner } from "../model/owner.ts";
import { readPage, scanStatement, type ListPage } from "../database/scan-page.ts";
import { prepare, sql, type Prepared } from "../database/sql.ts";
import { NOT_DELIVERED, usageMinute } from "../usage/usage.ts";
import type { Message } from "./message.ts";
import { MESSAGE_COLUMNS, messageOfRow, metadataText, type MessageRow } from "./rows.ts";

export type ReceivedEvent = { type: "message.received" | "message.unrouted"; record: string };

const receive = batchStatement<ReceivedEvent & { message: Message }>(
  [
    column("account_id", "uuid", ({ message }) => message.accountId),
    column("environment", "text", ({ message }) => message.environment),
    column("message_id", "uuid", ({ message }) => message.id),
    column("event_id", "uuid", ({ message }) => message.id),
    column("event_type", "text", ({ type }) => type),
    column("record", "text", ({ record }) => record),
    column("channel", "text", ({ message }) => message.channel),
    column("recipient", "text", ({ message }) => message.recipient),
    column("sender", "text", ({ message }) => message.sender),
    column("body", "text", ({ message }) => message.body),
    column("content", "text", ({ message }) => message.content && JSON.stringify(message.content)),
    column("sequence", "integer", ({ message }) => message.sequence),
    column("segments_count", "smallint", ({ message }) => message.segments?.count ?? null),
    column("segments_encoding", "text", ({ message }) => message.segments?.encoding ?? null),
    column("segments_characters", "smallint", ({ message }) => message.segments?.characters ?? null),
    column("metadata", "text", ({ message }) => metadataText(message.metadata)),
    column("in_reply_to", "uuid", ({ message }) => message.inReplyTo),
    column("provider", "text", ({ message }) => message.provider?.name ?? null),
    column("link", "text", ({ message }) => message.provider?.link ?? null),
    column("provider_message_id", "text", ({ message }) => message.provider?.messageId ?? null),
    column("updated_at", "timestamptz", ({ message }) => message.updatedAtMs),
    column("usage_minute", "integer", ({ message }) => usageMinute(message)),
  ],
  (items) => `
with received as materialized (
  select *
    from ${items}
), message as (
  insert into messages
         (account_id, environment, id, direction, channel, recipient, sender, inbound_sender, body, content, status, sequence,
          segments_count, segments_encoding, segments_characters, priority, metadata, in_reply_to,
          provider, link, provider_message_id, updated_at)
  select account_id, environment, message_id, 'inbound', channel, recipient, sender, sender, body, content::json, 'received', sequence,
         segments_count, segments_encoding, segments_characters, 'normal', metadata::json, in_reply_to,
         provider, link, provider_message_id, updated_at
    from received
), event as (
  insert into events (account_id, environment, id, type, message_id, sequence, record)
  select account_id, environment, event_id, event_type, message_id, sequence, record
    from received
), delivery as (${queueDeliveries("received", "updated_at")}
), usage as (
  insert into usage_changes
         (account_id, environment, minute, channel, status, delivery_bucket, error_code, messages, segments)
  select account_id, environment, to_timestamp(usage_minute * 60::float8), channel, 'received', ${NOT_DELIVERED}, '',
         count(*), coalesce(sum(segments_count), 0)
    from received
   group by account_id, environment, usage_minute, channel
)
select 1`,
);

/** Stores an inbound message with its event, its webhook deliveries and its usage. */
export const storeReceived = (tx: Tx, message: Message, event: ReceivedEvent): Promise<unknown> =>
  tx.rows(receive([{ message, ...event }]));

const HELP_MS = 24 * 3_600_000;
// More messages to one person in a day are rare, and then a second reply does no harm.
const LATEST_REPLIES = 100;

/** Whether the writer of an inbound message got this text as an automatic reply in the last 24 hours, from the same number. */
export async function hasHelpReply(tx: Tx, inbound: Message, text: string, nowMs: number): Promise<boolean> {
  const { accountId, environment, sender: person, recipient: number } = inbound;
  const found = await tx.rows(sql`
  select
    from (select body, sender, in_reply_to
            from messages
           where account_id = ${accountId} and environment = ${environment} and recipient = ${person}
             and id >= ${firstUuidAt(nowMs - HELP_MS)}
           order by id desc
           limit ${LATEST_REPLIES}) latest
   where latest.in_reply_to is not null and coalesce(latest.sender, '') = ${number} and latest.body = ${text}
   limit 1`);
  return found.length > 0;
}

const find = (suffix: string) => {
  const statement = prepare(`
select ${MESSAGE_COLUMNS}
  from messages m
 where m.account_id = $1 and m.environment = $2 and m.id = $3${suffix}`);
  return async (db: Queryable, accountId: AccountId, environment: Environment, id: MessageId): Promise<Message | undefined> => {
    const [row] = await db.rows<MessageRow>({ ...statement, values: [accountId, environment, id] });
    return row && messageOfRow(row);
  };
};

/** The facts that only the API has to know which the message came through. Null without any. */
export async function findSourceDetails(db: Queryable, { accountId, environment }: Owner, id: MessageId): Promise<unknown> {
  const [row] = await db.rows<{ source_details: unknown }>(sql`
  select source_details
    from messages
   where account_id = ${accountId} and environment = ${environment} and id = ${id}`);
  return row?.source_details ?? null;
}

export const findMessage = find("");
/** Reads a message and locks it until the transaction ends. */
export const lockMessage = find("\n   for update");

// A person who is written to from several pools has the sender of this pool among the last messages.
const LAST_MESSAGES = 20;

const lastSender = prepare(`
select recent.sender
  from (select m.id, m.sender
          from messages m
         where m.recipient = $3 and m.account_id = $1 and m.environment = $2
         order by m.id desc
         limit ${LAST_MESSAGES}) recent
 where recent.sender = any ($4::text[])
 order by recent.id desc
 limit 1`);

/** Returns which of these senders the account last used to write to a recipient. */
export async function findLastSender(
  db: Queryable,
  { accountId, environment, recipient }: Owner & { recipient: Recipient },
  senders: readonly string[],
): Promise<string | null> {
  const [row] = await db.rows<{ sender: string }>({ ...lastSender, values: [accountId, environment, recipient, senders] });
  return row?.sender ?? null;
}

/** Stores the fields that an edit can change. `advance` writes the rest of the change. */
export const storeEdit = (tx: Tx, message: Message): Promise<unknown[]> => {
  const { accountId, environment, id, body, template, priority, metadata, sendAtMs, expiresAtMs, segments } = message;
  return tx.rows(sql`
  update messages
     set body = ${body},
         template = ${template && JSON.stringify(template)}::json,
         priority = ${priority},
         metadata = ${metadataText(metadata)}::json,
         send_at = to_timestamp(${(sendAtMs ?? 0) / 1_000}::float8),
         expires_at = to_timestamp(${(expiresAtMs ?? 0) / 1_000}::float8),
         segments_count = ${segments?.count ?? null},
         segments_encoding = ${segments?.encoding ?? null},
         segments_characters = ${segments?.characters ?? null}
   where account_id = ${accountId} and environment = ${environment} and id = ${id}`);
};

/** Removes the text, the variables, the metadata and the options for the carrier of a message. */
export const storeRedaction = (tx: Tx, { accountId, environment, id, template, updatedAtMs }: Message): Promise<unknown[]> =>
  tx.rows(sql`
  update messages
     set body = null,
         content = null,
         metadata = null,
         carrier_options = null,
         trace = null,
         template = ${template && JSON.stringify(template)}::json,
         redacted_at = now(),
         updated_at = to_timestamp(${updatedAtMs / 1_000}::float8)
   where account_id = ${accountId} and environment = ${environment} and id = ${id}`);

export type MessageFilter = {
  /** The range of ids, from `from` and before `before`: creation times and the cursor. */
  from: Uuid;
  before: Uuid;
  recipient: string | null;
  /** An index serves it for inbound messages only. */
  sender: string | null;
  clientReference: string | null;
  status: string | null;
  channel: string | null;
  direction: string | null;
  batchId: BatchId | null;
  errorCode: string | null;
};

const FOUND = `
  select ${MESSAGE_COLUMNS}
    from messages m
   where m.account_id = $1 and m.environment = $2 and m.id = found.id`;

const listBy = (condition: string): Prepared =>
  scanStatement({
    scan: `
  select id, recipient, sender, client_reference, status, channel, direction, batch_id, error
    from messages
   where account_id = $1 and environment = $2 and id >= $5 and id < $6${condition}`,
    filter: `($7::text is null or recipient = $7)
     and ($8::text is null or client_reference = $8)
     and ($9::text is null or status = $9)
     and ($10::text is null or channel = $10)
     and ($11::text is null or direction = $11)
     and ($12::uuid is null or batch_id = $12)
     and ($13::text is null or error ->> 'code' = $13)
     and ($14::text is null or sender = $14)`,
    whole: FOUND,
  });

const listAll = listBy("");
const listByRecipient = listBy(" and recipient = $7");
const listByReference = listBy(" and client_reference = $8");
const listByBatch = listBy(" and batch_id = $12");
const listBySender = listBy(" and inbound_sender = $14");

const listByWriter = scanStatement({
  scan: `
  select id
    from messages
   where account_id = $1 and environment = $2 and id < $5 and inbound_sender = $6`,
  filter: "true",
  whole: FOUND,
});

/** A page of the inbound messages of a person, newest first. */
export async function listInbound(
  db: Queryable,
  owner: Owner,
  { sender, before }: { sender: Recipient; before: Uuid },
  limit: number,
): Promise<ListPage<Message>> {
  const { items, next } = await readPage<MessageRow>(db, listByWriter, { owner, limit, isFiltered: false, values: [before, sender] });
  return { items: items.map(messageOfRow), next };
}

/** A page of messages, newest first. */
export async function listMessages(db: Queryable, owner: Owner, filter: MessageFilter, limit: number): Promise<ListPage<Message>> {
  const { from, before, recipient, sender, clientReference, status, channel, direction, batchId, errorCode } = filter;
  const isFromPerson = sender !== null && direction === "inbound";
  const byNumber = recipient !== null ? listByRecipient : isFromPerson ? listBySender : listAll;
  const statement = batchId !== null ? listByBatch : clientReference !== null ? listByReference : byNumber;
  const isFiltered =
    [status, channel, direction, batchId, errorCode, sender].some((value) => value !== null) ||
    (clientReference !== null && recipient !== null);
  const values = [from, before, recipient, clientReference, status, channel, direction, batchId, errorCode, sender];
  const { items, next } = await readPage<MessageRow>(db, statement, { owner, limit, isFiltered, values });
  return { items: items.map(messageOfRow), next };
}
