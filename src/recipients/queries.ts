/** All SQL of erasures. The rows of a person are in the tables of many features; this file shows in one place which of them an erasure
 *  changes. `consent/change-consent.ts` erases suppressions and service windows. */
import type { StoredDetail } from "../events/detail.ts";
import { isDeliveryOf } from "../events/publish.ts";
import type { IdempotencyKey } from "../idempotency/key.ts";
import type { EndpointId, EventId, MessageId } from "../model/id.ts";
import { ERASED, type Recipient } from "../model/phone-number.ts";
import type { Uuid } from "../lib/uuid.ts";
import type { Message } from "../messages/message.ts";
import { MESSAGE_COLUMNS, messageOfRow, type MessageRow } from "../messages/rows.ts";
import { batchStatement, column, type Column } from "../database/batch.ts";
import type { Queryable, Tx } from "../database/database.ts";
import type { Owner } from "../model/owner.ts";
import { prepare, sql, type Prepared } from "../database/sql.ts";

/** A person, in the environment of a credential. */
export type Person = Owner & { recipient: Recipient };

type Direction = Message["direction"];

const scanBy = (number: "recipient" | "inbound_sender", direction: Direction): Prepared =>
  prepare(`
select m.id, m.direction = '${direction}' as is_theirs
  from messages m
 where m.account_id = $1 and m.environment = $2 and m.${number} = $3 and m.id > $4
 order by m.id
 limit $5`);

const SCANS: Readonly<Record<Direction, Prepared>> = {
  outbound: scanBy("recipient", "outbound"),
  inbound: scanBy("inbound_sender", "inbound"),
};

export type ScannedMessage = { id: MessageId; is_theirs: boolean };

/** The messages to the person, or from the person, in the order of their ids. A number of the account is also the recipient of inbound
 *  messages, which belong to other persons. */
export const scanMessages = (
  db: Queryable,
  { accountId, environment, recipient }: Person,
  { direction, after, limit }: { direction: Direction; after: Uuid; limit: number },
): Promise<ScannedMessage[]> => db.rows<ScannedMessage>({ ...SCANS[direction], values: [accountId, environment, recipient, after, limit] });

type Owned = Owner & { id: Uuid };
type OwnedMessage = Owner & { id: MessageId };
type OwnedEvent = Owner & { id: EventId };

const ownedColumns: readonly Column<Owned>[] = [
  column("account_id", "uuid", ({ accountId }) => accountId),
  column("environment", "text", ({ environment }) => environment),
  column("id", "uuid", ({ id }) => id),
];

const lockAll = batchStatement<OwnedMessage>(
  ownedColumns,
  (items) => `
select m.*
  from ${items}
 cross join lateral (select ${MESSAGE_COLUMNS}
                       from messages m
                      where m.account_id = item.account_id and m.environment = item.environment and m.id = item.id
                      limit 1
                        for update) m`,
);

/** Locks messages in the order of the list, and reads them. */
export const lockMessages = async (tx: Tx, messages: readonly OwnedMessage[]): Promise<Message[]> =>
  (await tx.rows<MessageRow>(lockAll(messages))).map(messageOfRow);

const eraseAll = batchStatement<Message>(
  [
    ...ownedColumns,
    column("recipient", "text", ({ recipient }) => recipient),
    column("sender", "text", ({ sender }) => sender),
    column("template", "text", ({ template }) => template && JSON.stringify(template)),
    column("error", "text", ({ error }) => error && JSON.stringify(error)),
    column("updated_at", "timestamptz", ({ updatedAtMs }) => updatedAtMs),
  ],
  (items) => `
with erased as (
  update messages m
     set recipient = item.recipient,
         sender = item.sender,
         inbound_sender = null,
         body = null,
         content = null,
         source_details = null,
         template = item.template::json,
         error = item.error::json,
         client_reference = null,
         metadata = null,
         carrier_options = null,
         provider_message_id = null,
         trace = null,
         redacted_at = coalesce(m.redacted_at, item.updated_at),
         updated_at = item.updated_at
    from ${items}
   where m.account_id = item.account_id and m.environment = item.environment and m.id = item.id
  returning m.account_id, m.environment, m.id
)
update message_parts p
   set provider_message_id = '${ERASED}',
       error = null
  from erased
 where p.account_id = erased.account_id and p.environment = erased.environment and p.message_id = erased.id`,
);

