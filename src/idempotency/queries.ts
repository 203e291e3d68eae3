/** All SQL of idempotency keys. */
import type { EventId } from "../model/id.ts";
import type { Recipient } from "../model/phone-number.ts";
import type { Queryable, Tx } from "../database/database.ts";
import { DATABASE_LOCK, LOCKS } from "../database/locks.ts";
import type { Owner } from "../model/owner.ts";
import { prepare, sql } from "../database/sql.ts";
import type { IdempotencyKey } from "./key.ts";

export type StoredResponse = { fingerprint: Buffer; status: number; location: string | null; body: string };

/** The response stored under a key that has not expired. */
export const findResponse = (
  db: Queryable,
  { accountId, environment }: Owner,
  key: IdempotencyKey,
  nowMs: number,
): Promise<StoredResponse[]> =>
  db.rows<StoredResponse>(sql`
  select k.fingerprint, k.status, k.location, coalesce(k.body, e.record) as body
    from idempotency_keys k
    left join events e on e.account_id = k.account_id and e.environment = k.environment and e.id = k.event_id
   where k.account_id = ${accountId} and k.environment = ${environment} and k.key = ${key}
     and k.expires_at > ${new Date(nowMs)}`);

/** Takes the lock of a key until the transaction ends, if the lock is free, and returns the id of the transaction. */
export const beginClaim = (tx: Tx, lock: Buffer | null): Promise<{ is_locked: boolean; transaction: string }[]> =>
  tx.rows<{ is_locked: boolean; transaction: string }>(sql`
  select ${lock}::bigint is null or pg_try_advisory_xact_lock(${lock}::bigint) as is_locked,
         pg_current_xact_id()::text as transaction`);

type Stored = {
  status: number;
  location?: string | null;
  body: string | null;
  eventId?: EventId | null;
  recipient?: Recipient | null;
};

const KEPT_MS = 24 * 3_600_000;

/** Stores the response under a key that is free or expired. Returns no row if another transaction has stored one: a node with another
 *  secret key, or of another version, takes another lock. */
export const storeResponse = (
  tx: Tx,
  { accountId, environment, key, fingerprint }: Owner & { key: IdempotencyKey; fingerprint: Buffer },
  { status, location = null, body, eventId = null, recipient = null }: Stored,
  nowMs: number,
): Promise<unknown[]> =>
  tx.rows(sql`
  insert into idempotency_keys as stored
         (account_id, environment, key, fingerprint, created_at, expires_at, status, location, body, event_id, recipient)
  values (${accountId}, ${environment}, ${key}, ${fingerprint}, ${new Date(nowMs)}, ${new Date(nowMs + KEPT_MS)},
          ${status}, ${location}, ${body}, ${eventId}, ${recipient})
  on conflict (account_id, environment, key) do update
     set fingerprint = excluded.fingerprint, created_at = excluded.created_at, expires_at = excluded.expires_at,
         status = excluded.status, location = excluded.location, body = excluded.body, event_id = excluded.event_id,
         recipient = excluded.recipient
   where stored.expires_at <= excluded.created_at
  returning 1`);

/** The status of a transaction whose connection was lost. */
export const transactionStatus = (db: Queryable, transaction: string): Promise<{ status: string | null }[]> =>
  db.rows<{ status: string | null }>(sql`select pg_xact_status(${transaction}::xid8) as status`);

export type DeletedSlice = { is_mine: boolean; deleted: number; blocks: number };

const deleteStatement = prepare(`
with turn as materialized (
  select pg_try_advisory_xact_lock(${DATABASE_LOCK}, ${LOCKS.expiredKeys}) as is_mine
), deleted as (
  delete from idempotency_keys
   where ctid = any (array(
           select ctid
             from idempotency_keys
            where ctid >= $1::tid and ctid < $2::tid
              and expires_at <= $3
              and (select is_mine from turn)
              for update skip locked))
  returning 1
)
select turn.is_mine, (select count(*) from deleted)::integer as deleted,
       (pg_relation_size('idempotency_keys') / current_setting('block_size')::integer)::integer as blocks
  from turn`);

/** Deletes the expired keys in a range of the table's blocks. The statement reads the blocks, since an index on the expiry would make
 *  every accept slower. One node at a time does so. A locked row is a key that is being renewed; it is skipped, because waiting
 *  for it could cause a deadlock, and PostgreSQL might cancel the accept. A row that was renewed after the start of this statement is
 *  checked again before it is locked. */
export const deleteExpired = (db: Queryable, fromBlock: number, toBlock: number, nowMs: number): Promise<DeletedSlice[]> =>
  db.rows<DeletedSlice>({ ...deleteStatement, values: [`(${fromBlock},0)`, `(${toBlock},0)`, new Date(nowMs)] });
