/** The SQL with which delivery reads messages: by their ids, by their carrier ids, and by their recipient. */
import { LINK_OF_ATTEMPT } from "../events/detail.ts";
import type { AccountId, MessageId } from "../model/id.ts";
import type { Recipient } from "../model/phone-number.ts";
import type { Message, OwnedMessage } from "../messages/message.ts";
import type { CarrierId } from "../messages/change.ts";
import { QUEUE_STATE } from "../messages/queue-entry.ts";
import { OUTCOME_UNKNOWN } from "../messages/states.ts";
import { joinMessage, MESSAGE_COLUMNS, messageOfRow, type MessageRow } from "../messages/rows.ts";
import { batchStatement, column } from "../database/batch.ts";
import type { Queryable } from "../database/database.ts";
import type { Environment } from "../model/owner.ts";
import { sql } from "../database/sql.ts";
import { carrierIdColumns } from "./receipt-queries.ts";

const read = batchStatement<OwnedMessage>(
  [
    column("account_id", "uuid", ({ accountId }) => accountId),
    column("environment", "text", ({ environment }) => environment),
    column("message_id", "uuid", ({ id }) => id),
  ],
  (items) => `
select ${MESSAGE_COLUMNS}
  from ${items}${joinMessage("item")}`,
);

/** Reads the current versions of these messages. */
export const readMessages = async (db: Queryable, ids: readonly OwnedMessage[]): Promise<Message[]> =>
  (await db.rows<MessageRow>(read(ids))).map(messageOfRow);

type OwnedRow = { account_id: AccountId; environment: Environment; message_id: MessageId };

export const readRows = async (db: Queryable, rows: readonly OwnedRow[]): Promise<Message[]> =>
  rows.length === 0
    ? []
    : readMessages(
        db,
        rows.map((row) => ({ accountId: row.account_id, environment: row.environment, id: row.message_id })),
      );

const findByCarrierId = batchStatement<CarrierId>(
  carrierIdColumns,
  (items) => `
select item.ordinal::integer as ordinal, known.part, ${MESSAGE_COLUMNS}
  from ${items}
 cross join lateral (select r.account_id, r.environment, r.message_id, r.part
                       from provider_references r
                      where r.link = item.link and r.provider_message_id = item.id
                      order by r.message_id desc
                      limit 1) known${joinMessage("known")}`,
);

/** A message, and the number of its part if it was sent in several parts. */
export type MatchedMessage = { message: Message; part: number | null };

/** Finds the messages with these carrier ids, by position in the list: the newest one, if a carrier has used an id again. An unknown id
 *  has no entry. */
export async function findByCarrierIds(db: Queryable, carrierIds: readonly CarrierId[]): Promise<Map<number, MatchedMessage>> {
  const rows = await db.rows<MessageRow & { ordinal: number; part: number | null }>(findByCarrierId(carrierIds));
  return new Map(rows.map((row) => [row.ordinal - 1, { message: messageOfRow(row), part: row.part }]));
}

const findByOwnId = batchStatement<OwnId>(
  [column("link", "text", ({ link }) => link), column("message_id", "uuid", ({ messageId }) => messageId)],
  (items) => `
select item.ordinal::integer as ordinal, ${MESSAGE_COLUMNS}
  from ${items}
 cross join lateral (select e.account_id, e.environment, e.message_id
                       from events e
                      where e.message_id = item.message_id and e.id <> e.message_id and e.id > item.message_id
                        and ${LINK_OF_ATTEMPT} = item.link
                      limit 1) known${joinMessage("known")}`,
);

type OwnId = { link: string; messageId: MessageId };

/** Finds messages by our own ids, by position in the list: those that an attempt has passed to the link. */
export async function findByOwnIds(db: Queryable, ids: readonly OwnId[]): Promise<Map<number, Message>> {
  if (ids.length === 0) return new Map();
  const rows = await db.rows<MessageRow & { ordinal: number }>(findByOwnId(ids));
  return new Map(rows.map((row) => [row.ordinal - 1, messageOfRow(row)]));
}

/** A message that an account has sent, or is about to send, to a person. */
export type SentMessage = {
  account_id: AccountId;
  environment: Environment;
  id: MessageId;
  recipient: Recipient;
  sender: string | null;
  link: string | null;
  /** An attempt has left, and no response of the carrier to it has come. */
  is_unanswered: boolean;
  /** The outcome of that attempt is unknown: the process that sent the message got no response, or has ended. */
  is_unknown: boolean;
};

/** A person, and the link or the number from which messages to them are looked for. */
export type Correspondent = { recipient: Recipient; link: string; sender: string };

// An account that writes to a person from several numbers, or through several links, has used each of them among these.
const LATEST_MESSAGES = 100;

const sentTo = batchStatement<Correspondent>(
  [
    column("recipient", "text", ({ recipient }) => recipient),
    column("link", "text", ({ link }) => link),
    column("sender", "text", ({ sender }) => sender),
  ],
  (items) => `
select item.ordinal::integer as ordinal, item.recipient, found.*
  from ${items}
 cross join lateral (
  with recursive writer as (
    (select m.account_id
       from messages m
      where m.recipient = item.recipient
      order by m.account_id
      limit 1)
    union all
    select (select m.account_id
              from messages m
             where m.recipient = item.recipient and m.account_id > writer.account_id
             order by m.account_id
             limit 1)
      from writer
     where writer.account_id is not null
  )
  select writer.account_id, owned.environment, latest.id, latest.sender, latest.link, latest.is_unanswered,
         latest.is_unanswered and latest.is_given_up as is_unknown
    from writer
   cross join (values ('live'), ('test')) as owned(environment)
   cross join lateral (select m.id, m.sender,
                              m.status = 'sending' or m.has_unknown
                              or m.error ->> 'code' is not distinct from '${OUTCOME_UNKNOWN}' as is_unanswered,
                              m.status <> 'sending' or exists (select
                                                                 from delivery_queue q
                                                                where q.message_id = m.id
                                                                  and q.state = ${QUEUE_STATE.held}) as is_given_up,
                              coalesce(m.link, (select q.link
                                                  from delivery_queue q
                                                 where q.message_id = m.id)) as link
                         from messages m
                        where m.recipient = item.recipient and m.account_id = writer.account_id
                          and m.environment = owned.environment and m.direction = 'outbound'
                        order by m.id desc
                        limit ${LATEST_MESSAGES}) latest
   where writer.account_id is not null
     and (latest.link = item.link or latest.sender = item.sender)) found`,
);

/** The latest messages of each account to each of these people, on the link or from the number, by position in the list. */
export async function findSentTo(db: Queryable, people: readonly Correspondent[]): Promise<ReadonlyMap<number, SentMessage[]>> {
  const rows = await db.rows<SentMessage & { ordinal: number }>(sentTo(people));
  return Map.groupBy(rows, ({ ordinal }) => ordinal - 1);
}

export const listAccountIds = async (db: Queryable): Promise<AccountId[]> =>
  (
    await db.rows<{ id: AccountId }>(sql`
  select id
    from accounts`)
  ).map(({ id }) => id);
