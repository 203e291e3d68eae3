/** The roles of the embedded database. The service uses an ordinary role that owns its database and nothing else; the superuser that
 *  PostgreSQL requires is a role of its own, which only the start uses. */
import pg from "pg";
import { DEFAULT_PORT, socketConfig } from "../database/driver.ts";
import { StartupError } from "../database/startup-error.ts";

export const EMBEDDED_USER = "godwit";
export const EMBEDDED_ADMIN = "godwit_admin";
export const EMBEDDED_DATABASE = "postgres";

/** Creates the ordinary role, or what is missing of it. A start that is interrupted here is continued by the next one. */
export async function ensureRoles(host: string, port: number): Promise<void> {
  const admin = await connectAsAdmin(host, port).catch((error: unknown) => {
    if (!isMissingRole(error)) throw error;
    const reason = "the database was created by a version before 0.2.0: start godwit 0.2.0 on it once, then this one";
    throw new StartupError(reason, { cause: error });
  });
  try {
    const { rows } = await admin.query(`select from pg_roles where rolname = '${EMBEDDED_USER}'`);
    if (rows.length === 0) await admin.query(`create role ${EMBEDDED_USER}`);
    await admin.query(`alter role ${EMBEDDED_USER} login nosuperuser nocreatedb nocreaterole noreplication nobypassrls`);
    await admin.query(`alter database ${EMBEDDED_DATABASE} owner to ${EMBEDDED_USER}`);
  } finally {
    await admin.end();
  }
}

const isMissingRole = (error: unknown): boolean =>
  error instanceof pg.DatabaseError && error.code === "28000" && /role .* does not exist/.test(error.message);

/** Connects as the superuser, to the server with its socket in this folder. The caller ends the connection. */
export async function connectAsAdmin(host: string, port = DEFAULT_PORT): Promise<pg.Client> {
  const client = new pg.Client(socketConfig({ host, port, user: EMBEDDED_ADMIN, database: EMBEDDED_DATABASE }));
  // The statement that is under way fails by itself.
  client.on("error", () => undefined);
  await client.connect();
  return client;
}
