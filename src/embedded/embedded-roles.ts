/** The roles of the embedded database. The service uses an ordinary role that owns its database and nothing else; the superuser that
 *  PostgreSQL requires is a role of its own, which only the start uses. */
import pg from "pg";
import { StartupError } from "../database/startup-error.ts";

export const EMBEDDED_USER = "godwit";
export const EMBEDDED_ADMIN = "godwit_admin";
export const EMBEDDED_DATABASE = "postgres";

// It is part of the name of the socket. The server listens on no port.
export const DEFAULT_PORT = 5432;

export type SocketAddress = { host: string; port: number };

type Run = (text: string) => Promise<pg.QueryResult>;

/** Creates the ordinary role, or what is missing of it. A start that is interrupted here is continued by the next one. */
export async function ensureRoles(address: SocketAddress): Promise<void> {
  try {
    await asRole(address, EMBEDDED_ADMIN, ensureOrdinaryRole);
  } catch (error) {
    if (!isMissingRole(error)) throw error;
    throw new StartupError("the database was created by a version before 0.2.0: start godwit 0.2.0 on it once, then this one", {
      cause: error,
    });
  }
}

async function ensureOrdinaryRole(run: Run): Promise<void> {
  const { rows } = await run(`select from pg_roles where rolname = '${EMBEDDED_USER}'`);
  if (rows.length === 0) await run(`create role ${EMBEDDED_USER}`);
  await run(`alter role ${EMBEDDED_USER} login nosuperuser nocreatedb nocreaterole noreplication nobypassrls`);
  await run(`alter database ${EMBEDDED_DATABASE} owner to ${EMBEDDED_USER}`);
}

const isMissingRole = (error: unknown): boolean =>
  error instanceof pg.DatabaseError && error.code === "28000" && /role .* does not exist/.test(error.message);

/** Connects as the superuser, to the server with its socket in this folder. The caller ends the connection. */
export const connectAsAdmin = (host: string): Promise<pg.Client> => connectAs({ host, port: DEFAULT_PORT }, EMBEDDED_ADMIN);

async function connectAs(address: SocketAddress, user: string): Promise<pg.Client> {
  const client = new pg.Client({ ...address, user, database: EMBEDDED_DATABASE });
  // The statement that is under way fails by itself.
  client.on("error", () => undefined);
  await client.connect();
  return client;
}

async function asRole<T>(address: SocketAddress, user: string, work: (run: Run) => Promise<T>): Promise<T> {
  const client = await connectAs(address, user);
  try {
    return await work((text) => client.query(text));
  } finally {
    await client.end();
  }
}
