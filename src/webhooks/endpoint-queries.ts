/** All SQL of endpoints. */
import type { EndpointId } from "../model/id.ts";
import type { Uuid } from "../lib/uuid.ts";
import type { Queryable, Tx } from "../database/database.ts";
import { lockOwner, OWNER_LOCKS } from "../database/locks.ts";
import type { Owner } from "../model/owner.ts";
import { rowReader, type StoredRow } from "../database/row-reader.ts";
import { prepare, sql } from "../database/sql.ts";
import type { Endpoint } from "./endpoint.ts";

/** An expired previous secret reads as null. */
export const ENDPOINT_COLUMNS = `e.account_id, e.environment, e.id, e.source, e.url, e.description, e.event_types, e.status, e.disabled_reason, e.secret,
       case when e.previous_secret_until > now() then e.previous_secret end as previous_secret,
       case when e.previous_secret_until > now() then e.previous_secret_until end as previous_secret_until,
       e.failing_since, e.recover_after, e.recover_until, e.updated_at, e.created_by`;

export const toEndpoint = rowReader<Endpoint>(ENDPOINT_COLUMNS, ["previousSecretUntilMs", "failingSinceMs", "updatedAtMs"]);

/** Counts the endpoints of an environment. Other transactions that add one wait for this transaction. */
export async function countEndpoints(tx: Tx, owner: Owner): Promise<number> {
  const { accountId, environment } = owner;
  await lockOwner(tx, OWNER_LOCKS.endpoints, owner);
  const [row] = await tx.rows<{ count: number }>(sql`
  select count(*)::integer as count
    from webhook_endpoints
   where account_id = ${accountId} and environment = ${environment}`);
  return row?.count ?? 0;
}

export const insertEndpoint = (tx: Tx, endpoint: Endpoint): Promise<unknown[]> =>
  tx.rows(sql`
  insert into webhook_endpoints (account_id, environment, id, source, url, description, event_types, status, secret, updated_at, created_by)
  values (${endpoint.accountId}, ${endpoint.environment}, ${endpoint.id}, ${endpoint.source}, ${endpoint.url}, ${endpoint.description},
          ${endpoint.eventTypes}::text[], ${endpoint.status}, ${endpoint.secret}, to_timestamp(${endpoint.updatedAtMs / 1_000}::float8),
          ${endpoint.createdBy})`);

const find = (suffix: string) => {
  const statement = prepare(`
select ${ENDPOINT_COLUMNS}
  from webhook_endpoints e
 where e.account_id = $1 and e.environment = $2 and e.id = $3${suffix}`);
  return async (db: Queryable, { accountId, environment }: Owner, id: EndpointId): Promise<Endpoint | undefined> => {
    const [row] = await db.rows<StoredRow>({ ...statement, values: [accountId, environment, id] });
    return row && toEndpoint(row);
  };
};

export const findEndpoint = find("");
/** Locks an endpoint until the transaction ends. */
export const lockEndpoint = find("\n   for update");
/** Locks an endpoint against changes other than its health, until the transaction ends. A settlement writes the health after it has
 *  locked a row of the queue. A caller that needs such a row would deadlock with it if it had locked the whole endpoint before. */
export const holdEndpoint = find("\n   for key share");

const list = prepare(`
select ${ENDPOINT_COLUMNS}
  from webhook_endpoints e
 where e.account_id = $1 and e.environment = $2 and e.id < $3
 order by e.id desc
 limit $4`);

export const listEndpoints = async (db: Queryable, { accountId, environment }: Owner, before: Uuid, limit: number): Promise<Endpoint[]> =>
  (await db.rows<StoredRow>({ ...list, values: [accountId, environment, before, limit] })).map(toEndpoint);

