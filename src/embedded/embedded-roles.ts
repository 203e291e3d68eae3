/** The roles of the embedded database. The service uses an ordinary role that owns its database and nothing else; the superuser that
 *  PostgreSQL requires is a role of its own, which only the start uses. */
import pg from "pg";

export const EMBEDDED_USER = "godwit";
export const EMBEDDED_ADMIN = "godwit_admin";
export const EMBEDDED_DATABASE = "postgres";

/** Exists only while a cluster of version 0.1 is converted. */
const CONVERTER = "godwit_converter";

// It is part of the name of the socket. The server listens on no port.
export const DEFAULT_PORT = 5432;

export type SocketAddress = { host: string; port: number };

type Run = (text: string) => Promise<pg.QueryResult>;

/** Creates the roles, or what is missing of them. A start that is interrupted here is continued by the next one. */
export async function ensureRoles(address: SocketAddress): Promise<void> {
  try {
    await asRole(address, EMBEDDED_ADMIN, ensureOrdinaryRole);
  } catch (error) {
    if (!isMissingRole(error)) throw error;
    await renameSuperuser(address);
    await asRole(address, EMBEDDED_ADMIN, ensureOrdinaryRole);
  }
}

/** Version 0.1 created the cluster with `godwit` as its superuser. PostgreSQL neither takes that attribute from the role that created a
 *  cluster, nor renames the role of the own session, so another superuser renames it. */
async function renameSuperuser(address: SocketAddress): Promise<void> {
  await asRole(address, EMBEDDED_USER, async (run) => {
    const { rows } = await run(`select from pg_roles where rolname = '${CONVERTER}'`);
    if (rows.length === 0) await run(`create role ${CONVERTER} superuser login`);
  });
  await asRole(address, CONVERTER, (run) => run(`alter role ${EMBEDDED_USER} rename to ${EMBEDDED_ADMIN}`));
}

async function ensureOrdinaryRole(run: Run): Promise<void> {
  await run(`drop role if exists ${CONVERTER}`);
  const { rows } = await run(`select from pg_roles where rolname = '${EMBEDDED_USER}'`);
  if (rows.length === 0) await run(`create role ${EMBEDDED_USER}`);
  await run(`alter role ${EMBEDDED_USER} login nosuperuser nocreatedb nocreaterole noreplication nobypassrls`);
  await run(`alter database ${EMBEDDED_DATABASE} owner to ${EMBEDDED_USER}`);
  // Each in a transaction of its own: together they could need more locks than the server has.
  const { rows: left } = await run(NOT_OWNED);
  for (const { command } of left as { command: string }[]) await run(command);
}

/** A command for each object of the service that belongs to another role. Indexes, and sequences of columns, follow their table. */
const NOT_OWNED = `
  select format('alter %s %s owner to ${EMBEDDED_USER}', kind, name) as command
    from (select case relkind when 'S' then 'sequence' when 'v' then 'view' else 'table' end as kind,
                 oid::regclass::text as name,
                 relowner as owner
            from pg_class c
           where relnamespace = 'public'::regnamespace
             and relkind in ('r', 'p', 'v', 'S')
             and not (relkind = 'S' and exists (select from pg_depend where objid = c.oid and deptype in ('a', 'i')))
           union all
          select 'routine', oid::regprocedure::text, proowner
            from pg_proc
           where pronamespace = 'public'::regnamespace) object
   where owner <> '${EMBEDDED_USER}'::regrole
   order by name`;

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
