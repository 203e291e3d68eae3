/** All SQL of signing keys. */
import type { JWK } from "jose";
import type { Queryable, Tx } from "../database/database.ts";
import { DATABASE_LOCK, LOCKS } from "../database/locks.ts";
import { sql } from "../database/sql.ts";

export type SigningKeyRow = { kid: string; public_key: JWK; private_key: string; active_from: Date };

/** All signing keys, the newest first. */
export const listSigningKeys = (db: Queryable): Promise<SigningKeyRow[]> =>
  db.rows<SigningKeyRow>(sql`
  select kid, public_key, private_key, active_from
    from signing_keys
   order by active_from desc, kid
   limit 100`);

/** Makes other transactions that change the keys wait for this one. */
export const lockSigningKeys = (tx: Tx): Promise<unknown> =>
  tx.rows(sql`select pg_advisory_xact_lock(${DATABASE_LOCK}, ${LOCKS.signingKeys})`);

export const insertSigningKey = (tx: Tx, { kid, public_key, private_key, active_from }: SigningKeyRow): Promise<unknown> =>
  tx.rows(sql`
  insert into signing_keys (kid, public_key, private_key, active_from)
  values (${kid}, ${JSON.stringify(public_key)}::json, ${private_key}, ${active_from})`);

/** Deletes keys. Tokens that they signed are not valid any more. */
export const deleteSigningKeys = (tx: Tx, kids: readonly string[]): Promise<unknown> =>
  tx.rows(sql`
  delete from signing_keys
   where kid = any (${kids}::text[])`);

export const storePrivateKey = (tx: Tx, kid: string, privateKey: string): Promise<unknown> =>
  tx.rows(sql`
  update signing_keys
     set private_key = ${privateKey}
   where kid = ${kid}`);
