/** Publishes events: the transaction of an event also queues a delivery for each endpoint that subscribes to its type. */
import type { AccountId, DeliveryId, EndpointId, EventId, MessageId } from "../model/id.ts";
import { uuidTimeMs } from "../lib/uuid.ts";
import { batchStatement, column } from "../database/batch.ts";
import type { Tx } from "../database/database.ts";
import type { Environment, Owner } from "../model/owner.ts";
import { prepare } from "../database/sql.ts";
import { insertEvent, insertEvents, IS_EVENT } from "./queries.ts";

/** SQL for a new id of a delivery: the first half, with the time, from its event, and a random second half. */
export const deliveryId = (eventId: string): string => `(left(${eventId}::text, 18) || right(gen_random_uuid()::text, 18))::uuid`;

/** Whether a row is a delivery of an event. The range of ids uses an index. Two nodes may give two events of the same millisecond the same
 *  first half, so the id of the event is compared as well. */
export const isDeliveryOf = (row: string, eventId: string): string => `
     ${row}.id >= (left(${eventId}::text, 18) || '-0000-000000000000')::uuid
     and ${row}.id <= (left(${eventId}::text, 18) || '-ffff-ffffffffffff')::uuid
     and ${row}.event_id = ${eventId}`;

/** Whether the list of an endpoint includes a type: by its name, by its kind, or as `*`. */
const wantsType = (eventTypes: string, type: string): string => `${eventTypes} && array['*', split_part(${type}, '.', 1) || '.*', ${type}]`;

/** Whether the list includes a type other than by `*`. Endpoints get entries of the audit log only if they name them. */
const namesType = (eventTypes: string, type: string): string => `${eventTypes} && array[split_part(${type}, '.', 1) || '.*', ${type}]`;

/** Whether an endpoint gets an event of any type. */
export const wantsAnyType = (eventTypes: string, type: string): string =>
  `case when ${type} = 'audit.created' then ${namesType(eventTypes, type)} else ${wantsType(eventTypes, type)} end`;

/** Queues a delivery of every event in a relation for each endpoint that subscribes to its type, in the transaction of the event. The
 *  delivery is due at once by both clocks: its due time is the earlier of the node's time and the database's. `time` is the column with the
 *  node's time. A database without endpoints is not queried for each event. `offer`: the name of a relation that `selectOffer` selects. */
export const queueDeliveries = (events: string, time: string, { wants = wantsType, offer }: QueueOptions = {}): string => `
  insert into webhook_queue (id, account_id, environment, endpoint_id, event_id, due_at)
  select ${deliveryId("event.event_id")},
         event.account_id, event.environment, endpoint.id, event.event_id, ${offer === undefined ? dueAtOnce(time) : leasedTo(offer, time)}
    from ${events} event
    join webhook_endpoints endpoint on endpoint.account_id = event.account_id
                                   and endpoint.environment = event.environment
                                   and endpoint.status = 'enabled'
   where (select true from webhook_endpoints limit 1)
     and ${wants("endpoint.event_types", "event.event_type")}
     and ${IS_EVENT("event.event_type", "event.record")}
  returning id, event_id, endpoint_id, account_id, environment, due_at`;

type QueueOptions = { wants?: typeof wantsType; offer?: string };

const dueAtOnce = (time: string): string => `least(event.${time}, now())`;

const leasedTo = (offer: string, time: string): string => `
         case when endpoint.id = any ((select endpoints from ${offer})::uuid[])
              then (select leased_until from ${offer})
              else ${dueAtOnce(time)}
         end`;

/** Selects what the worker of this process takes over (`handover.ts`), from the parameters of the statement. */
export const selectOffer = (leasedUntil: string, endpoints: string): string => `
  select ${leasedUntil}::timestamptz as leased_until, ${endpoints}::uuid[] as endpoints`;

/** An endpoint for which deliveries were queued, and when the first of them is due. */
export type QueuedDeliveries = Owner & { endpointId: EndpointId; dueAtMs: number };

/** Tells the webhook workers that deliveries were queued. Without the endpoints the workers search for them. */
export type WakeWebhooks = (queued?: readonly QueuedDeliveries[]) => void;

/** The columns of the deliveries that a statement queued, empty in the rows of its items. */
export const NO_DELIVERIES = `
       null::uuid as endpoint_id, null::uuid as account_id, null::text as environment, null::timestamptz as due_at,
       null::uuid as delivery_id, null::uuid as event_id`;

