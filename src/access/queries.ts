/** All SQL of accounts, environments, tiers, keys and quota. */
import { assert } from "../lib/assert.ts";
import type { AccountId, KeyId } from "../model/id.ts";
import type { Uuid } from "../lib/uuid.ts";
import type { Queryable, Tx } from "../database/database.ts";
import { lockOwner, OWNER_LOCKS } from "../database/locks.ts";
import type { Environment, Owner } from "../model/owner.ts";
import { sql } from "../database/sql.ts";
import type { Bucket } from "./quota.ts";
import type { Scope } from "./scope.ts";

export type CredentialRow = {
  account_id: AccountId;
  key_id: KeyId;
  environment: Environment;
  name: string | null;
  scopes: Scope[];
  expires_at: Date | null;
  allowed_ips: string[] | null;
} & TierOf;

type TierOf = { tier: string } & Omit<TierRow, "name">;

/** The active key with a hash: neither revoked nor expired, by the clock of the database. A null among the addresses, which only a person can
 *  have written, allows none. */
export const findCredential = (db: Queryable, hash: Buffer): Promise<CredentialRow[]> =>
  db.rows<CredentialRow>(sql`
  select k.account_id, k.id as key_id, k.environment, k.name, k.scopes, k.expires_at,
         array_remove(k.allowed_ips, null) as allowed_ips,
         t.name as tier, t.requests_per_second, t.burst
    from api_key_hashes h
    join api_keys k on k.account_id = h.account_id and k.id = h.key_id
    join environments e on e.account_id = k.account_id and e.environment = k.environment
    join tiers t on t.name = e.tier
   where h.hash = ${hash}
     and k.revoked_at is null
     and (k.expires_at is null or k.expires_at > now())`);

/** The active key that created a token. */
export const findCredentialOf = (db: Queryable, accountId: AccountId, keyId: KeyId): Promise<CredentialRow[]> =>
  db.rows<CredentialRow>(sql`
  select k.account_id, k.id as key_id, k.environment, k.name, k.scopes, k.expires_at,
         array_remove(k.allowed_ips, null) as allowed_ips,
         t.name as tier, t.requests_per_second, t.burst
    from api_keys k
    join environments e on e.account_id = k.account_id and e.environment = k.environment
    join tiers t on t.name = e.tier
   where k.account_id = ${accountId} and k.id = ${keyId}
     and k.revoked_at is null
     and (k.expires_at is null or k.expires_at > now())`);

/** Updates the time of the last use, at most about once a minute for each key. */
export const touchKey = (db: Queryable, accountId: AccountId, keyId: KeyId): Promise<unknown> =>
  db.rows(sql`
  update api_keys
     set last_used_at = now()
   where account_id = ${accountId} and id = ${keyId}
     and (last_used_at is null or last_used_at < now() - interval '50 seconds')`);

export type AccountRow = { id: AccountId; name: string; created_at: Date; max_key_life_seconds: number | null };

export const insertAccount = (db: Queryable, id: AccountId, name: string): Promise<AccountRow[]> =>
  db.rows<AccountRow>(sql`
  insert into accounts (id, name)
  values (${id}, ${name})
  on conflict (name) do nothing
  returning id, name, created_at, max_key_life_seconds`);

export const listAccounts = (db: Queryable): Promise<AccountRow[]> =>
  db.rows<AccountRow>(sql`
  select id, name, created_at, max_key_life_seconds
    from accounts
   order by id
   limit 1000`);

/** The longest life of a key of the account, in seconds. Null: no limit. */
export async function findMaxKeyLife(db: Queryable, accountId: AccountId): Promise<number | null> {
  const [row] = await db.rows<{ max_key_life_seconds: number | null }>(sql`
  select max_key_life_seconds
    from accounts
   where id = ${accountId}`);
  return row?.max_key_life_seconds ?? null;
}

export const setMaxKeyLife = (tx: Tx, accountId: AccountId, seconds: number | null): Promise<unknown> =>
  tx.rows(sql`
  update accounts
     set max_key_life_seconds = ${seconds}
   where id = ${accountId}`);

export type EnvironmentRow = { account_id: AccountId; account: string; environment: Environment } & TierOf;

export const insertEnvironment = (db: Queryable, accountId: AccountId, environment: Environment, tier: string): Promise<unknown> =>
  db.rows(sql`
  insert into environments (account_id, environment, tier)
  values (${accountId}, ${environment}, ${tier})`);

export const listEnvironments = (db: Queryable): Promise<EnvironmentRow[]> =>
  db.rows<EnvironmentRow>(sql`
  select e.account_id, a.name as account, e.environment, t.name as tier, t.requests_per_second, t.burst
    from environments e
    join accounts a on a.id = e.account_id
    join tiers t on t.name = e.tier
   order by a.id, e.environment desc
   limit 2000`);

