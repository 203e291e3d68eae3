/** All SQL of webhook deliveries except the claims (queue.ts): lists, results of attempts, retries and recovery. */
import { deliveryId, isDeliveryOf, wantsAnyType } from "../events/publish.ts";
import { IS_EVENT } from "../events/queries.ts";
import type { DeliveryId, EventId } from "../model/id.ts";
import type { Uuid } from "../lib/uuid.ts";
import { batchStatement, column, limitLockWait } from "../database/batch.ts";
import type { Queryable, Tx } from "../database/database.ts";
import type { Owner } from "../model/owner.ts";
import { readPage, scanStatement, type ListPage } from "../database/scan-page.ts";
import { prepare } from "../database/sql.ts";
import type { DeliveryRow } from "./delivery-record.ts";
import type { Endpoint } from "./endpoint.ts";
import type { ClaimedRow, EndpointRow } from "./queue.ts";
import { GIVE_UP_AFTER_MS } from "./schedule.ts";

const DELIVERY_COLUMNS = "d.id, d.endpoint_id, d.event_id, d.event_type, d.status, d.attempts, d.next_attempt_at, d.updated_at";

export const findDelivery = (db: Queryable, { accountId, environment, id }: Endpoint, deliveryUuid: DeliveryId): Promise<DeliveryRow[]> =>
  db.rows<DeliveryRow>({ ...findOneDelivery, values: [accountId, environment, id, deliveryUuid] });

const findOneDelivery = prepare(`
select ${DELIVERY_COLUMNS}
  from webhook_deliveries d
 where d.account_id = $1 and d.environment = $2 and d.endpoint_id = $3 and d.id = $4`);

const listOfEndpoint = scanStatement({
  scan: `
  select id, status
    from webhook_deliveries
   where account_id = $1 and environment = $2 and endpoint_id = $5 and id < $6`,
  filter: "$7::text is null or status = $7",
  whole: `
  select ${DELIVERY_COLUMNS}
    from webhook_deliveries d
   where d.account_id = $1 and d.environment = $2 and d.endpoint_id = $5 and d.id = found.id`,
});

/** A page of an endpoint's deliveries, newest first. */
export const listDeliveries = (
  db: Queryable,
  endpoint: Endpoint,
  { before, status }: { before: Uuid; status: string | null },
  limit: number,
): Promise<ListPage<DeliveryRow>> =>
  readPage<DeliveryRow>(db, listOfEndpoint, {
    owner: endpoint,
    limit,
    isFiltered: status !== null,
    values: [endpoint.id, before, status],
  });

const ofEvent = prepare(`
select ${DELIVERY_COLUMNS}
  from webhook_endpoints e
  join webhook_deliveries d on d.account_id = e.account_id and d.environment = e.environment and d.endpoint_id = e.id
                           and ${isDeliveryOf("d", "$3::uuid")}
 where e.account_id = $1 and e.environment = $2
 order by d.id desc`);

/** The deliveries of an event to endpoints that still exist. */
export const deliveriesOfEvent = (db: Queryable, { accountId, environment }: Owner, eventId: EventId): Promise<DeliveryRow[]> =>
  db.rows<DeliveryRow>({ ...ofEvent, values: [accountId, environment, eventId] });

/** Locks the row in the queue first, as a settlement does: transactions with different orders could deadlock. */
const again = prepare(`
with queued as (
  insert into webhook_queue (id, account_id, environment, endpoint_id, event_id, is_retry, attempts, due_at)
  select id, account_id, environment, endpoint_id, event_id, true, jsonb_array_length(attempts), $5::timestamptz
    from webhook_deliveries
   where account_id = $1 and environment = $2 and endpoint_id = $3 and id = $4
  on conflict (id) do update
     set is_retry = true, due_at = excluded.due_at
  returning id
)
update webhook_deliveries d
   set status = 'pending', next_attempt_at = $5, updated_at = $5
  from queued
 where d.account_id = $1 and d.environment = $2 and d.endpoint_id = $3 and d.id = queued.id
returning ${DELIVERY_COLUMNS}`);

