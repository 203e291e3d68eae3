/** All SQL of idempotency keys. */
import type { EventId } from "../model/id.ts";
import type { Recipient } from "../model/phone-number.ts";
import type { Queryable, Tx } from "../database/database.ts";
import { DATABASE_LOCK, LOCKS } from "../database/locks.ts";
import type { Owner } from "../model/owner.ts";
import { prepare, sql } from "../database/sql.ts";
import { JOIN_MESSAGE, RECORD_COLUMNS, recordText, type RecordRow } from "../database/stored-record.ts";
import type { IdempotencyKey } from "./key.ts";

/** The body is null if the event that has it is not stored any more. */
export type StoredResponse = { fingerprint: Buffer; status: number; location: string | null; body: string | null };

const findStored = prepare(`
select k.fingerprint, k.status, k.location, k.body as stored_body, e.environment, ${RECORD_COLUMNS}
  from idempotency_keys k
  left join events e on e.account_id = k.account_id and e.environment = k.environment and e.id = k.event_id${JOIN_MESSAGE}
 where k.account_id = $1 and k.environment = $2 and k.key = $3 and k.expires_at > $4`);

/** The response stored under a key that has not expired. */
export async function findResponse(
  db: Queryable,
  { accountId, environment }: Owner,
  key: IdempotencyKey,
  nowMs: number,
): Promise<StoredResponse[]> {
  const values = [accountId, environment, key, new Date(nowMs)];
  const rows = await db.rows<Omit<StoredResponse, "body"> & { stored_body: string | null } & RecordRow>({ ...findStored, values });
  return rows.map((row) => ({
    fingerprint: row.fingerprint,
    status: row.status,
    location: row.location,
    body: row.stored_body ?? recordText(row),
  }));
}

/** Takes the lock of a key until the transaction ends, if the lock is free, and returns whether it was. */
export const lockKey = async (tx: Tx, lock: Buffer): Promise<boolean> =>
  (await tx.rows<{ is_locked: boolean }>(sql`select pg_try_advisory_xact_lock(${lock}::bigint) as is_locked`))[0]?.is_locked === true;

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

// Longer than a database needs to recover, and a lost connection to be noticed.
const MARK_MS = 3_600_000;

/** Stores a row under a key of our own, by which a request without a key finds out whether it was committed. The id of its transaction would not do:
 *  a server that has lost a commit gives the id to another one. A key of a client is a version-4 UUID, and this one is not. */
export const storeMark = (tx: Tx, { accountId, environment }: Owner, key: IdempotencyKey, nowMs: number): Promise<unknown[]> =>
  tx.rows(sql`
  insert into idempotency_keys (account_id, environment, key, fingerprint, created_at, expires_at, status, body)
  values (${accountId}, ${environment}, ${key}, '', ${new Date(nowMs)}, ${new Date(nowMs + MARK_MS)}, 0, '')`);

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