/** Writes everything of an endpoint that can change. */
export const storeEndpoint = (tx: Tx, endpoint: Endpoint): Promise<unknown[]> => {
  const { failingSinceMs, previousSecretUntilMs } = endpoint;
  return tx.rows(sql`
  update webhook_endpoints
     set url = ${endpoint.url}, description = ${endpoint.description}, event_types = ${endpoint.eventTypes}::text[],
         status = ${endpoint.status}, disabled_reason = ${endpoint.disabledReason}, secret = ${endpoint.secret},
         previous_secret = ${endpoint.previousSecret},
         previous_secret_until = to_timestamp(${previousSecretUntilMs === null ? null : previousSecretUntilMs / 1_000}::float8),
         failing_since = to_timestamp(${failingSinceMs === null ? null : failingSinceMs / 1_000}::float8),
         recover_after = ${endpoint.recoverAfter}, recover_until = ${endpoint.recoverUntil},
         updated_at = to_timestamp(${endpoint.updatedAtMs / 1_000}::float8)
   where account_id = ${endpoint.accountId} and environment = ${endpoint.environment} and id = ${endpoint.id}`);
};

export const deleteEndpoint = (db: Queryable, { accountId, environment }: Owner, id: EndpointId): Promise<{ id: EndpointId }[]> =>
  db.rows<{ id: EndpointId }>(sql`
  delete from webhook_endpoints
   where account_id = ${accountId} and environment = ${environment} and id = ${id}
  returning id`);

/** An endpoint with a recovery. The end of the recovery tells it apart from a later one of the same endpoint. */
export type Recovering = { id: EndpointId; recover_until: Uuid };

const recovering = prepare(`
select id, recover_until
  from webhook_endpoints
 where recover_after is not null
 order by updated_at
 limit 1`);

/** The endpoint whose recovery has waited longest for its next page. */
export async function findRecovering(db: Queryable): Promise<Recovering | undefined> {
  const [row] = await db.rows<Recovering>({ ...recovering, values: [] });
  return row;
}

/** Locks an endpoint for a page of its recovery, so that one node works on it. Undefined if another node does, or the recovery has
 *  ended or begun anew. */
export async function lockRecovering(tx: Tx, { id, recover_until: until }: Recovering): Promise<Endpoint | undefined> {
  const [row] = await tx.rows<StoredRow>({ ...lockForPage, values: [id, until] });
  return row && toEndpoint(row);
}

const lockForPage = prepare(`
select ${ENDPOINT_COLUMNS}
  from webhook_endpoints e
 where e.id = $1 and e.recover_after is not null and e.recover_until = $2
   for update skip locked`);

/** Locks the next endpoints after one, so that their secrets can be sealed again. */
export const listSealed = async (tx: Tx, after: EndpointId, limit: number): Promise<Endpoint[]> =>
  (await tx.rows<StoredRow>({ ...sealed, values: [after, limit] })).map(toEndpoint);

const sealed = prepare(`
select ${ENDPOINT_COLUMNS}
  from webhook_endpoints e
 where e.id > $1
 order by e.id
 limit $2
   for update`);

type EndpointHealth = { enabled: number; failing: number; gone: number; given_up: number };

export async function countHealth(db: Queryable): Promise<EndpointHealth> {
  const [health] = await db.rows<EndpointHealth>(sql`
  select (count(*) filter (where status = 'enabled'))::integer as enabled,
         (count(*) filter (where status = 'enabled' and failing_since is not null))::integer as failing,
         (count(*) filter (where disabled_reason = 'gone'))::integer as gone,
         (count(*) filter (where disabled_reason = 'failing'))::integer as given_up
    from webhook_endpoints`);
  return health ?? { enabled: 0, failing: 0, gone: 0, given_up: 0 };
}

/** Some of the enabled endpoints, failing ones first. */
export const listEnabled = (db: Queryable, limit: number): Promise<{ id: EndpointId; url: string }[]> =>
  db.rows<{ id: EndpointId; url: string }>(sql`
  select id, url
    from webhook_endpoints
   where status = 'enabled' and url <> ''
   order by failing_since nulls last, id
   limit ${limit}`);
