/** Publishes events: the transaction of an event also queues a delivery for each endpoint that subscribes to its type. */
import type { EndpointId, EventId } from "../lib/id.ts";
import { batchStatement, column } from "../storage/batch.ts";
import type { Tx } from "../storage/database.ts";
import type { Owner } from "../storage/owner.ts";
import { prepare } from "../storage/sql.ts";
import { insertEvent, insertEvents, IS_EVENT } from "./queries.ts";

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
export type Ordinals = { done: ReadonlySet<number>; hasDeliveries: boolean };

export function readOrdinals(rows: readonly { ordinal: number }[]): Ordinals {
  const done = new Set<number>();
  let hasDeliveries = false;
  for (const { ordinal } of rows) {
    if (ordinal === 0) hasDeliveries = true;
    else done.add(ordinal - 1);
  }
  return { done, hasDeliveries };
}

export type NewEvent = Owner & { id: EventId; type: string; record: string };

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
export const publishEventTo = async (
  tx: Tx,
  { accountId, environment, id, type, record }: NewEvent,
  endpointId: EndpointId,
): Promise<void> => {
  await tx.rows({ ...publishToOne, values: [accountId, environment, id, type, record, endpointId] });
};