/** Queues a delivery again, or makes it due now if it is in the queue. */
export const queueAgain = (
  tx: Tx,
  { accountId, environment, id }: Endpoint,
  deliveryUuid: DeliveryId,
  nowMs: number,
): Promise<DeliveryRow[]> => tx.rows<DeliveryRow>({ ...again, values: [accountId, environment, id, deliveryUuid, new Date(nowMs)] });

const OUTCOME = { succeeded: 0, later: 1, failed: 2, dropped: 3 } as const;

/** The outcome of a claimed delivery. */
export type Settlement = {
  row: EndpointRow & Pick<ClaimedRow, "id" | "event_id" | "type" | "leased_until">;
  outcome: keyof typeof OUTCOME;
  delayMs: number | null;
  attempts: number;
  /** The attempt as a JSON list, which is empty when there was none. */
  attempt: string;
};

const MAX_KEPT_ATTEMPTS = 50;

/** Settles a delivery only if its row is in the queue and still belongs to the same claim. If another node has claimed the row since, or
 *  a retry was requested, the attempt is stored, and the row stays due or leased. The number of attempts in the row shows that the attempt
 *  is stored: a repeated settlement, after a commit whose result was lost, changes nothing. The health of an endpoint is written only
 *  with its first failure and its first success. */
const settle = batchStatement<Settlement & { nowMs: number }>(
  [
    column("id", "uuid", ({ row }) => row.id),
    column("account_id", "uuid", ({ row }) => row.account_id),
    column("environment", "text", ({ row }) => row.environment),
    column("endpoint_id", "uuid", ({ row }) => row.endpoint_id),
    column("event_id", "uuid", ({ row }) => row.event_id),
    column("event_type", "text", ({ row }) => row.type ?? ""),
    column("leased_until", "timestamptz", ({ row }) => row.leased_until.getTime()),
    column("outcome", "smallint", ({ outcome }) => OUTCOME[outcome]),
    column("next_at", "timestamptz", ({ nowMs, delayMs }) => (delayMs === null ? null : nowMs + delayMs)),
    column("now", "timestamptz", ({ nowMs }) => nowMs),
    column("attempts", "smallint", ({ attempts }) => attempts),
    column("attempt", "text", ({ attempt }) => attempt),
  ],
  (items, lockTimeout) => `
with request as materialized (
  select item.*
    from ${items}
   where ${limitLockWait(lockTimeout)}
), left_queue as (
  delete from webhook_queue q
   using request
   where request.outcome <> ${OUTCOME.later} and q.id = request.id and q.due_at = request.leased_until
  returning request.ordinal
), stayed as (
  update webhook_queue q
     set is_retry = true, attempts = request.attempts, due_at = request.next_at
    from request
   where request.outcome = ${OUTCOME.later} and q.id = request.id and q.due_at = request.leased_until
  returning request.ordinal
), superseded as (
  update webhook_queue q
     set attempts = request.attempts
    from request
   where request.ordinal not in (select ordinal from left_queue union all select ordinal from stayed)
     and q.id = request.id and q.attempts < request.attempts
  returning request.ordinal
), settled as materialized (
  select request.*, request.ordinal in (select ordinal from superseded) as is_superseded
    from request
   where ordinal in (select ordinal from left_queue union all select ordinal from stayed)
      or ordinal in (select ordinal from superseded)
), recorded as (
  insert into webhook_deliveries as d
         (account_id, environment, endpoint_id, id, event_id, event_type, status, attempts, next_attempt_at, updated_at)
  select account_id, environment, endpoint_id, id, event_id, event_type,
         case when is_superseded or outcome = ${OUTCOME.later} then 'pending'
              when outcome = ${OUTCOME.succeeded} then 'succeeded'
              else 'failed'
         end,
         attempt::jsonb, case when is_superseded then now else next_at end, now
    from settled
   where outcome <> ${OUTCOME.dropped}
  on conflict (account_id, environment, endpoint_id, id) do update
     set status = excluded.status,
         attempts = case when jsonb_array_length(d.attempts) < ${MAX_KEPT_ATTEMPTS} then d.attempts else d.attempts - 0 end || excluded.attempts,
         next_attempt_at = excluded.next_attempt_at,
         updated_at = excluded.updated_at
), well as materialized (
  select distinct account_id, environment, endpoint_id
    from settled
   where outcome = ${OUTCOME.succeeded}
), ill as materialized (
  select distinct account_id, environment, endpoint_id
    from settled
   where outcome in (${OUTCOME.later}, ${OUTCOME.failed}) and attempt <> '[]'
  except
  select account_id, environment, endpoint_id
    from well
), healed as (
  update webhook_endpoints e
     set failing_since = null
    from well
   where e.account_id = well.account_id and e.environment = well.environment and e.id = well.endpoint_id
     and e.failing_since is not null
), sickened as (
  update webhook_endpoints e
     set failing_since = (select now from request limit 1)
    from ill
   where e.account_id = ill.account_id and e.environment = ill.environment and e.id = ill.endpoint_id
     and e.failing_since is null
)
select ill.account_id, ill.environment, ill.endpoint_id
  from ill
  join webhook_endpoints e on e.account_id = ill.account_id and e.environment = ill.environment and e.id = ill.endpoint_id
 where e.status = 'enabled'
   and e.failing_since <= (select now from request limit 1) - ${GIVE_UP_AFTER_MS} * interval '1 millisecond'`,
);

