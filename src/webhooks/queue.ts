/** All SQL that claims webhook deliveries: which endpoints have rows in the queue, and a share of the rows for each. */
import type { StoredEvent } from "../events/event.ts";
import { EVENT_COLUMNS } from "../events/queries.ts";
import type { AccountId, DeliveryId, EndpointId, EventId } from "../lib/id.ts";
import type { Trace } from "../lib/trace.ts";
import { traceOfEvent } from "../messages/rows.ts";
import { batchStatement, column } from "../storage/batch.ts";
import type { Queryable } from "../storage/database.ts";
import { fairWalk } from "../storage/fair-walk.ts";
import type { Environment } from "../storage/owner.ts";
import { prepare, sql, type Sql } from "../storage/sql.ts";
import { ENDPOINT_COLUMNS, type EndpointRow } from "./endpoint-queries.ts";

/** An endpoint with rows in the queue. A deleted endpoint has only nulls; its rows are to be dropped. */
export type WaitingRow = { is_retry: boolean; is_due: boolean; place: number; endpoint_id: EndpointId } & (EndpointRow | { id: null });

/** How many due rows of an endpoint to claim. `isUncallable`: the endpoint is deleted or disabled, and its rows need not be due. */
export type Share = { endpointId: EndpointId; isRetry: boolean; isUncallable: boolean; most: number };

export type ClaimedRow = {
  id: DeliveryId;
  account_id: AccountId;
  environment: Environment;
  endpoint_id: EndpointId;
  event_id: EventId;
  is_retry: boolean;
  attempts: number;
  /** The end of the lease. It identifies the claim: the next claim and a requested retry set another time. */
  leased_until: Date;
} & Pick<StoredEvent, "sequence" | "previous_status" | "fallback_message_id"> & {
    type: string | null;
    record: string | null;
    trace: Trace | null;
  };

export type ClaimShares = (db: Queryable, shares: readonly Share[]) => Promise<ClaimedRow[]>;

/** A search finds so many endpoints at most with first attempts, and as many with retries. The next search goes on where it ended. */
export const MAX_ENDPOINTS = 64;

/** The endpoints that have rows, each with the row that became or becomes due first. */
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

const waiting = prepare(`
with recursive
${walk("fresh", false, "$1")},
${walk("again", true, "$2")},
waiting as (
  select account_id, environment, endpoint_id, due_at <= now() as is_due, false as is_retry, place
    from fresh
   where place > 0
  union all
  select account_id, environment, endpoint_id, due_at <= now(), true, place
    from again
   where place > 0
)
select waiting.is_retry, waiting.is_due, waiting.place, waiting.endpoint_id, ${ENDPOINT_COLUMNS}
  from waiting
  left join lateral (select *
                       from webhook_endpoints known
                      where known.account_id = waiting.account_id and known.environment = waiting.environment
                        and known.id = waiting.endpoint_id
                      limit 1) e on true
 order by waiting.is_retry, waiting.place`);

/** Endpoints with rows in the queue: with first attempts after one endpoint, with retries after another. */
export const findWaiting = (db: Queryable, afterNew: EndpointId, afterRetry: EndpointId): Promise<WaitingRow[]> =>
  db.rows<WaitingRow>({ ...waiting, values: [afterNew, afterRetry] });

/** Claims rows for as long as the lease lasts, and reads their events. A lease ends at a full millisecond, which a `Date` represents
 *  exactly. */
export const webhookClaimStatement = (leaseMs: number): ((shares: readonly Share[]) => Sql) =>
  batchStatement<Share>(
    [
      column("endpoint_id", "uuid", ({ endpointId }) => endpointId),
      column("is_retry", "boolean", ({ isRetry }) => isRetry),
      column("is_uncallable", "boolean", ({ isUncallable }) => isUncallable),
      column("most", "integer", ({ most }) => most),
    ],
    (items) => `
with picked as materialized (
  select due.id
    from ${items}
   cross join lateral (select q.id
                         from webhook_queue q
                        where q.is_retry = item.is_retry and q.endpoint_id = item.endpoint_id
                          and q.due_at <= case when item.is_uncallable then 'infinity' else now() end
                        order by q.due_at
                        limit item.most
                          for update skip locked) due
), claimed as (
  update webhook_queue q
     set due_at = date_trunc('milliseconds', now()) + ${leaseMs} * interval '1 millisecond'
    from picked
   where q.id = picked.id
  returning q.id, q.account_id, q.environment, q.endpoint_id, q.event_id, q.is_retry, q.attempts,
            q.due_at as leased_until
)
select claimed.*, event.type, event.sequence, event.record, event.previous_status, event.fallback_message_id,
       event.trace
  from claimed
  left join lateral (select ${EVENT_COLUMNS},${traceOfEvent("e")} as trace
                       from events e
                      where e.account_id = claimed.account_id and e.environment = claimed.environment
                        and e.id = claimed.event_id
                      limit 1) event on true
 order by claimed.id`,
  );

export function claimSharesFor(leaseMs: number): ClaimShares {
  const claim = webhookClaimStatement(leaseMs);
  return (db, shares) => db.rows<ClaimedRow>(claim(shares));
}

/** A claim of one row. */
export type DeliveryClaim = Pick<ClaimedRow, "id" | "leased_until">;

const release = batchStatement<DeliveryClaim>(
  [column("id", "uuid", ({ id }) => id), column("leased_until", "timestamptz", (claim) => claim.leased_until.getTime())],
  (items) => `
update webhook_queue q
   set due_at = now()
  from ${items}
 where q.id = item.id and q.due_at = item.leased_until`,
);

/** Ends the leases of these claims: any node may claim the rows at once. */
export const releaseRows = async (db: Queryable, claims: readonly DeliveryClaim[]): Promise<void> => {
  await db.rows(release(claims));
};

// The count ends here: a greater number says only "very many", and counting costs time.
const MAX_DEPTH = 100_000;

type QueueDepth = { rows: number; retries: number; oldest_due_seconds: number };

/** How many deliveries wait, and for how long the oldest has been due. */
export const readQueueDepth = (db: Queryable): Promise<QueueDepth[]> =>
  db.rows<QueueDepth>(sql`
  select count(*)::integer as rows, (count(*) filter (where is_retry))::integer as retries,
         coalesce(greatest(0, extract(epoch from now() - min(due_at))), 0)::float8 as oldest_due_seconds
    from (select is_retry, due_at from webhook_queue limit ${MAX_DEPTH}) q`);
