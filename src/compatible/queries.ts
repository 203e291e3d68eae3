/** All SQL of the credentials of compatible APIs. */
import type { Scope } from "../access/scope.ts";
import type { Queryable, Tx } from "../database/database.ts";
import { sql } from "../database/sql.ts";
import type { Uuid } from "../lib/uuid.ts";
import type { MessageSource } from "../messages/message.ts";
import type { AccountId, KeyId } from "../model/id.ts";
import type { Environment, Owner } from "../model/owner.ts";
import type { Settings } from "./compatible-api.ts";

export type CompatibleRow = {
  account_id: AccountId;
  environment: Environment;
  id: KeyId;
  source: MessageSource;
  user_name: string;
  /** Sealed. */
  secret: string;
  scopes: Scope[];
  settings: Settings;
  revoked_at: Date | null;
  last_used_at: Date | null;
  created_by: string | null;
};

export type ActiveCredential = CompatibleRow & { tier: string; requests_per_second: number | null; burst: number | null };

/** The active credential with a user name. */
export async function findByUser(db: Queryable, source: MessageSource, userName: string): Promise<ActiveCredential | undefined> {
  const [row] = await db.rows<ActiveCredential>(sql`
  select c.account_id, c.environment, c.id, c.source, c.user_name, c.secret, c.scopes, c.settings, c.revoked_at,
         c.last_used_at, c.created_by, t.name as tier, t.requests_per_second, t.burst
    from compatible_credentials c
    join environments e on e.account_id = c.account_id and e.environment = c.environment
    join tiers t on t.name = e.tier
   where c.source = ${source} and c.user_name = ${userName} and c.revoked_at is null`);
  return row;
}

/** The names of the users with an active credential, up to a number. */
export const listUsers = (db: Queryable, most: number): Promise<{ source: MessageSource; user_name: string }[]> =>
  db.rows<{ source: MessageSource; user_name: string }>(sql`
  select source, user_name
    from compatible_credentials
   where revoked_at is null
   order by source, user_name
   limit ${most}`);

export async function findCompatible(db: Queryable, { accountId, environment }: Owner, id: KeyId): Promise<CompatibleRow | undefined> {
  const [row] = await db.rows<CompatibleRow>(sql`
  select account_id, environment, id, source, user_name, secret, scopes, settings, revoked_at, last_used_at, created_by
    from compatible_credentials
   where account_id = ${accountId} and environment = ${environment} and id = ${id}`);
  return row;
}

/** A page of the credentials of an environment, the newest first, including revoked ones. */
export const listCredentials = (db: Queryable, owner: Owner, before: Uuid, limit: number): Promise<CompatibleRow[]> =>
  db.rows<CompatibleRow>(sql`
  select account_id, environment, id, source, user_name, secret, scopes, settings, revoked_at, last_used_at, created_by
    from compatible_credentials
   where account_id = ${owner.accountId} and environment = ${owner.environment} and id < ${before}
   order by id desc
   limit ${limit}`);

/** Returns no row if another credential has the user name. */
export const insertCredential = (tx: Tx, row: CompatibleRow): Promise<CompatibleRow[]> =>
  tx.rows<CompatibleRow>(sql`
  insert into compatible_credentials (account_id, environment, id, source, user_name, secret, scopes, settings, created_by)
  values (${row.account_id}, ${row.environment}, ${row.id}, ${row.source}, ${row.user_name}, ${row.secret},
          ${row.scopes}::text[], ${JSON.stringify(row.settings)}, ${row.created_by})
  on conflict (source, user_name) where revoked_at is null do nothing
  returning account_id, environment, id, source, user_name, secret, scopes, settings, revoked_at, last_used_at, created_by`);

/** Revokes a credential. Returns no row for one that is revoked already. */
export const revokeCredential = (tx: Tx, { accountId, environment }: Owner, id: KeyId): Promise<CompatibleRow[]> =>
  tx.rows<CompatibleRow>(sql`
  update compatible_credentials
     set revoked_at = now()
   where account_id = ${accountId} and environment = ${environment} and id = ${id} and revoked_at is null
  returning account_id, environment, id, source, user_name, secret, scopes, settings, revoked_at, last_used_at, created_by`);

/** Updates the time of the last use, at most about once a minute for each credential. */
export const touchCredential = (db: Queryable, { accountId, environment }: Owner, id: KeyId): Promise<unknown> =>
  db.rows(sql`
  update compatible_credentials
     set last_used_at = now()
   where account_id = ${accountId} and environment = ${environment} and id = ${id}
     and (last_used_at is null or last_used_at < now() - interval '50 seconds')`);

type SealedCredential = Pick<CompatibleRow, "id" | "source" | "user_name" | "settings" | "secret">;

/** Locks the next credentials after one, so that their secrets can be sealed again. */
export const listSealedCredentials = (tx: Tx, after: Uuid, limit: number): Promise<SealedCredential[]> =>
  tx.rows<SealedCredential>(sql`
  select id, source, user_name, settings, secret
    from compatible_credentials
   where id > ${after}
   order by id
   limit ${limit}
     for update`);

export const storeSecret = (tx: Tx, id: KeyId, secret: string, userName: string): Promise<unknown> =>
  tx.rows(sql`
  update compatible_credentials
     set secret = ${secret}, user_name = ${userName}
   where id = ${id}`);
