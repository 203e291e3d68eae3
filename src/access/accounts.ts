/** What operators do with accounts. */
import { newId } from "../lib/id.ts";
import type { Clock } from "../storage/database-clock.ts";
import type { Database, Tx } from "../storage/database.ts";
import { insertAccount, insertEnvironment, listAccounts, type AccountRow } from "./queries.ts";
import { ENVIRONMENTS, type Environment, type Owner } from "../storage/owner.ts";

/** Puts into a new environment what it has to begin with: the features that keep it stand above. */
export type Furnish = (tx: Tx, owner: Owner) => Promise<void>;

const FIRST_TIER: Readonly<Record<Environment, string>> = { test: "sandbox", live: "standard" };

/** Undefined when an account of that name exists. */
export async function createAccount(db: Database, clock: Clock, name: string, furnish: Furnish): Promise<AccountRow | undefined> {
  return db.transaction(async (tx) => {
    const [account] = await insertAccount(tx, newId("acct", clock.now()), name);
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
