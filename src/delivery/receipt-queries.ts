/** All SQL of receipts: the carrier ids of messages, parked receipts, and the ids of inbound messages. */
import { idKey, type AccountId, type MessageId } from "../model/id.ts";
import type { Uuid } from "../lib/uuid.ts";
import type { CarrierId } from "../messages/change.ts";
import { batchStatement, column, type Column } from "../database/batch.ts";
import type { Queryable, Tx } from "../database/database.ts";
import type { Environment } from "../model/owner.ts";
import { sql } from "../database/sql.ts";
import { LATE_RESPONSE } from "../providers/provider.ts";

export const carrierIdColumns: readonly Column<CarrierId>[] = [
  column("link", "text", ({ link }) => link),
  column("id", "text", ({ providerMessageId }) => providerMessageId),
];

const linkOfMessage = batchStatement<MessageId>(
  [column("message_id", "uuid", (id) => id)],
  (items) => `
select item.ordinal::integer as ordinal, m.link
  from ${items}
 cross join lateral (select e.account_id, e.environment
                       from events e
                      where e.message_id = item.message_id and e.id <> e.message_id and e.id > item.message_id
                      limit 1) known
 cross join lateral (select sent.link
                       from messages sent
                      where sent.account_id = known.account_id and sent.environment = known.environment
                        and sent.id = item.message_id
                      limit 1) m
 where m.link is not null`,
);

/** The links of messages that were passed to a carrier, by position in the list. */
export const findLinksOf = async (db: Queryable, ids: readonly MessageId[]): Promise<ReadonlyMap<number, string>> =>
  new Map((await db.rows<{ ordinal: number; link: string }>(linkOfMessage(ids))).map(({ ordinal, link }) => [ordinal - 1, link]));

const reportedOf = batchStatement<MessageId>(
  [column("message_id", "uuid", (id) => id)],
  (items) => `
select item.message_id
  from ${items}
 where exists (select
                 from events e
                where e.message_id = item.message_id and e.id <> e.message_id and e.id > item.message_id
                  and e.detail -> 'receipt' ->> 'status' = 'sent'
                  and e.detail -> 'receipt' -> 'raw' -> '${LATE_RESPONSE}' is null)`,
);

/** Those of these messages about which a carrier has reported that it has them. A late response to the submission is no report. */
export const findReported = async (db: Queryable, ids: readonly MessageId[]): Promise<ReadonlySet<string>> =>
  new Set(ids.length === 0 ? [] : (await db.rows<{ message_id: MessageId }>(reportedOf(ids))).map(({ message_id: id }) => idKey(id)));

/** `retryAtMs`: the next time at which the receipt is tried though its own carrier id is not known; null: never. */
export type ParkedReceipt = CarrierId & { status: string; receipt: string; receivedAtMs: number; retryAtMs: number | null };

const park = batchStatement<ParkedReceipt>(
  [
    ...carrierIdColumns,
    column("status", "text", ({ status }) => status),
    column("receipt", "text", ({ receipt }) => receipt),
    column("received_at", "timestamptz", ({ receivedAtMs }) => receivedAtMs),
    column("retry_at", "timestamptz", ({ retryAtMs }) => retryAtMs),
  ],
  (items) => `
insert into parked_receipts (link, provider_message_id, status, receipt, received_at, retry_at)
select link, id, status, receipt::json, received_at, retry_at
  from ${items}
on conflict do nothing`,
);

/** Parks receipts for carrier ids that are not known yet. A repeated receipt is stored once. */
export const parkReceipts = (db: Queryable, receipts: readonly ParkedReceipt[]): Promise<unknown> => db.rows(park(receipts));

export type ParkedRow = { link: string; provider_message_id: string; status: string; receipt: unknown; received_at: Date };

const parkedFor = batchStatement<CarrierId>(
  carrierIdColumns,
  (items) => `
select found.*
  from ${items}
 cross join lateral (select p.link, p.provider_message_id, p.status, p.receipt, p.received_at
                       from parked_receipts p
                      where p.link = item.link and p.provider_message_id = item.id
                      limit 10) found`,
);

