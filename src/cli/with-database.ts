/** Opens the database for a command, and finds the account that the command is about. */
import { randomBytes } from "node:crypto";
import { listAccounts, type AccountRow } from "../access/queries.ts";
import { readConfig, type Config } from "../config.ts";
import { decodeId, encodeId } from "../model/id.ts";
import type { Database } from "../database/database.ts";
import { DatabaseClock } from "../database/database-clock.ts";
import { migrate, requireMigrated } from "../database/migrate.ts";
import { openDatabase } from "../embedded/open-database.ts";
import { requireCluster } from "../embedded/data-directory.ts";
import { UsageError, type Input } from "./command.ts";
import { say } from "./output.ts";

export type OpenedDatabase = { db: Database; clock: DatabaseClock; config: Config };

/** Opens the configured database, migrates it, and closes it when the work is done. A data directory without one is refused: it is
 *  a wrong folder. */
export async function withDatabase<T>(input: Input, command: string, work: (database: OpenedDatabase) => Promise<T>): Promise<T> {
  const { databaseUrl, dataDir } = readConfig(input.flags, "database");
  if (databaseUrl === undefined) requireCluster(dataDir);
  return withNewDatabase(input, command, work);
}

/** As above, for commands that prepare an installation before its first start: creates the database if there is none. */
export const withNewDatabase = <T>({ flags }: Input, command: string, work: (database: OpenedDatabase) => Promise<T>): Promise<T> =>
  withUnmigratedDatabase(readConfig(flags, "database"), command, async (database) => {
    await (database.config.isMigrating ? migrate(database.db) : requireMigrated(database.db));
    return work(database);
  });

/** Opens and closes the database without a migration, for commands that only read. */
export async function withUnmigratedDatabase<T>(
  config: Config,
  command: string,
  work: (database: OpenedDatabase) => Promise<T>,
): Promise<T> {
  const { db, close } = await openDatabase({
    ...config,
    command,
    mayJoin: true,
    nodeName: randomBytes(6).toString("hex"),
    say,
    onLog: () => undefined,
  });
  const clock = new DatabaseClock(db);
  try {
    await clock.start();
    return await work({ db, clock, config });
  } finally {
    clock.stop();
    await close();
  }
}

/** Finds the account by id or name. Without either, returns the only account. */
export async function chooseAccount(db: Database, wanted: string | undefined): Promise<AccountRow> {
  const accounts = await listAccounts(db);
  const id = wanted === undefined ? undefined : decodeId("acct", wanted);
  const found = wanted === undefined ? accounts : accounts.filter((account) => account.name === wanted || id?.equals(account.id));
  const [account] = found;
  if (account !== undefined && found.length === 1) return account;
  const known = accounts.map(({ id: each, name }) => `${name} (${encodeId("acct", each)})`).join(", ");
  if (accounts.length === 0) throw new UsageError("there is no account yet: start the service once, or run godwit accounts create NAME");
  throw new UsageError(
    wanted === undefined ? `there are several accounts, name one with --account: ${known}` : `no account ${wanted}; there are: ${known}`,
  );
}
