/** API keys: made, rotated, and as the outside sees them. */
import { encodeId, newId, type AccountId } from "../lib/id.ts";
import type { Clock } from "../storage/database-clock.ts";
import type { Database, Tx } from "../storage/database.ts";
import { apiKeyHint, hashApiKey, newApiKey } from "./api-key.ts";
import { expireKey, insertKey, insertKeyHash, type KeyRow } from "./queries.ts";
import type { Scope } from "./scope.ts";
import type { Environment } from "../storage/owner.ts";

export type KeyRequest = {
  accountId: AccountId;
  environment: Environment;
  scopes: readonly Scope[];
  name: string | null;
  expiresAt: Date | null;
};

/** The secret is in the result and nowhere else: the database has its hash. */
export type CreatedKey = { secret: string; key: KeyRow };

export const createKey = async (db: Database, clock: Clock, request: KeyRequest): Promise<CreatedKey> =>
  db.transaction((tx) => createKeyIn(tx, clock, request));

export async function createKeyIn(
  tx: Tx,
  clock: Clock,
  { accountId, environment, scopes, name, expiresAt }: KeyRequest,
): Promise<CreatedKey> {
  const secret = newApiKey(environment);
  const id = newId("key", clock.now());
  const [key] = await insertKey(tx, { accountId, id, environment, scopes, name, expiresAt, hint: apiKeyHint(secret) });
  await insertKeyHash(tx, hashApiKey(secret), accountId, id);
  return { secret, key: key as KeyRow };
}

/** A new key with the scopes of the old one, which goes on working for the overlap. */
export const rotateKey = async (db: Database, clock: Clock, old: KeyRow, overlapSeconds: number): Promise<CreatedKey> =>
  db.transaction((tx) => rotateKeyIn(tx, clock, old, { overlapSeconds, expiresAt: null }));

export type Rotation = { overlapSeconds: number; expiresAt: Date | null };

export async function rotateKeyIn(tx: Tx, clock: Clock, old: KeyRow, { overlapSeconds, expiresAt }: Rotation): Promise<CreatedKey> {
  const { account_id: accountId, environment, scopes, name } = old;
  const created = await createKeyIn(tx, clock, { accountId, environment, scopes, name, expiresAt });
  await expireKey(tx, accountId, old.id, overlapSeconds);
  return created;
}

/** A key as the outside sees it. */
export const keyFields = (key: KeyRow) => ({
  id: encodeId("key", key.id),
  object: "key",
  account_id: encodeId("acct", key.account_id),
  environment: key.environment,
  name: key.name,
  hint: key.hint,
  scopes: key.scopes,
  created_at: key.created_at.toISOString(),
  expires_at: key.expires_at?.toISOString() ?? null,
  revoked_at: key.revoked_at?.toISOString() ?? null,
  last_used_at: key.last_used_at?.toISOString() ?? null,
});
