/** All SQL of messages. */
import type { Environment } from "../access/environment.ts";
import { eventColumns, insertMessageEvents, type Evented } from "../events/queries.ts";
import { claimColumns, claimKeys, TRY_LOCK, type Claiming } from "../idempotency/queries.ts";
import type { Uuid } from "../lib/uuid.ts";
import { enqueue, PRIORITY_RANK } from "../queue/queries.ts";
import { batchStatement, column } from "../storage/batch.ts";
import type { Queryable } from "../storage/database.ts";
import { prepare, type Sql } from "../storage/sql.ts";
import type { Channel, Direction, Message, Priority, Status } from "./message.ts";
import type { Encoding } from "./segments.ts";

/** One request to send, decided: a message with its event, or a refusal that only its key remembers. */
export type Acceptance = Claiming & Evented & { accountId: Uuid; environment: Environment; message: Message | null };

/** The whole of an accept in one statement, and so in one transaction: key, message, event and queue row, for each item
 *  whose key is new. What its answer does not name was taken: the key runs elsewhere or has an answer already. */
export const acceptStatement = batchStatement<Acceptance>(
  [
    column("account_id", "uuid", ({ accountId }) => accountId),
    column("environment", "text", ({ environment }) => environment),
    ...claimColumns,
    ...eventColumns,
    column("message_id", "uuid", ({ message }) => message?.id ?? null),
    column("channel", "text", ({ message }) => message?.channel ?? null),
    column("recipient", "text", ({ message }) => message?.recipient ?? null),
    column("sender", "text", ({ message }) => message?.sender ?? null),
    column("body", "text", ({ message }) => message?.body ?? null),
    column("status", "text", ({ message }) => message?.status ?? null),
    column("sequence", "integer", ({ message }) => message?.sequence ?? null),
    column("segments_count", "smallint", ({ message }) => message?.segments?.count ?? null),
    column("segments_encoding", "text", ({ message }) => message?.segments?.encoding ?? null),
    column("segments_characters", "smallint", ({ message }) => message?.segments?.characters ?? null),
    column("priority", "text", ({ message }) => message?.priority ?? null),
    column("priority_rank", "smallint", ({ message }) => (message === null ? null : PRIORITY_RANK[message.priority])),
    column("client_reference", "text", ({ message }) => message?.clientReference ?? null),
    column("metadata", "text", ({ message }) => (message === null ? null : metadataText(message.metadata))),
    column("expires_at", "timestamptz", ({ message }) => message?.expiresAtMs ?? null),
    column("updated_at", "timestamptz", ({ message }) => message?.updatedAtMs ?? null),
  ],
  (items) => `
with request as materialized (
  select item.*, ${TRY_LOCK} as is_locked
    from ${items}
), claimed as (${claimKeys}
), accepted as (
  select request.*
    from request
    left join claimed using (account_id, environment, key)
   where request.key is null or claimed.key is not null
), message as (
  insert into messages
         (account_id, environment, id, direction, channel, recipient, sender, body, status, sequence, segments_count,
          segments_encoding, segments_characters, priority, client_reference, metadata, expires_at, updated_at)
  select account_id, environment, message_id, 'outbound', channel, recipient, sender, body, status, sequence, segments_count,
         segments_encoding, segments_characters, priority, client_reference, metadata::json, expires_at, updated_at
    from accepted
   where message_id is not null
), event as (${insertMessageEvents}
), queued as (${enqueue}
)
select ordinal::integer
  from accepted`,
);

/** Most messages have none, and an empty object need not be stored. */
const metadataText = (metadata: Message["metadata"]): string | null => {
  for (const name in metadata) if (Object.hasOwn(metadata, name)) return JSON.stringify(metadata);
  return null;
};

type Located = { accountId: Uuid; environment: Environment; message: Message };

const existing = batchStatement<Located>(
  [
    column("account_id", "uuid", ({ accountId }) => accountId),
    column("environment", "text", ({ environment }) => environment),
    column("id", "uuid", ({ message }) => message.id),
  ],
  (items) => `
select found.id
  from ${items}
  join lateral (select m.id
                  from messages m
                 where m.account_id = item.account_id and m.environment = item.environment and m.id = item.id
                 limit 1) found on true`,
);

/** Which of these messages are there: asked when a connection died with their statement under way. */
export const existingMessages = (db: Queryable, items: readonly Located[]): Promise<{ id: Uuid }[]> =>
  db.rows<{ id: Uuid }>(existing(items));

type MessageRow = {
  environment: Environment;
  id: Uuid;
  direction: Direction;
  channel: Channel;
  recipient: string;
  sender: string | null;
  body: string | null;
  status: Status;
  sequence: number;
  error: Message["error"];
  segments_count: number | null;
  segments_encoding: Encoding | null;
  segments_characters: number | null;
  priority: Priority;
  client_reference: string | null;
  metadata: Record<string, string> | null;
  expires_at: Date | null;
  updated_at: Date;
};

