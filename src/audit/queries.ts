/** All SQL of the audit log. */
import type { AccountId, AuditEventId } from "../model/id.ts";
import { NIL_UUID, type Uuid } from "../lib/uuid.ts";
import type { Queryable, Tx } from "../database/database.ts";
import { DATABASE_LOCK, LOCKS } from "../database/locks.ts";
import type { Environment } from "../model/owner.ts";
import { readPage, scanStatement, type ListPage } from "../database/scan-page.ts";
import { sql } from "../database/sql.ts";
import type { AuditRow } from "./audit-event.ts";

export const insertAuditEvent = (tx: Tx, row: AuditRow): Promise<unknown> =>
  tx.rows(sql`
  insert into audit_events (account_id, id, environment, actor_type, actor_id, actor_name, action, target_type, target_id, changes, peer,
                            request_id, is_unsealed)
  values (${row.account_id}, ${row.id}, ${row.environment}, ${row.actor_type}, ${row.actor_id}, ${row.actor_name}, ${row.action},
          ${row.target_type}, ${row.target_id}, ${JSON.stringify(row.changes)}::jsonb, ${row.peer}, ${row.request_id}, true)`);

/** Takes the lock of the only node that seals. False while another node has it. */
export async function lockSealing(tx: Tx): Promise<boolean> {
  const [row] = await tx.rows<{ is_locked: boolean }>(sql`
  select pg_try_advisory_xact_lock(${DATABASE_LOCK}, ${LOCKS.audit}) as is_locked`);
  return row?.is_locked === true;
}

/** The entries that wait to be sealed, by account and time. */
export const listUnsealed = (tx: Tx, limit: number): Promise<AuditRow[]> =>
  tx.rows<AuditRow>(sql`
  select account_id, id, environment, actor_type, actor_id, actor_name, action, target_type, target_id, changes, peer, request_id
    from audit_events
   where is_unsealed
   order by account_id, id
   limit ${limit}`);

/** A link of the hash chain of an account's audit log. */
export type ChainLink = { sequence: number; hash: Buffer };

export async function readSealedChainKey(db: Queryable): Promise<string | null> {
  const [row] = await db.rows<{ audit_key: string | null }>(sql`select audit_key from installation`);
  return row?.audit_key ?? null;
}

/** The newest sealed entry of all accounts. */
export async function findNewestSealed(db: Queryable): Promise<AuditEventId | undefined> {
  const [row] = await db.rows<{ event_id: AuditEventId }>(sql`
  select event_id
    from audit_links
   where event_id is not null
   order by event_id desc
   limit 1`);
  return row?.event_id;
}

/** Stores the key of the chains if there is none. Returns whether it was stored. */
export const insertChainKey = async (tx: Tx, sealed: string): Promise<boolean> =>
  (
    await tx.rows(sql`
  update installation
     set audit_key = ${sealed}
   where audit_key is null
  returning 1`)
  ).length > 0;

export const replaceChainKey = (tx: Tx, sealed: string): Promise<unknown> =>
  tx.rows(sql`
  update installation
     set audit_key = ${sealed}`);

/** The last link of an account, whose entry retention may have deleted. */
export async function findLastLink(db: Queryable, accountId: AccountId): Promise<ChainLink | undefined> {
  const [row] = await db.rows<ChainLink>(sql`
  select sequence, hash
    from audit_links
   where account_id = ${accountId}
   order by sequence desc
   limit 1`);
  return row;
}

export const storeLink = (tx: Tx, accountId: AccountId, eventId: AuditEventId, { sequence, hash }: ChainLink): Promise<unknown> =>
  tx.rows(sql`
  with sealed as (
    update audit_events
       set is_unsealed = false
     where account_id = ${accountId} and id = ${eventId}
  )
  insert into audit_links (account_id, event_id, sequence, hash)
  values (${accountId}, ${eventId}, ${sequence}, ${hash})`);

export type AuditFilter = {
  /** The range of ids, from the times and the cursor of the request. */
  from: Uuid;
  before: Uuid;
  /** The id or the type of the actor. */
  actor: string | null;
  /** An action, or a kind such as `key.*`. */
  action: string | null;
  /** The id or the type of the target. */
  target: string | null;
};

export type SealedRow = AuditRow & { hash: Buffer | null };

const list = scanStatement({
  scan: `
  select id, actor_type, actor_id, action, target_type, target_id
    from audit_events
   where account_id = $1 and id >= $5 and id < $6 and ($2::text is null or environment is null or environment = $2)`,
  filter: `($7::text is null or $7 in (actor_id, actor_type))
     and ($8::text is null or $8 in (action, split_part(action, '.', 1) || '.*'))
     and ($9::text is null or $9 in (target_id, target_type))`,
  whole: `
  select e.account_id, e.id, e.environment, e.actor_type, e.actor_id, e.actor_name, e.action, e.target_type, e.target_id, e.changes,
         e.peer, e.request_id,
         (select l.hash from audit_links l where l.event_id = e.id) as hash
    from audit_events e
   where e.account_id = $1 and e.id = found.id`,
});