/** Stores locked messages as `eraseMessage` leaves them, and erases their parts. */
export const storeErased = async (tx: Tx, messages: readonly Message[]): Promise<void> => {
  await tx.rows(eraseAll(messages));
};

const deleteSteps = batchStatement<OwnedMessage>(
  ownedColumns,
  (items) => `
delete from fallbacks f
 using ${items}
 where f.message_id = item.id
returning 1`,
);

export const deleteFallbacks = async (tx: Tx, messages: readonly OwnedMessage[]): Promise<number> =>
  (await tx.rows(deleteSteps(messages))).length;

// `offset 0` keeps the account out of the inner query. Without statistics of a new week the planner would rate the primary key as good as
// the index by message, and read the environment for each message.
const entryIds = batchStatement<OwnedMessage>(
  ownedColumns,
  (items) => `
select entry.id, coalesce(octet_length(entry.record), 0) as bytes
  from ${items}
 cross join lateral (select e.id, e.record
                       from (select *
                               from events
                              where message_id = item.id and id <> message_id and id > item.id
                             offset 0) e
                      where e.account_id = item.account_id and e.environment = item.environment
                     union all
                     select e.id, e.record
                       from events e
                      where e.account_id = item.account_id and e.environment = item.environment and e.id = item.id) entry`,
);

export type EntrySize = { id: EventId; bytes: number };

/** The timeline entries of messages, and the sizes of their records. */
export const listEntrySizes = (tx: Tx, messages: readonly OwnedMessage[]): Promise<EntrySize[]> => tx.rows<EntrySize>(entryIds(messages));

const readAll = batchStatement<OwnedEvent>(
  ownedColumns,
  (items) => `
select e.*
  from ${items}
 cross join lateral (select e.id, e.record, e.detail
                       from events e
                      where e.account_id = item.account_id and e.environment = item.environment and e.id = item.id
                      limit 1) e`,
);

export type StoredEntry = { id: EventId; record: string | null; detail: StoredDetail | null };

export const readEntries = (tx: Tx, events: readonly OwnedEvent[]): Promise<StoredEntry[]> => tx.rows<StoredEntry>(readAll(events));

type ErasedEntry = OwnedEvent & { record: string | null; detail: string | null };

const storeEntries = batchStatement<ErasedEntry>(
  [...ownedColumns, column("record", "text", ({ record }) => record), column("detail", "text", ({ detail }) => detail)],
  (items) => `
update events e
   set record = item.record,
       detail = item.detail::json
  from ${items}
 where e.account_id = item.account_id and e.environment = item.environment and e.id = item.id`,
);

export const storeErasedEntries = async (tx: Tx, entries: readonly ErasedEntry[]): Promise<void> => {
  await tx.rows(storeEntries(entries));
};

const putOff = batchStatement<OwnedEvent & { nowMs: number }>(
  [...ownedColumns, column("now", "timestamptz", ({ nowMs }) => nowMs)],
  (items) => `
update webhook_queue q
   set attempts = q.attempts + 1,
       due_at = greatest(q.due_at, item.now) + interval '1 second'
  from ${items}
 where ${isDeliveryOf("q", "item.id")}`,
);

/** Makes the running attempts at endpoints void: their responses may quote the events, and are not stored. The deliveries are attempted
 *  again, with the events as they are now. Without the second that is added, a claim that has read an event before the erasure could
 *  get its row after it. */
export const voidAttempts = async (tx: Tx, events: readonly OwnedEvent[], nowMs: number): Promise<void> => {
  await tx.rows(putOff(events.map((event) => ({ ...event, nowMs }))));
};

const calledEndpoints = prepare(`
with recursive called as (
  (select endpoint_id
     from webhook_deliveries
    where account_id = $1 and environment = $2
    order by endpoint_id
    limit 1)
  union all
  select (select d.endpoint_id
            from webhook_deliveries d
           where d.account_id = $1 and d.environment = $2 and d.endpoint_id > called.endpoint_id
           order by d.endpoint_id
           limit 1)
    from called
   where called.endpoint_id is not null
)
select endpoint_id as id
  from called
 where endpoint_id is not null`);

