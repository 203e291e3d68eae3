/** Creates accounts, with their two environments. */
import type { Target } from "../audit/audit-event.ts";
import { recordChange } from "../audit/record-change.ts";
import { encodeId, newId, type AccountId } from "../model/id.ts";
import { SYSTEM_ORIGIN, type ChangeOrigin } from "../model/origin.ts";
import type { Clock } from "../database/database-clock.ts";
import type { Database, Tx } from "../database/database.ts";
import { ENVIRONMENTS, type Environment, type Owner } from "../model/owner.ts";
import { insertAccount, insertEnvironment, listAccounts, setMaxKeyLife, type AccountRow } from "./queries.ts";

/** Adds the initial content of a new environment. The caller passes it, since the features that own this content are above this folder. */
export type SeedEnvironment = (tx: Tx, owner: Owner) => Promise<void>;

const FIRST_TIER: Readonly<Record<Environment, string>> = { test: "sandbox", live: "standard" };

/** Returns undefined when an account of that name exists. */
export async function createAccount(
  db: Database,
  clock: Clock,
  { name, origin }: { name: string; origin: ChangeOrigin },
  seed: SeedEnvironment,
): Promise<AccountRow | undefined> {
  return db.transaction(async (tx) => {
    const [account] = await insertAccount(tx, newId("acct", clock.now()), name);
    if (account === undefined) return undefined;
    const change = { action: "account.created", target: targetOf(account.id), changes: { name } } as const;
    await recordChange(tx, clock.now(), { accountId: account.id, environment: null, origin }, change);
    for (const environment of ENVIRONMENTS) {
      await insertEnvironment(tx, account.id, environment, FIRST_TIER[environment]);
      await seed(tx, { accountId: account.id, environment });
    }
    return account;
  });
}

const targetOf = (id: AccountId): Target => ({ type: "account", id: encodeId("acct", id) });

/** `seconds` is null if keys may live for ever. */
type KeyLife = { seconds: number | null; origin: ChangeOrigin };

/** Limits the life of keys that are created from now on. Existing keys keep theirs. */
export const limitKeyLife = (db: Database, clock: Clock, account: AccountRow, { seconds, origin }: KeyLife): Promise<void> =>
  db.transaction(async (tx) => {
    await setMaxKeyLife(tx, account.id, seconds);
    const change = { action: "account.changed", target: targetOf(account.id), changes: { max_key_life_seconds: seconds } } as const;
    await recordChange(tx, clock.now(), { accountId: account.id, environment: null, origin }, change);
  });

const FIRST_ACCOUNT = "default";

/** Creates the first account of a database. Returns undefined when an account exists, also one that another node has just created. */
export async function createFirstAccount(db: Database, clock: Clock, seed: SeedEnvironment): Promise<AccountRow | undefined> {
  return (await listAccounts(db)).length > 0 ? undefined : createAccount(db, clock, { name: FIRST_ACCOUNT, origin: SYSTEM_ORIGIN }, seed);
}
