/** What operators do with accounts and keys: create, rotate, revoke. */
import { encodeId } from "../lib/id.ts";
import { newUuid, type Uuid } from "../lib/uuid.ts";
import type { Clock } from "../storage/database-clock.ts";
import type { Database, Tx } from "../storage/database.ts";
import { apiKeyHint, hashApiKey, newApiKey } from "./api-key.ts";
import { ENVIRONMENTS, FIRST_TIER, type Environment } from "./environment.ts";
import {
  expireKey,
  insertAccount,
  insertEnvironment,
  insertKey,
  insertKeyHash,
  listAccounts,
  type AccountRow,
  type KeyRow,
} from "./queries.ts";
import type { Scope } from "./scope.ts";

/** Puts into a new environment what it has to begin with: the features that keep it stand above. */
export type Furnish = (tx: Tx, owner: { accountId: Uuid; environment: Environment }) => Promise<void>;

/** Undefined when an account of that name exists. */
export async function createAccount(db: Database, clock: Clock, name: string, furnish: Furnish): Promise<AccountRow | undefined> {
  return db.transaction(async (tx) => {
    const [account] = await insertAccount(tx, newUuid(clock.now()), name);
    if (account === undefined) return undefined;
    for (const environment of ENVIRONMENTS) {
      await insertEnvironment(tx, account.id, environment, FIRST_TIER[environment]);
      await furnish(tx, { accountId: account.id, environment });
    }
    return account;
  });
}

const FIRST_ACCOUNT = "default";

/** On a database without accounts, makes the first one. Undefined when there was one, or a neighbour made it just now. */
export async function createFirstAccount(db: Database, clock: Clock, furnish: Furnish): Promise<AccountRow | undefined> {
  return (await listAccounts(db)).length > 0 ? undefined : createAccount(db, clock, FIRST_ACCOUNT, furnish);
}

export type KeyRequest = {
  accountId: Uuid;
  environment: Environment;
  scopes: readonly Scope[];
  name: string | null;
  expiresAt: Date | null;
};

/** The secret is in the result and nowhere else: the database has its hash. */
export type CreatedKey = { secret: string; key: KeyRow };

export const createKey = async (db: Database, clock: Clock, request: KeyRequest): Promise<CreatedKey> =>
  db.transaction((tx) => createKeyIn(tx, clock, request));

async function createKeyIn(tx: Tx, clock: Clock, { accountId, environment, scopes, name, expiresAt }: KeyRequest): Promise<CreatedKey> {
  const secret = newApiKey(environment);
  const id = newUuid(clock.now());
  const [key] = await insertKey(tx, { accountId, id, environment, scopes, name, expiresAt, hint: apiKeyHint(secret) });
  await insertKeyHash(tx, hashApiKey(secret), accountId, id);
  return { secret, key: key as KeyRow };
}

/** A new key with the scopes of the old one, which goes on working for the overlap. */
export async function rotateKey(db: Database, clock: Clock, old: KeyRow, overlapSeconds: number): Promise<CreatedKey> {
  return db.transaction(async (tx) => {
    const created = await createKeyIn(tx, clock, {
      accountId: old.account_id,
      environment: old.environment,
      scopes: old.scopes,
      name: old.name,
      expiresAt: null,
    });
    await expireKey(tx, old.account_id, old.id, overlapSeconds);
    return created;
  });
}

/** A key as the outside sees it. */
export const keyRecord = (key: KeyRow) => ({
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