/** A page of an account's entries, newest first: those of one environment, or of all if it is null, and those of the whole account. */
export function listAuditEvents(
  db: Queryable,
  owner: { accountId: AccountId; environment: Environment | null },
  { from, before, actor, action, target }: AuditFilter,
  limit: number,
): Promise<ListPage<SealedRow>> {
  const isFiltered = [actor, action, target].some((each) => each !== null);
  return readPage<SealedRow>(db, list, { owner, limit, isFiltered, values: [from, before, actor, action, target] });
}

/** The accounts, and the nil account of the installation: each has a chain, which may be empty. */
export const listChains = (db: Queryable): Promise<{ account_id: AccountId }[]> =>
  db.rows<{ account_id: AccountId }>(sql`
  select ${NIL_UUID}::uuid as account_id
  union all
  select id
    from accounts`);

/** A link with its entry, whose columns are null if it is missing. A link with a `checkpoint_mac` is a checkpoint: retention has deleted its
 *  entry, and all links before. A checkpoint of 0.2 has no id of an entry. */
export type ChainRow = ChainLink & { event_id: AuditEventId | null; checkpoint_mac: Buffer | null } & {
  [Name in keyof AuditRow]: AuditRow[Name] | null;
};

/** A page of a chain with its entries, in order. */
export const listChainLinks = (db: Queryable, accountId: AccountId, after: number, limit: number): Promise<ChainRow[]> =>
  db.rows<ChainRow>(sql`
  select l.sequence, l.hash, l.event_id, l.checkpoint_mac, e.account_id, e.id, e.environment, e.actor_type, e.actor_id, e.actor_name,
         e.action, e.target_type, e.target_id, e.changes, e.peer, e.request_id
    from audit_links l
    left join lateral (select *
                         from audit_events
                        where account_id = l.account_id and id = l.event_id
                        limit 1) e on true
   where l.account_id = ${accountId} and l.sequence > ${after}
   order by l.sequence
   limit ${limit}`);

export type EntryState = { id: AuditEventId; is_linked: boolean };

/** A page of an account's entries, in order. An entry that is neither sealed nor waits for it is not linked: somebody has removed its
 *  link, or has inserted the entry. */
export const listEntryStates = (db: Queryable, accountId: AccountId, after: Uuid, limit: number): Promise<EntryState[]> =>
  db.rows<EntryState>(sql`
  select e.id, e.is_unsealed or exists (select
                                         from audit_links l
                                        where l.event_id = e.id and l.account_id = e.account_id and l.checkpoint_mac is null) as is_linked
    from audit_events e
   where e.account_id = ${accountId} and e.id > ${after}
   order by e.id
   limit ${limit}`);

type OldLink = ChainLink & { event_id: AuditEventId };

/** The oldest links of an account that have an entry, in order. */
export const listOldestLinks = (tx: Tx, accountId: AccountId, limit: number): Promise<OldLink[]> =>
  tx.rows<OldLink>(sql`
  select sequence, hash, event_id
    from audit_links
   where account_id = ${accountId} and event_id is not null and checkpoint_mac is null
   order by sequence
   limit ${limit}`);

/** Permits this transaction what only retention does. The triggers of the tables refuse it otherwise. */
export const permitRetention = (tx: Tx): Promise<unknown> => tx.rows(sql`select set_config('godwit.audit_retention', 'on', true)`);

/** The checkpoints of 0.2, which are not signed. */
export const listUnsignedCheckpoints = (tx: Tx): Promise<(ChainLink & { account_id: AccountId })[]> =>
  tx.rows<ChainLink & { account_id: AccountId }>(sql`
  select account_id, sequence, hash
    from audit_links
   where event_id is null and checkpoint_mac is null`);

/** Makes a link a checkpoint. */
export const signCheckpoint = (tx: Tx, accountId: AccountId, sequence: number, mac: Buffer): Promise<unknown> =>
  tx.rows(sql`
  update audit_links
     set checkpoint_mac = ${mac}
   where account_id = ${accountId} and sequence = ${sequence}`);

/** Deletes the entries of the links up to one, and all these links but the last, which stays as a checkpoint. */
export async function deleteLinks(tx: Tx, accountId: AccountId, last: number, mac: Buffer): Promise<void> {
  await permitRetention(tx);
  await tx.rows(sql`
  delete from audit_events
   where account_id = ${accountId}
     and id = any (array(select event_id
                           from audit_links
                          where account_id = ${accountId} and sequence <= ${last}))`);
  await tx.rows(sql`
  delete from audit_links
   where account_id = ${accountId} and sequence < ${last}`);
  await signCheckpoint(tx, accountId, last, mac);
}
