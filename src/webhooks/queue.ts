/** All SQL that claims webhook deliveries: the endpoints that have rows in the queue, and a share of the rows for each. */
import type { EventFacts } from "../events/event.ts";
import { FALLBACK_ID } from "../events/queries.ts";
import { idKey, type AccountId, type DeliveryId, type EndpointId, type EventId } from "../model/id.ts";
import type { Trace } from "../lib/trace.ts";
import { batchStatement, column } from "../database/batch.ts";
import type { Queryable } from "../database/database.ts";
import type { Environment, Owner } from "../model/owner.ts";
import type { StoredRow } from "../database/row-reader.ts";
import { sql } from "../database/sql.ts";
import { IS_READABLE, JOIN_MESSAGE, RECORD_COLUMNS, recordText, type RecordRow } from "../database/stored-record.ts";
import type { DueGroup, Share } from "../queue/waiting-groups.ts";
import { ENDPOINT_COLUMNS, toEndpoint } from "./endpoint-queries.ts";
import type { Endpoint } from "./endpoint.ts";

/** An endpoint that has rows in the queue, with its id as a key. */
export type QueuedEndpoint = Owner & { key: string; endpointId: EndpointId };

/** The ranks of the rows of an endpoint: new deliveries, and retries. */
export const FRESH = 0;
export const RETRY = 1;

export const queuedEndpoint = (accountId: AccountId, environment: Environment, endpointId: EndpointId): QueuedEndpoint => ({
  key: idKey(endpointId),
  accountId,
  environment,
  endpointId,
});

export type EndpointRow = { account_id: AccountId; environment: Environment; endpoint_id: EndpointId };

export const endpointOfRow = (row: EndpointRow): QueuedEndpoint => queuedEndpoint(row.account_id, row.environment, row.endpoint_id);

export type ClaimedRow = EndpointRow & {
  id: DeliveryId;
  event_id: EventId;
  is_retry: boolean;
  attempts: number;
  /** The end of the lease. It identifies the claim: the next claim and a requested retry set another time. */
  leased_until: Date;
  /** When the row became due before the claim. */
  was_due_at: Date;
} & Pick<EventFacts, "sequence" | "previous_status" | "fallback_message_id"> & {
    type: string | null;
    /** The whole record. Null if the event does not exist any more. */
    record: string | null;
    trace: Trace | null;
  };

const endpointsOf = batchStatement<QueuedEndpoint>(
  [
    column("account_id", "uuid", ({ accountId }) => accountId),
    column("environment", "text", ({ environment }) => environment),
    column("endpoint_id", "uuid", ({ endpointId }) => endpointId),
  ],
  (items) => `
select ${ENDPOINT_COLUMNS}
  from ${items}
 cross join lateral (select *
                       from webhook_endpoints known
                      where known.account_id = item.account_id and known.environment = item.environment
                        and known.id = item.endpoint_id
                      limit 1) e`,
);

/** Reads the endpoints whose deliveries are to be claimed, without those that were deleted. */
export async function readEndpointsOf(db: Queryable, queued: readonly QueuedEndpoint[]): Promise<Map<string, Endpoint>> {
  const endpoints = (await db.rows<StoredRow>(endpointsOf(queued))).map(toEndpoint);
  return new Map(endpoints.map((endpoint) => [idKey(endpoint.id), endpoint]));
}

/** Reads the whole queue for the endpoints that have deliveries in it. The deliveries of deleted and disabled endpoints count as due.
 *  The condition on `ctid` makes PostgreSQL read the table page by page. An index would lead it to every deleted row that an old snapshot
 *  still needs. */
export async function scanEndpoints(db: Queryable, nowMs: number): Promise<DueGroup<QueuedEndpoint>[]> {
  const rows = await db.rows<EndpointRow & { is_retry: boolean; due_at: Date; is_callable: boolean }>(sql`
  select q.account_id, q.environment, q.endpoint_id, q.is_retry, q.due_at, coalesce(e.status = 'enabled', false) as is_callable
    from (select account_id, environment, endpoint_id, is_retry, min(due_at) as due_at
            from webhook_queue
           where ctid >= '(0,0)'::tid
           group by account_id, environment, endpoint_id, is_retry) q
    left join lateral (select status
                         from webhook_endpoints known
                        where known.account_id = q.account_id and known.environment = q.environment and known.id = q.endpoint_id
                        limit 1) e on true`);
  return rows.map((row) => ({
    rank: row.is_retry ? RETRY : FRESH,
    group: endpointOfRow(row),
    dueAtMs: row.is_callable ? row.due_at.getTime() : Math.min(row.due_at.getTime(), nowMs),
  }));
}