/** Finds the receipts that are parked for these carrier ids. */
export const findParked = (db: Queryable, carrierIds: readonly CarrierId[]): Promise<ParkedRow[]> =>
  db.rows<ParkedRow>(parkedFor(carrierIds));

/** Finds parked receipts that are to be tried, and those whose carrier id is known, of those received until a time. The caller adapts its pace
 *  to the duration of the scan. */
export const findDueParked = (
  db: Queryable,
  { nowMs, untilMs, max }: { nowMs: number; untilMs: number; max: number },
): Promise<ParkedRow[]> =>
  db.rows<ParkedRow>(sql`
  select p.link, p.provider_message_id, p.status, p.receipt, p.received_at
    from parked_receipts p
   where p.received_at <= ${new Date(untilMs)}
     and (p.retry_at <= ${new Date(nowMs)}
          or p.retry_at is null
         and exists (select
                       from provider_references r
                      where r.link = p.link and r.provider_message_id = p.provider_message_id))
   order by p.retry_at
   limit ${max}`);

const retryLater = batchStatement<CarrierId & { status: string; retryAtMs: number }>(
  [...carrierIdColumns, column("status", "text", ({ status }) => status), column("retry_at", "timestamptz", ({ retryAtMs }) => retryAtMs)],
  (items) => `
update parked_receipts p
   set retry_at = item.retry_at
  from ${items}
 where p.link = item.link and p.provider_message_id = item.id and p.status = item.status`,
);

export const retryParkedLater = (
  db: Queryable,
  receipts: readonly (CarrierId & { status: string })[],
  retryAtMs: number,
): Promise<unknown> => db.rows(retryLater(receipts.map((receipt) => ({ ...receipt, retryAtMs }))));

/** Whether a link has at least this many parked receipts. */
export const hasParked = async (db: Queryable, link: string, count: number): Promise<boolean> =>
  (
    await db.rows(sql`
  select 1
    from parked_receipts
   where link = ${link}
   order by link, provider_message_id
  offset ${count - 1}
   limit 1`)
  ).length > 0;

/** Counts the parked receipts of each link, of those received until a time. */
export const countParked = (db: Queryable, untilMs: number): Promise<{ link: string; count: number }[]> =>
  db.rows<{ link: string; count: number }>(sql`
  select link, count(*)::integer as count
    from parked_receipts
   where received_at <= ${new Date(untilMs)}
   group by link
   order by link`);

export type ParkedSummary = {
  link: string;
  provider_message_id: string | null;
  /** Our id, as far as the carrier repeats it. */
  reference: string | null;
  /** Those of the phone and of our number, if the carrier names them. */
  addresses: string[] | null;
  statuses: string[];
  received_at: Date;
};

/** Lists the parked receipts that were received since a time, one row for each message that they name, the oldest first. */
export const listUnmatched = (db: Queryable, sinceMs: number, max: number): Promise<ParkedSummary[]> =>
  db.rows<ParkedSummary>(sql`
  select link, receipt ->> 'providerMessageId' as provider_message_id, receipt ->> 'reference' as reference,
         min((receipt -> 'addresses')::text)::json as addresses, array_agg(distinct status) as statuses, min(received_at) as received_at
    from parked_receipts
   where received_at >= ${new Date(sinceMs)}
   group by 1, 2, 3
   order by min(received_at)
   limit ${max}`);

const waitingOf = batchStatement<MessageId>(
  [column("message_id", "uuid", (id) => id)],
  (items) => `
select q.message_id
  from ${items}
  join delivery_queue q on q.message_id = item.message_id`,
);

/** Those of these messages that wait in the queue. */
export const findWaiting = async (db: Queryable, ids: readonly MessageId[]): Promise<ReadonlySet<string>> =>
  new Set(ids.length === 0 ? [] : (await db.rows<{ message_id: MessageId }>(waitingOf(ids))).map(({ message_id: id }) => idKey(id)));