/** Selects the columns from the relation of the queued deliveries: a row for each endpoint, and a row for each delivery that this process has
 *  leased. */
export const selectDeliveries = (delivery: string, before: string, offer: string): string => `
select ${before}, endpoint_id, account_id, environment, min(due_at), null, null
  from ${delivery}
 where due_at is distinct from (select leased_until from ${offer})
 group by endpoint_id, account_id, environment
union all
select ${before}, endpoint_id, account_id, environment, due_at, id, event_id
  from ${delivery}
 where due_at = (select leased_until from ${offer})`;

export type OrdinalRow = {
  ordinal: number;
  endpoint_id: EndpointId;
  account_id: AccountId;
  environment: Environment;
  due_at: Date;
  delivery_id: DeliveryId | null;
  event_id: EventId;
};

/** A delivery that this process has leased. */
type HandedRow = Owner & { id: DeliveryId; endpointId: EndpointId; eventId: EventId };

/** The result of a statement that names its items by their ordinals, counted from one. Rows with a zero are endpoints and deliveries. */
export type Ordinals = { done: ReadonlySet<number>; deliveries: readonly QueuedDeliveries[]; handed: readonly HandedRow[] };

export function readOrdinals(rows: readonly OrdinalRow[]): Ordinals {
  const done = new Set<number>();
  const deliveries: QueuedDeliveries[] = [];
  const handed: HandedRow[] = [];
  for (const row of rows) {
    const { endpoint_id: endpointId, account_id: accountId, environment, delivery_id: id } = row;
    if (row.ordinal > 0) done.add(row.ordinal - 1);
    else if (id !== null) handed.push({ id, endpointId, accountId, environment, eventId: row.event_id });
    else deliveries.push({ endpointId, accountId, environment, dueAtMs: row.due_at.getTime() });
  }
  return { done, deliveries, handed };
}

/** `messageId`: the message in whose timeline the event is, if it is about a part of one. */
export type NewEvent = Owner & { id: EventId; type: string; record: string; messageId?: MessageId | null };

/** Inserts events and queues their deliveries. `where` selects the events to insert. */
const publishTo = (wants: typeof wantsType, where = "") =>
  batchStatement<NewEvent>(
    [
      column("account_id", "uuid", ({ accountId }) => accountId),
      column("environment", "text", ({ environment }) => environment),
      column("id", "uuid", ({ id }) => id),
      column("type", "text", ({ type }) => type),
      column("message_id", "uuid", ({ messageId }) => messageId ?? null),
      column("record", "text", ({ record }) => record),
      column("created_at", "timestamptz", ({ id }) => uuidTimeMs(id)),
    ],
    (items) => `
with inserted as (${insertEvents(items)}${where}
), accepted as (
  select item.account_id, item.environment, item.id as event_id, item.type as event_type, item.record, item.created_at
    from ${items}${where}
), delivery as (${queueDeliveries("accepted", "created_at", { wants })}
)
select 1`,
  );

const publishToAll = publishTo(wantsType);
const publishToNaming = publishTo(
  namesType,
  `
   where exists (select
                   from webhook_endpoints endpoint
                  where endpoint.account_id = item.account_id and endpoint.environment = item.environment
                    and ${namesType("endpoint.event_types", "item.type")})`,
);

/** Publishes events that are no change of a message, with a delivery for each endpoint that subscribes. */
export const publishEvents = async (tx: Tx, events: readonly NewEvent[]): Promise<void> => {
  if (events.length > 0) await tx.rows(publishToAll(events));
};

/** Publishes an entry of the audit log for the endpoints that name its type. Without such an endpoint there is no event. */
export const publishAuditEvent = (tx: Tx, event: NewEvent): Promise<unknown> => tx.rows(publishToNaming([event]));

export const publishEvent = (tx: Tx, event: NewEvent): Promise<void> => publishEvents(tx, [event]);

const publishToOne = prepare(`
with accepted as (${insertEvent}
)
insert into webhook_queue (id, account_id, environment, endpoint_id, event_id, due_at)
select ${deliveryId("event_id")}, account_id, environment, $6, event_id, least($7::timestamptz, now())
  from accepted`);

/** Publishes an event for only one endpoint, whether it subscribes to the type or not. */
export const publishEventTo = (tx: Tx, { accountId, environment, id, type, record }: NewEvent, endpointId: EndpointId): Promise<unknown> =>
  tx.rows({ ...publishToOne, values: [accountId, environment, id, type, record, endpointId, new Date(uuidTimeMs(id))] });