/** `untilMs`: rows that are due later are not claimed; null for an endpoint that is deleted or disabled, whose rows are all claimed. */
type TimedShare = Share<QueuedEndpoint> & { untilMs: number | null; leasedUntilMs: number };

/** Claims rows for as long as the lease lasts, and reads their events. A lease ends at a full millisecond, which a `Date` represents
 *  exactly. */
export const webhookClaimStatement = batchStatement<TimedShare>(
  [
    column("endpoint_id", "uuid", ({ group }) => group.endpointId),
    column("is_retry", "boolean", ({ rank }) => rank === RETRY),
    column("from_at", "timestamptz", ({ fromMs }) => fromMs),
    column("until", "timestamptz", ({ untilMs }) => untilMs),
    column("most", "integer", ({ most }) => most),
    column("leased_until", "timestamptz", ({ leasedUntilMs }) => leasedUntilMs),
  ],
  (items) => `
with picked as materialized (
  select due.id, due.due_at, item.leased_until
    from ${items}
   cross join lateral (select q.id, q.due_at
                         from webhook_queue q
                        where q.is_retry = item.is_retry and q.endpoint_id = item.endpoint_id
                          and q.due_at >= item.from_at and q.due_at <= coalesce(item.until, 'infinity')
                        order by q.due_at
                        limit item.most
                          for update skip locked) due
), claimed as (
  update webhook_queue q
     set due_at = picked.leased_until
    from picked
   where q.id = picked.id
  returning q.id, q.account_id, q.environment, q.endpoint_id, q.event_id, q.is_retry, q.attempts,
            q.due_at as leased_until, picked.due_at as was_due_at
)
select claimed.*, event.*
  from claimed
  left join lateral (select ${RECORD_COLUMNS}, e.previous_status,${FALLBACK_ID}
                       from events e${JOIN_MESSAGE}
                      where e.account_id = claimed.account_id and e.environment = claimed.environment
                        and e.id = claimed.event_id
                        and ${IS_READABLE}
                      limit 1) event on true
 order by claimed.id`,
);

export async function claimShares(db: Queryable, shares: readonly TimedShare[]): Promise<ClaimedRow[]> {
  const rows = await db.rows<Omit<ClaimedRow, "record" | "type"> & RecordRow>(webhookClaimStatement(shares));
  return rows.map((row) => ({
    id: row.id,
    account_id: row.account_id,
    environment: row.environment,
    endpoint_id: row.endpoint_id,
    event_id: row.event_id,
    is_retry: row.is_retry,
    attempts: row.attempts,
    leased_until: row.leased_until,
    was_due_at: row.was_due_at,
    type: row.type,
    sequence: row.sequence,
    record: readableRecord(row),
    previous_status: row.previous_status,
    fallback_message_id: row.fallback_message_id,
    trace: row.trace,
  }));
}

/** A stored record that cannot be read must not keep the other rows of its claim from being called. */
function readableRecord(row: RecordRow): string | null {
  try {
    return recordText(row);
  } catch {
    return null;
  }
}

export type DeliveryClaim = Pick<ClaimedRow, "id" | "leased_until">;

const release = batchStatement<DeliveryClaim & { dueAtMs: number }>(
  [
    column("id", "uuid", ({ id }) => id),
    column("leased_until", "timestamptz", (claim) => claim.leased_until.getTime()),
    column("due_at", "timestamptz", ({ dueAtMs }) => dueAtMs),
  ],
  (items) => `
update webhook_queue q
   set due_at = item.due_at
  from ${items}
 where q.id = item.id and q.due_at = item.leased_until`,
);

/** Ends the leases of these claims: any node may claim the rows at once. */
export const releaseRows = (db: Queryable, claims: readonly DeliveryClaim[], dueAtMs: number): Promise<unknown> =>
  db.rows(release(claims.map(({ id, leased_until: until }) => ({ id, leased_until: until, dueAtMs }))));

// The count ends here: a greater number says only "very many", and counting costs time.
const MAX_DEPTH = 100_000;

type QueueDepth = { rows: number; retries: number; oldest_due_seconds: number };

/** How many deliveries wait, and for how long the oldest has been due. */
export const readQueueDepth = (db: Queryable): Promise<QueueDepth[]> =>
  db.rows<QueueDepth>(sql`
  select count(*)::integer as rows, (count(*) filter (where is_retry))::integer as retries,
         coalesce(greatest(0, extract(epoch from now() - min(due_at))), 0)::float8 as oldest_due_seconds
    from (select is_retry, due_at from webhook_queue where ctid >= '(0,0)'::tid limit ${MAX_DEPTH}) q`);