const waitingTo = batchStatement<{ recipient: string; before: Uuid }>(
  [column("recipient", "text", ({ recipient }) => recipient), column("before", "uuid", ({ before }) => before)],
  (items) => `
select item.recipient, count(*)::integer as count
  from ${items}
 cross join lateral (select m.id
                       from messages m
                      where m.recipient = item.recipient and m.id < item.before and m.status in ('scheduled', 'queued', 'sending')
                      limit 1000) m
  join delivery_queue q on q.message_id = m.id
 group by item.recipient`,
);

/** Counts the messages to these recipients that wait in the queue, of those that were created before an id. */
export const countWaitingTo = async (db: Queryable, recipients: readonly string[], before: Uuid): Promise<ReadonlyMap<string, number>> => {
  if (recipients.length === 0) return new Map();
  const rows = await db.rows<{ recipient: string; count: number }>(waitingTo(recipients.map((recipient) => ({ recipient, before }))));
  return new Map(rows.map(({ recipient, count }) => [recipient, count]));
};

const unpark = batchStatement<CarrierId & { status: string }>(
  [...carrierIdColumns, column("status", "text", ({ status }) => status)],
  (items) => `
delete from parked_receipts p
 using ${items}
 where p.link = item.link and p.provider_message_id = item.id and p.status = item.status`,
);

export const deleteParked = (db: Queryable, receipts: readonly (CarrierId & { status: string })[]): Promise<unknown> =>
  db.rows(unpark(receipts));

/** Stores the id of an inbound message. Returns whether the carrier delivers the message for the first time. */
export const isFirstDelivery = async (tx: Tx, { link, providerMessageId }: CarrierId, nowMs: number): Promise<boolean> => {
  const rows = await tx.rows(sql`
  insert into inbound_names (link, provider_message_id, received_at)
  values (${link}, ${providerMessageId}, ${new Date(nowMs)})
  on conflict do nothing
  returning link`);
  return rows.length > 0;
};

export type ExpiredReference = {
  link: string;
  provider_message_id: string;
  account_id: AccountId;
  environment: Environment;
  message_id: MessageId;
  expires_at: Date;
};

/** Finds references whose receipts are no longer awaited. */
export const findExpiredReferences = (db: Queryable, nowMs: number, max: number): Promise<ExpiredReference[]> =>
  db.rows<ExpiredReference>(sql`
  select link, provider_message_id, account_id, environment, message_id, expires_at
    from provider_references
   where expires_at <= ${new Date(nowMs)}
   order by expires_at
   limit ${max}`);

const referenceColumns: readonly Column<ExpiredReference & { nowMs: number }>[] = [
  column("link", "text", ({ link }) => link),
  column("id", "text", ({ provider_message_id: id }) => id),
  column("message_id", "uuid", ({ message_id: id }) => id),
  column("now", "timestamptz", ({ nowMs }) => nowMs),
];

// A phone may be off for longer than the wait for a receipt. A receipt that arrives after that is still applied.
export const LATE_MS = 7 * 24 * 3_600_000;

const keepReferences = batchStatement<ExpiredReference & { nowMs: number }>(
  referenceColumns,
  (items) => `
update provider_references r
   set expires_at = item.now + ${LATE_MS} * interval '1 millisecond'
  from ${items}
 where r.link = item.link and r.provider_message_id = item.id and r.message_id = item.message_id and r.expires_at <= item.now`,
);

/** Renews references that are still expired, for late receipts. */
export const keepExpiredReferences = (db: Queryable, references: readonly ExpiredReference[], nowMs: number): Promise<unknown> =>
  db.rows(keepReferences(references.map((reference) => ({ ...reference, nowMs }))));

const deleteReferences = batchStatement<ExpiredReference & { nowMs: number }>(
  referenceColumns,
  (items) => `
delete from provider_references r
 using ${items}
 where r.link = item.link and r.provider_message_id = item.id and r.message_id = item.message_id and r.expires_at <= item.now`,
);

export const deleteExpiredReferences = (db: Queryable, references: readonly ExpiredReference[], nowMs: number): Promise<unknown> =>
  db.rows(deleteReferences(references.map((reference) => ({ ...reference, nowMs }))));