/** Stores the outcomes of deliveries. Returns the endpoints that have failed for too long. */
export const storeSettlements = (
  db: Queryable,
  settlements: readonly Settlement[],
  nowMs: number,
  lockTimeoutMs = 0,
): Promise<EndpointRow[]> =>
  db.rows<EndpointRow>(
    settle(
      settlements.map((settlement) => ({ ...settlement, nowMs })),
      `${lockTimeoutMs}ms`,
    ),
  );

const recoverPage = prepare(`
with page as materialized (
  select id, type, ${IS_EVENT("type", "record")} as is_event
    from events
   where account_id = $1 and environment = $2 and id > $4
   order by id
   limit $5
), known as materialized (
  select page.id as event_id, delivery.id, delivery.status
    from page
    left join lateral (select d.id, d.status
                         from webhook_deliveries d
                        where d.account_id = $1 and d.environment = $2 and d.endpoint_id = $3 and ${isDeliveryOf("d", "page.id")}
                        limit 1) delivery on true
   where page.is_event and page.type <> 'webhook.test' and ${wantsAnyType("$6::text[]", "page.type")}
), queued as (
  insert into webhook_queue (id, account_id, environment, endpoint_id, event_id, is_retry, attempts, due_at)
  select coalesce(known.id, ${deliveryId("known.event_id")}), $1, $2, $3, known.event_id, true, 0, $7::timestamptz
    from known
   where coalesce(known.status, 'failed') = 'failed'
     and not exists (select
                       from webhook_queue q
                      where q.endpoint_id = $3 and ${isDeliveryOf("q", "known.event_id")})
  returning id, event_id
), pending as (
  update webhook_deliveries d
     set status = 'pending', next_attempt_at = $7, updated_at = $7
    from queued
   where d.account_id = $1 and d.environment = $2 and d.endpoint_id = $3 and d.id = queued.id
)
select (select count(*) from page)::integer as looked_at, (select count(*) from queued)::integer as queued,
       (select id from page order by id desc limit 1) as reached`);

export type RecoveredPage = { looked_at: number; queued: number; reached: EventId | null };

/** Reads the next events of a recovery, and queues those that the endpoint has not acknowledged, with all attempts before them. */
export async function recoverNext(tx: Tx, endpoint: Endpoint, nowMs: number, most: number): Promise<RecoveredPage> {
  const { accountId, environment, id, recoverAfter, eventTypes } = endpoint;
  const [row] = await tx.rows<RecoveredPage>({
    ...recoverPage,
    values: [accountId, environment, id, recoverAfter, most, eventTypes, new Date(nowMs)],
  });
  return row ?? { looked_at: 0, queued: 0, reached: null };
}
