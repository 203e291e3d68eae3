/** All SQL of what carriers say later: the names they gave to messages, and receipts that came before a name was known. */
import type { AccountId, MessageId } from "../lib/id.ts";
import { batchStatement, column, type Column } from "../storage/batch.ts";
import type { Queryable, Tx } from "../storage/database.ts";
import { sql } from "../storage/sql.ts";
import type { CarrierId } from "../messages/provider-reference.ts";
import type { Environment } from "../storage/owner.ts";

// So many are looked at, of all links; and so many are told, of one.
const MAX_LOOKED_AT = 20_000;
const MAX_RECENT = 10_000;

/** What a carrier called the last messages of a link, the oldest first; those that receipts are still waited for. */
export const readRecentCarrierIds = async (db: Queryable, link: string, receiptWaitMs: number): Promise<string[]> => {
  const rows = await db.rows<{ name: string }>(sql`
  select provider_message_id as name
    from (select link, provider_message_id, expires_at
            from provider_references
           where expires_at <= now() + ${receiptWaitMs}::float8 * interval '1 millisecond'
           order by expires_at desc
           limit ${MAX_LOOKED_AT}) recent
   where link = ${link}
   order by expires_at desc
   limit ${MAX_RECENT}`);
  return rows.map(({ name }) => name).toReversed();
};

export const carrierIdColumns: readonly Column<CarrierId>[] = [
  column("link", "text", ({ link }) => link),
  column("id", "text", ({ providerMessageId }) => providerMessageId),
];

export type Parked = CarrierId & { status: string; receipt: string };

const park = batchStatement<Parked>(
  [...carrierIdColumns, column("status", "text", ({ status }) => status), column("receipt", "text", ({ receipt }) => receipt)],
  (items) => `
insert into parked_receipts (link, provider_message_id, status, receipt)
select link, id, status, receipt::json
  from ${items}
on conflict do nothing`,
);

/** Keeps receipts for a name that is not known yet. The same one twice is one. */
export const parkReceipts = async (db: Queryable, receipts: readonly Parked[]): Promise<void> => {
  await db.rows(park(receipts));
};

export type ParkedRow = { link: string; receipt: unknown };

const parkedFor = batchStatement<CarrierId>(
  carrierIdColumns,
  (items) => `
select item.link, found.receipt
  from ${items}
 cross join lateral (select p.receipt
                       from parked_receipts p
                      where p.link = item.link and p.provider_message_id = item.id
                      limit 10) found`,
);

/** What was parked for names that have become known. */
export const findParked = (db: Queryable, names: readonly CarrierId[]): Promise<ParkedRow[]> => db.rows<ParkedRow>(parkedFor(names));

// By then whoever made the name known has looked for itself, unless it ended before it could.
const FORGOTTEN_SECONDS = 2;

/** Parked receipts whose message is known all the same. The caller paces itself by what the scan takes. */
export const findForgotten = (db: Queryable, max: number): Promise<ParkedRow[]> =>
  db.rows<ParkedRow>(sql`
  select p.link, p.receipt
    from parked_receipts p
   where p.received_at <= now() - make_interval(secs => ${FORGOTTEN_SECONDS})
     and exists (select
                   from provider_references r
                  where r.link = p.link and r.provider_message_id = p.provider_message_id)
   limit ${max}`);

const unpark = batchStatement<CarrierId & { status: string }>(
  [...carrierIdColumns, column("status", "text", ({ status }) => status)],
  (items) => `
delete from parked_receipts p
 using ${items}
 where p.link = item.link and p.provider_message_id = item.id and p.status = item.status`,
);

/** These have been worked in. */
export const forgetParked = async (db: Queryable, receipts: readonly (CarrierId & { status: string })[]): Promise<void> => {
  await db.rows(unpark(receipts));
};

// Cloud APIs try a webhook again for up to seven days.
const INBOUND_DAYS = 8;

// Carriers hold a receipt for two days at most, and a link can be down over a weekend.
const PARKED_DAYS = 3;

/** Receipts whose message never became known. */
export const dropOldParked = (db: Queryable, max: number): Promise<{ link: string }[]> =>
  db.rows<{ link: string }>(sql`
  delete from parked_receipts
   where ctid = any (array(select ctid
                             from parked_receipts
                            where received_at <= now() - make_interval(days => ${PARKED_DAYS})
                            limit ${max}))
  returning link`);

/** Whether a carrier brings this inbound message for the first time. */
export const rememberInbound = async (tx: Tx, { link, providerMessageId }: CarrierId): Promise<boolean> => {
  const rows = await tx.rows(sql`
  insert into inbound_names (link, provider_message_id)
  values (${link}, ${providerMessageId})
  on conflict do nothing
  returning 1`);
  return rows.length > 0;
};

/** A carrier that was not answered repeats itself for a few days at most. */
export const dropOldInbound = (db: Queryable, max: number): Promise<{ link: string }[]> =>
  db.rows<{ link: string }>(sql`
  delete from inbound_names
   where ctid = any (array(select ctid
                             from inbound_names
                            where received_at <= now() - make_interval(days => ${INBOUND_DAYS})
                            order by received_at
                            limit ${max}))
  returning link`);

export type Overdue = { link: string; provider_message_id: string; account_id: AccountId; environment: Environment; message_id: MessageId };

/** Names under which nothing more is awaited. */
export const findOverdue = (db: Queryable, max: number): Promise<Overdue[]> =>
  db.rows<Overdue>(sql`
  select link, provider_message_id, account_id, environment, message_id
    from provider_references
   where expires_at <= now()
   order by expires_at
   limit ${max}`);

const forget = batchStatement<{ link: string; provider_message_id: string }>(
  [column("link", "text", ({ link }) => link), column("id", "text", ({ provider_message_id: id }) => id)],
  (items) => `
delete from provider_references r
 using ${items}
 where r.link = item.link and r.provider_message_id = item.id and r.expires_at <= now()`,
);

/** Deletes names that are still overdue: one that was given anew meanwhile stays. */
export const forgetReferences = async (db: Queryable, names: readonly { link: string; provider_message_id: string }[]): Promise<void> => {
  await db.rows(forget(names));
};
