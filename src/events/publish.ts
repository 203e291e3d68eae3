/** All SQL of the outbox: which endpoints are to be told of an event. Rows are written by the transaction of the event. */
import { insertEvent, insertEvents, IS_EVENT } from "./queries.ts";
import type { Uuid } from "../lib/uuid.ts";
import { batchStatement, column } from "../storage/batch.ts";
import type { Tx } from "../storage/database.ts";
import { fairWalk } from "../storage/fair-walk.ts";
import { prepare, type Sql } from "../storage/sql.ts";
import type { Environment } from "../storage/owner.ts";

/** An id for a delivery: the first half of its event's, with the time, and a second half of its own. */
export const deliveryId = (eventId: string): string => `(left(${eventId}::text, 18) || right(gen_random_uuid()::text, 18))::uuid`;

/** Whether a row is a delivery of an event: by a range of ids, which an index serves. Two nodes may give two events the same first
 *  half in the same millisecond, so the range alone does not tell. */
export const isDeliveryOf = (row: string, eventId: string): string => `
     ${row}.id >= (left(${eventId}::text, 18) || '-0000-000000000000')::uuid
     and ${row}.id <= (left(${eventId}::text, 18) || '-ffff-ffffffffffff')::uuid
     and ${row}.event_id = ${eventId}`;

/** Whether an endpoint's list has a type: by its name, by its kind, or because it has all. */
export const wantsType = (eventTypes: string, type: string): string =>
  `${eventTypes} && array['*', split_part(${type}, '.', 1) || '.*', ${type}]`;

/** Queues a delivery of every event in a relation for each endpoint that subscribes to its type, in the transaction of the event.
 *  Where the database has no endpoint at all, it is not asked for each event. */
export const queueDeliveries = (events: string): string => `
  insert into webhook_queue (id, account_id, environment, endpoint_id, event_id, due_at)
  select ${deliveryId("event.event_id")},
         event.account_id, event.environment, endpoint.id, event.event_id, now()
    from ${events} event
    join webhook_endpoints endpoint on endpoint.account_id = event.account_id
                                   and endpoint.environment = event.environment
                                   and endpoint.status = 'enabled'
   where (select true from webhook_endpoints limit 1)
     and ${wantsType("endpoint.event_types", "event.event_type")}
     and ${IS_EVENT("event.event_type", "event.record")}
  returning 1`;

/** The result of a statement that names its items by their ordinals, counted from one, and has a zero if it queued a delivery. */
export type Ordinals = { done: ReadonlySet<number>; isTold: boolean };

export function readOrdinals(rows: readonly { ordinal: number }[]): Ordinals {
  const done = new Set<number>();
  let isTold = false;
  for (const { ordinal } of rows) {
    if (ordinal === 0) isTold = true;
    else done.add(ordinal - 1);
  }
  return { done, isTold };
}

export type NewEvent = { accountId: Uuid; environment: Environment; id: Uuid; type: string; record: string };

const publishToAll = batchStatement<NewEvent>(
  [
    column("account_id", "uuid", ({ accountId }) => accountId),
    column("environment", "text", ({ environment }) => environment),
    column("id", "uuid", ({ id }) => id),
    column("type", "text", ({ type }) => type),
    column("record", "text", ({ record }) => record),
  ],
  (items) => `
with accepted as (${insertEvents(items)}
), delivery as (${queueDeliveries("accepted")}
)
select 1`,
);

/** Events that are not messages', each told to every endpoint that wants it. */
export const publishEvents = async (tx: Tx, events: readonly NewEvent[]): Promise<void> => {
  if (events.length > 0) await tx.rows(publishToAll(events));
};

export const publishEvent = (tx: Tx, event: NewEvent): Promise<void> => publishEvents(tx, [event]);

const publishToOne = prepare(`
with accepted as (${insertEvent}
)
insert into webhook_queue (id, account_id, environment, endpoint_id, event_id, due_at)
select ${deliveryId("event_id")}, account_id, environment, $6, event_id, now()
  from accepted`);

/** An event that one endpoint alone is told of, whether it wants it or not. */
export const publishEventTo = async (tx: Tx, { accountId, environment, id, type, record }: NewEvent, endpointId: Uuid): Promise<void> => {
  await tx.rows({ ...publishToOne, values: [accountId, environment, id, type, record, endpointId] });
};

/** A look at the queue reaches so many endpoints of a kind at most; the next one goes on where it ended. */
export const MAX_ENDPOINTS = 64;

/** The endpoints that have rows, each with its longest waiting row, whether that is due or not. */
const walk = (name: string, isRetry: boolean, cursor: string): string =>
  fairWalk({
    name,
    queue: "webhook_queue",
    condition: `q.is_retry = ${isRetry}`,
    group: "endpoint_id",
    cursor,
    most: MAX_ENDPOINTS,
    first: { by: "due_at", columns: { account_id: "uuid", environment: 'text collate "C"', due_at: "timestamptz" } },
  });

/** Endpoints with rows, as the relation `waiting` that `select` reads: those with new ones after $1, with others after $2. */
export const waitingStatement = (select: string): ((afterNew: Uuid, afterRetry: Uuid) => Sql) => {
  const statement = prepare(`
with recursive ${walk("fresh", false, "$1")},${walk("again", true, "$2")},
waiting as (
  select account_id, environment, endpoint_id, due_at <= now() as is_due, false as is_retry, place from fresh where place > 0
  union all
  select account_id, environment, endpoint_id, due_at <= now(), true, place from again where place > 0
)
${select}`);
  return (afterNew, afterRetry) => ({ ...statement, values: [afterNew, afterRetry] });
};

/** So many due rows of an endpoint; of one that is gone or disabled, due or not. */
export type Share = { endpointId: Uuid; isRetry: boolean; isOver: boolean; most: number };

/** Takes due rows into this process's hands, for as long as a lease lasts, as the relation `claimed` that `select` reads. */
export const claimSharesStatement = (leaseMs: number, select: string): ((shares: readonly Share[]) => Sql) =>
  batchStatement<Share>(
    [
      column("endpoint_id", "uuid", ({ endpointId }) => endpointId),
      column("is_retry", "boolean", ({ isRetry }) => isRetry),
      column("is_over", "boolean", ({ isOver }) => isOver),
      column("most", "integer", ({ most }) => most),
    ],
    (items) => `
with picked as materialized (
  select due.id
    from ${items}
   cross join lateral (select q.id
                         from webhook_queue q
                        where q.is_retry = item.is_retry and q.endpoint_id = item.endpoint_id
                          and q.due_at <= case when item.is_over then 'infinity' else now() end
                        order by q.due_at
                        limit item.most
                          for update skip locked) due
), claimed as (
  update webhook_queue q
     set due_at = now() + ${leaseMs} * interval '1 millisecond'
    from picked
   where q.id = picked.id
  returning q.id, q.account_id, q.environment, q.endpoint_id, q.event_id, q.is_retry, q.attempts
)
${select}`,
  );

const release = batchStatement<Uuid>(
  [column("id", "uuid", (id) => id)],
  (items) => `
update webhook_queue q
   set due_at = now()
  from ${items}
 where q.id = item.id`,
);

/** No longer at it: anybody may. */
export const releaseStatement = (ids: readonly Uuid[]): Sql => release(ids);