/** The endpoints that have deliveries, deleted ones as well: their deliveries stay until the end of the retention. */
export const listCalledEndpoints = (db: Queryable, { accountId, environment }: Owner): Promise<{ id: EndpointId }[]> =>
  db.rows<{ id: EndpointId }>({ ...calledEndpoints, values: [accountId, environment] });

const blankResponses = batchStatement<OwnedEvent & { endpointId: EndpointId }>(
  [...ownedColumns, column("endpoint_id", "uuid", ({ endpointId }) => endpointId)],
  (items) => `
update webhook_deliveries d
   set attempts = (select jsonb_agg(kept.attempt || '{"response_body": null}' order by kept.number)
                     from jsonb_array_elements(d.attempts) with ordinality as kept(attempt, number))
  from ${items}
 where d.account_id = item.account_id and d.environment = item.environment and d.endpoint_id = item.endpoint_id
   and ${isDeliveryOf("d", "item.id")}
   and exists (select
                 from jsonb_array_elements(d.attempts) as kept(attempt)
                where kept.attempt ->> 'response_body' is not null)
returning 1`,
);

/** Removes the responses of endpoints from the deliveries of events. Returns the number of changed deliveries. */
export const eraseResponses = async (tx: Tx, deliveries: readonly (OwnedEvent & { endpointId: EndpointId })[]): Promise<number> =>
  deliveries.length === 0 ? 0 : (await tx.rows(blankResponses(deliveries))).length;

/** Erases some of the verifications of the person, and returns their number. A pending one is canceled. */
export const eraseVerifications = async (
  tx: Tx,
  { accountId, environment, recipient }: Person,
  { nowMs, most }: { nowMs: number; most: number },
): Promise<number> =>
  (
    await tx.rows(sql`
  update verifications
     set recipient = ${ERASED}, prefix = ${ERASED},
         status = case when status = 'pending' then 'canceled' else status end,
         updated_at = to_timestamp(${nowMs / 1_000}::float8)
   where account_id = ${accountId} and environment = ${environment}
     and id = any (array(select id
                           from verifications
                          where account_id = ${accountId} and environment = ${environment} and recipient = ${recipient}
                          limit ${most}))
  returning 1`)
  ).length;

export type StoredBody = { key: IdempotencyKey; body: string | null };

/** Some of the stored responses that name the person, locked. */
export const lockStoredBodies = (tx: Tx, { accountId, environment, recipient }: Person, most: number): Promise<StoredBody[]> =>
  tx.rows<StoredBody>(sql`
  select key, body
    from idempotency_keys
   where account_id = ${accountId} and environment = ${environment} and recipient = ${recipient}
   limit ${most}
     for update`);

const storeBodies = batchStatement<Owner & StoredBody>(
  [
    column("account_id", "uuid", ({ accountId }) => accountId),
    column("environment", "text", ({ environment }) => environment),
    column("key", "uuid", ({ key }) => key),
    column("body", "text", ({ body }) => body),
  ],
  (items) => `
update idempotency_keys k
   set body = item.body,
       recipient = null
  from ${items}
 where k.account_id = item.account_id and k.environment = item.environment and k.key = item.key`,
);

export const storeErasedBodies = async (tx: Tx, { accountId, environment }: Owner, bodies: readonly StoredBody[]): Promise<void> => {
  if (bodies.length > 0) await tx.rows(storeBodies(bodies.map((stored) => ({ accountId, environment, ...stored }))));
};

/** Takes some entries out of the history of the person's suppressions. Each has the id of its event. */
export const takeConsentChanges = (tx: Tx, { accountId, environment, recipient }: Person, most: number): Promise<{ id: EventId }[]> =>
  tx.rows<{ id: EventId }>(sql`
  delete from suppression_changes c
   using (select change.suppression_id, change.id
            from suppressions s
            join suppression_changes change on change.account_id = s.account_id and change.environment = s.environment
                                           and change.suppression_id = s.id
           where s.account_id = ${accountId} and s.environment = ${environment} and s.recipient = ${recipient}
           limit ${most}) taken
   where c.account_id = ${accountId} and c.environment = ${environment} and c.suppression_id = taken.suppression_id and c.id = taken.id
  returning c.id`);