export const setTier = (db: Queryable, accountId: AccountId, environment: Environment, tier: string): Promise<unknown[]> =>
  db.rows(sql`
  update environments
     set tier = ${tier}
   where account_id = ${accountId} and environment = ${environment}
  returning environment`);

export type TierRow = { name: string; requests_per_second: number | null; burst: number | null };

export const listTiers = (db: Queryable): Promise<TierRow[]> =>
  db.rows<TierRow>(sql`
  select name, requests_per_second, burst
    from tiers
   order by requests_per_second nulls last, name`);

export const upsertTier = (db: Queryable, { name, requests_per_second, burst }: TierRow): Promise<unknown> =>
  db.rows(sql`
  insert into tiers (name, requests_per_second, burst)
  values (${name}, ${requests_per_second}, ${burst})
  on conflict (name) do update
     set requests_per_second = excluded.requests_per_second, burst = excluded.burst`);

export type KeyRow = {
  account_id: AccountId;
  id: KeyId;
  environment: Environment;
  name: string | null;
  hint: string;
  scopes: Scope[];
  created_at: Date;
  expires_at: Date | null;
  revoked_at: Date | null;
  last_used_at: Date | null;
  allowed_ips: string[] | null;
  created_by: string | null;
};

export const insertKey = (db: Queryable, key: Omit<KeyRow, "created_at" | "revoked_at" | "last_used_at">): Promise<KeyRow[]> =>
  db.rows<KeyRow>(sql`
  insert into api_keys (account_id, id, environment, name, hint, scopes, expires_at, allowed_ips, created_by)
  values (${key.account_id}, ${key.id}, ${key.environment}, ${key.name}, ${key.hint}, ${key.scopes}, ${key.expires_at},
          ${key.allowed_ips}::text[], ${key.created_by})
  returning account_id, id, environment, name, hint, scopes, created_at, expires_at, revoked_at, last_used_at,
            allowed_ips, created_by`);

export const insertKeyHash = (db: Queryable, hash: Buffer, accountId: AccountId, keyId: KeyId): Promise<unknown> =>
  db.rows(sql`
  insert into api_key_hashes (hash, account_id, key_id, has_keyed_checksum)
  values (${hash}, ${accountId}, ${keyId}, true)`);

/** The only row of the installation. The recipient key, which is sealed, and the check of the secret key are null before the first start. */
export type Installation = { id: Uuid; key_checksum_secret: Buffer; recipient_key: string | null; secret_key_check: Buffer | null };

export async function readInstallation(db: Queryable): Promise<Installation> {
  const [row] = await db.rows<Installation>(sql`
  select id, key_checksum_secret, recipient_key, secret_key_check
    from installation`);
  assert(row !== undefined, "the installation has a row");
  return row;
}

/** A page of hashes, in order. The keys have the first form. */
export const listHashesOfFirstForm = (db: Queryable, after: Buffer, limit: number): Promise<{ hash: Buffer }[]> =>
  db.rows<{ hash: Buffer }>(sql`
  select hash
    from api_key_hashes
   where not has_keyed_checksum and hash > ${after}
   order by hash
   limit ${limit}`);

export const listKeys = (db: Queryable, accountId: AccountId): Promise<KeyRow[]> =>
  db.rows<KeyRow>(sql`
  select account_id, id, environment, name, hint, scopes, created_at, expires_at, revoked_at, last_used_at,
         allowed_ips, created_by
    from api_keys
   where account_id = ${accountId}
   order by id desc
   limit 1000`);

/** A page of the keys of an environment, the newest first, including revoked keys. */
export const listKeysOf = (db: Queryable, owner: Owner, before: Uuid, limit: number): Promise<KeyRow[]> =>
  db.rows<KeyRow>(sql`
  select account_id, id, environment, name, hint, scopes, created_at, expires_at, revoked_at, last_used_at,
         allowed_ips, created_by
    from api_keys
   where account_id = ${owner.accountId} and environment = ${owner.environment} and id < ${before}
   order by id desc
   limit ${limit}`);

/** Counts the active keys of an environment. Other transactions that add a key wait for this one. */
export async function countActiveKeys(tx: Tx, owner: Owner): Promise<number> {
  const { accountId, environment } = owner;
  await lockOwner(tx, OWNER_LOCKS.apiKeys, owner);
  const [row] = await tx.rows<{ count: number }>(sql`
  select count(*)::integer as count
    from api_keys
   where account_id = ${accountId} and environment = ${environment}
     and revoked_at is null
     and (expires_at is null or expires_at > now())`);
  return row?.count ?? 0;
}

