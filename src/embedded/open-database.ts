/** Opens the database of a configuration: a server by its URL, or the embedded server of the data directory. The embedded server is
 *  started here, or joined when another godwit runs it. */
import { existsSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { within } from "../lib/wait.ts";
import { clusterPath, socketDir } from "./data-directory.ts";
import type { DatabaseTarget } from "../database/connections.ts";
import { tlsHint } from "../database/database-address.ts";
import { Database, DatabaseUnavailable } from "../database/database.ts";
import { findLockHolder, lockPath, type LockHolder } from "./directory-lock.ts";
import { EmbeddedPostgres, embeddedTarget, type EmbeddedOptions } from "./embedded-postgres.ts";
import { sql } from "../database/sql.ts";
import { StartupError } from "../database/startup-error.ts";

export type OpenOptions = Omit<EmbeddedOptions, "settings"> & {
  databaseUrl: string | undefined;
  isDatabasePlaintextAllowed: boolean;
  /** Whether to join a running server. A command may; `serve` needs the directory for itself. */
  mayJoin: boolean;
  nodeName: string;
  /** The most connections of the pool. */
  poolSize?: number | undefined;
};

/** `embedded` is present when the server is a child of this process. */
export type OpenDatabase = { db: Database; close: () => Promise<void>; embedded?: EmbeddedPostgres };

// A command waits this long for another command that uses the directory.
const TURN_TIMEOUT_MS = 30_000;
const TURN_PAUSE_MS = 100;

export async function openDatabase(options: OpenOptions): Promise<OpenDatabase> {
  const { databaseUrl, isDatabasePlaintextAllowed: isPlaintextAllowed, dataDir, mayJoin, nodeName, poolSize, onLog } = options;
  const connect = (target: DatabaseTarget): Database =>
    new Database({ ...target, ...(poolSize === undefined ? {} : { poolSize }) }, nodeName, (error) =>
      onLog(`idle database connection lost: ${error.message}`),
    );
  if (databaseUrl !== undefined) {
    const db = connect({ url: databaseUrl, isPlaintextAllowed });
    return { db: await requireUsable(db), close: () => db.close() };
  }
  const deadline = performance.now() + TURN_TIMEOUT_MS;
  for (;;) {
    // A command joins the server of `serve`. It waits for another command, whose server stops with that command.
    const owner = mayJoin ? await findLockHolder(lockPath(dataDir)) : undefined;
    const server = owner !== undefined && isServer(owner) ? undefined : await EmbeddedPostgres.start(options);
    if (server instanceof EmbeddedPostgres) {
      const db = connect(server.target);
      return { db, close: () => closeBoth(db, server), embedded: server };
    }
    if (server !== undefined && isServer(server.owner) && !mayJoin) throw new StartupError(inUse(dataDir, server.owner));
    if (server === undefined && existsSync(clusterPath(dataDir))) {
      const db = connect(embeddedTarget(socketDir(dataDir)));
      if (await responds(db)) return { db, close: () => db.close() };
      await db.close();
    }
    if (performance.now() > deadline) throw new StartupError(`${dataDir} is in use by another godwit, and its database does not respond`);
    await sleep(TURN_PAUSE_MS);
  }
}

// Connections that are still busy after this are cut when the server stops.
const CLOSE_MS = 3_000;

async function closeBoth(db: Database, server: EmbeddedPostgres): Promise<void> {
  try {
    await within(db.close(), CLOSE_MS);
  } finally {
    await server.stop();
  }
}

const isServer = ({ command }: LockHolder): boolean => command === "serve";
const inUse = (dataDir: string, { pid, host }: LockHolder): string =>
  `${dataDir} is in use by another godwit (process ${pid} on ${host}): stop it, or choose another GODWIT_DATA_DIR`;

async function responds(db: Database): Promise<boolean> {
  try {
    await db.rows(sql`select 1`);
    return true;
  } catch {
    return false;
  }
}

const SHARED_CONNECTIONS =
  "DATABASE_URL leads to a connection pooler that shares server connections between sessions (PgBouncer with pool_mode = transaction or " +
  "statement): set pool_mode = session, or connect to PostgreSQL directly";

/** Reports a wrong password, address or pooler in one sentence for the operator, without the secret of the URL. */
async function requireUsable(db: Database): Promise<Database> {
  try {
    if (await db.sharesServerConnections()) throw new StartupError(SHARED_CONNECTIONS);
    return db;
  } catch (error) {
    await db.close();
    if (error instanceof StartupError) throw error;
    const cause = error instanceof DatabaseUnavailable ? error.cause : error;
    const reasons =
      cause instanceof AggregateError
        ? cause.errors.map((each: unknown) => (each instanceof Error ? each.message : String(each)))
        : [cause instanceof Error ? cause.message : String(cause)];
    const reason = reasons.join("; ");
    throw new StartupError(`the database of DATABASE_URL cannot be used: ${reason}${tlsHint(reason)}`, { cause: error });
  }
}