function toMessage(row: MessageRow): Message {
  const { segments_count: count, segments_encoding: encoding, segments_characters: characters } = row;
  return {
    id: row.id,
    environment: row.environment,
    direction: row.direction,
    channel: row.channel,
    recipient: row.recipient,
    sender: row.sender,
    body: row.body,
    status: row.status,
    sequence: row.sequence,
    error: row.error,
    segments: count === null || encoding === null || characters === null ? null : { count, encoding, characters },
    priority: row.priority,
    clientReference: row.client_reference,
    metadata: row.metadata ?? {},
    expiresAtMs: row.expires_at?.getTime() ?? null,
    updatedAtMs: row.updated_at.getTime(),
  };
}

const COLUMNS = `m.environment, m.id, m.direction, m.channel, m.recipient, m.sender, m.body, m.status, m.sequence, m.error,
       m.segments_count, m.segments_encoding, m.segments_characters, m.priority, m.client_reference, m.metadata,
       m.expires_at, m.updated_at`;

const find = prepare(`
select ${COLUMNS}
  from messages m
 where m.account_id = $1 and m.environment = $2 and m.id = $3`);

export async function findMessage(db: Queryable, accountId: Uuid, environment: Environment, id: Uuid): Promise<Message | undefined> {
  const [row] = await db.rows<MessageRow>({ ...find, values: [accountId, environment, id] });
  return row && toMessage(row);
}

export type MessageFilter = {
  /** Ids from here on, and before there: creation times and the cursor. */
  from: Uuid;
  before: Uuid;
  recipient: string | null;
  clientReference: string | null;
  status: string | null;
  channel: string | null;
  direction: string | null;
  batchId: Uuid | null;
  errorCode: string | null;
};

// A filter that no index serves looks at this many messages at most; a page may then come back short, with a cursor.
const SCAN_LIMIT = 5_000;

/** Each row is a found message, or, alone and without one, the news that the scan found none. */
type ListRow = (MessageRow | { id: null }) & { scanned: number; last_scanned: Uuid | null };

/** A page of messages, and the id after which the next one begins; null when there is no more. */
export type MessagePage = { messages: Message[]; next: Uuid | null };

/** Looks at `scan limit` messages from the newest on, narrow columns only, and fetches whole the few that fit. The fetch is
 *  a lateral probe with a limit, which stays an index probe whatever the planner believes of a table without statistics. */
const listBy = (condition: string): { name: string; text: string } =>
  prepare(`
with scanned as materialized (
  select id, recipient, client_reference, status, channel, direction, batch_id, error
    from messages
   where account_id = $1 and environment = $2 and id >= $3 and id < $4${condition}
   order by id desc
   limit $5
), found as (
  select id
    from scanned
   where ($6::text is null or recipient = $6)
     and ($7::text is null or client_reference = $7)
     and ($8::text is null or status = $8)
     and ($9::text is null or channel = $9)
     and ($10::text is null or direction = $10)
     and ($11::uuid is null or batch_id = $11)
     and ($12::text is null or error ->> 'code' = $12)
   order by id desc
   limit $13
)
select ${COLUMNS}, scan.scanned, scan.last_scanned
  from (select (select count(*) from scanned) as scanned, (select id from scanned order by id limit 1) as last_scanned) scan
  left join (found cross join lateral (select *
                                         from messages whole
                                        where whole.account_id = $1 and whole.environment = $2 and whole.id = found.id
                                        limit 1) m) on true
 order by m.id desc`);

const listAll = listBy("");
const listByRecipient = listBy(" and recipient = $6");
const listByReference = listBy(" and client_reference = $7");

export async function listMessages(
  db: Queryable,
  accountId: Uuid,
  environment: Environment,
  filter: MessageFilter,
  limit: number,
): Promise<MessagePage> {
  const { recipient, clientReference, status, channel, direction, batchId, errorCode } = filter;
  const indexed = clientReference !== null ? listByReference : recipient !== null ? listByRecipient : listAll;
  const isScan =
    [status, channel, direction, batchId, errorCode].some((value) => value !== null) || (clientReference !== null && recipient !== null);
  // One more than asked for tells whether there is more.
  const count = limit + 1;
  const scanLimit = isScan ? Math.max(SCAN_LIMIT, count) : count;
  const where = [accountId, environment, filter.from, filter.before, scanLimit];
  const which = [recipient, clientReference, status, channel, direction, batchId, errorCode, count];
  const rows = await db.rows<ListRow>({ ...indexed, values: [...where, ...which] } satisfies Sql);
  const found = rows.filter((row): row is MessageRow & ListRow => row.id !== null).map(toMessage);
  const messages = found.slice(0, limit);
  if (found.length > limit) return { messages, next: messages.at(-1)?.id ?? null };
  const [first] = rows;
  return { messages, next: first !== undefined && first.scanned >= scanLimit ? first.last_scanned : null };
}