/** A locked key. The database decides whether it has ended, since the clocks of two nodes differ by milliseconds. */
export type LockedKey = KeyRow & { has_ended: boolean };

/** Locks two keys, which may be the same, until the transaction ends. The order by id prevents a deadlock of two such transactions. */
export const lockKeys = (tx: Tx, { accountId, environment }: Owner, one: KeyId, other: KeyId): Promise<LockedKey[]> =>
  tx.rows<LockedKey>(sql`
  select account_id, id, environment, name, hint, scopes, created_at, expires_at, revoked_at, last_used_at,
         allowed_ips, created_by, revoked_at is not null or coalesce(expires_at <= clock_timestamp(), false) as has_ended
    from api_keys
   where account_id = ${accountId} and environment = ${environment} and id in (${one}, ${other})
   order by id
     for update`);

export const findKeyOf = (db: Queryable, { accountId, environment }: Owner, id: KeyId): Promise<KeyRow[]> =>
  db.rows<KeyRow>(sql`
  select account_id, id, environment, name, hint, scopes, created_at, expires_at, revoked_at, last_used_at,
         allowed_ips, created_by
    from api_keys
   where account_id = ${accountId} and environment = ${environment} and id = ${id}`);

/** Stores the recipient key if there is none. */
export const insertRecipientKey = (db: Queryable, sealed: string): Promise<unknown> =>
  db.rows(sql`
  update installation
     set recipient_key = coalesce(recipient_key, ${sealed})`);

export const replaceRecipientKey = (tx: Tx, sealed: string): Promise<unknown> =>
  tx.rows(sql`
  update installation
     set recipient_key = ${sealed}`);

export const findKey = (db: Queryable, id: KeyId): Promise<KeyRow[]> =>
  db.rows<KeyRow>(sql`
  select account_id, id, environment, name, hint, scopes, created_at, expires_at, revoked_at, last_used_at,
         allowed_ips, created_by
    from api_keys
   where id = ${id}`);

/** Revokes a key. Returns no row for a key that is revoked already. */
export const revokeKey = (db: Queryable, accountId: AccountId, id: KeyId): Promise<KeyRow[]> =>
  db.rows<KeyRow>(sql`
  update api_keys
     set revoked_at = now()
   where account_id = ${accountId} and id = ${id} and revoked_at is null
  returning account_id, id, environment, name, hint, scopes, created_at, expires_at, revoked_at, last_used_at,
            allowed_ips, created_by`);

/** Sets the expiry of a key, but never later than its present one. */
export const expireKey = (db: Queryable, accountId: AccountId, id: KeyId, inSeconds: number): Promise<unknown> =>
  db.rows(sql`
  update api_keys
     set expires_at = least(expires_at, now() + make_interval(secs => ${inSeconds}))
   where account_id = ${accountId} and id = ${id}`);

export type BucketRow = { level: number; refilled_at_ms: number; leases: Bucket["leases"] };

/** Creates a full bucket if there is none. */
export const insertBucket = (db: Queryable, { accountId, environment }: Owner, burst: number, nowMs: number): Promise<unknown> =>
  db.rows(sql`
  insert into quota_buckets (account_id, environment, level, refilled_at)
  values (${accountId}, ${environment}, ${burst}, ${new Date(nowMs)})
  on conflict (account_id, environment) do nothing`);

export const lockBucket = (db: Queryable, { accountId, environment }: Owner): Promise<BucketRow[]> =>
  db.rows<BucketRow>(sql`
  select level, leases,
         (extract(epoch from refilled_at) * 1000)::float8 as refilled_at_ms
    from quota_buckets
   where account_id = ${accountId} and environment = ${environment}
     for update`);

export const writeBucket = (db: Queryable, { accountId, environment }: Owner, bucket: Bucket): Promise<unknown> =>
  db.rows(sql`
  update quota_buckets
     set level = ${bucket.level},
         refilled_at = to_timestamp(${bucket.refilledAtMs}::float8 / 1000),
         leases = ${JSON.stringify(bucket.leases)}
   where account_id = ${accountId} and environment = ${environment}`);

/** Stores the check of the first node that starts, and returns the stored one. */
export const storeSecretKeyCheck = (db: Queryable, check: Buffer): Promise<{ secret_key_check: Buffer }[]> =>
  db.rows<{ secret_key_check: Buffer }>(sql`
  update installation
     set secret_key_check = coalesce(secret_key_check, ${check}::bytea)
  returning secret_key_check`);

export const changeSecretKeyCheck = (tx: Tx, before: Buffer, after: Buffer): Promise<unknown[]> =>
  tx.rows(sql`
  update installation
     set secret_key_check = ${after}::bytea
   where secret_key_check = ${before}::bytea
  returning 1`);
