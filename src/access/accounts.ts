/** Creates accounts, with their two environments. */
import { newId } from "../lib/id.ts";
import type { Clock } from "../storage/database-clock.ts";
import type { Database, Tx } from "../storage/database.ts";
import { ENVIRONMENTS, type Environment, type Owner } from "../storage/owner.ts";
import { insertAccount, insertEnvironment, listAccounts, type AccountRow } from "./queries.ts";

/** Adds the initial content of a new environment. The caller passes it, since the features that own this content are above this folder. */
export type SeedEnvironment = (tx: Tx, owner: Owner) => Promise<void>;

const FIRST_TIER: Readonly<Record<Environment, string>> = { test: "sandbox", live: "standard" };

/** Returns undefined when an account of that name exists. */
export async function createAccount(db: Database, clock: Clock, name: string, seed: SeedEnvironment): Promise<AccountRow | undefined> {
  return db.transaction(async (tx) => {
    const [account] = await insertAccount(tx, newId("acct", clock.now()), name);
    if (account === undefined) return undefined;
    for (const environment of ENVIRONMENTS) {
      await insertEnvironment(tx, account.id, environment, FIRST_TIER[environment]);
      await seed(tx, { accountId: account.id, environment });
    }
    return account;
  });
}

const FIRST_ACCOUNT = "default";

/** Creates the first account of a database. Returns undefined when an account exists, also one that another node has just created. */
export async function createFirstAccount(db: Database, clock: Clock, seed: SeedEnvironment): Promise<AccountRow | undefined> {
  return (await listAccounts(db)).length > 0 ? undefined : createAccount(db, clock, FIRST_ACCOUNT, seed);
}
