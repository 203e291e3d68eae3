/** Moves the embedded database to a newer major version of PostgreSQL: a new cluster with the same schema, into which the new server copies the rows
 *  of the old one, table by table (postgres_fdw). The npm packages contain no pg_upgrade and no pg_dump. The old cluster is kept. */
import { existsSync, mkdirSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import pg from "pg";
import { syncFolders } from "./backup-files.ts";
import type { DatabaseTarget } from "../database/connections.ts";
import { clusterPath, explainDiskError, socketDir } from "./data-directory.ts";
import { ConnectionLost, Database, DatabaseUnavailable } from "../database/database.ts";
import { takeLock } from "./directory-lock.ts";
import { EmbeddedPostgres, embeddedTarget } from "./embedded-postgres.ts";
import { connectAsAdmin, EMBEDDED_ADMIN, EMBEDDED_DATABASE, type SocketAddress } from "./embedded-roles.ts";
import { migrate, readSchema } from "../database/migrate.ts";
import { knownMigrations } from "../database/migrations.ts";
import { findOldProgram, OldServer } from "./old-server.ts";
import { findPrograms } from "./postgres-binaries.ts";
import {
  clusterFolder,
  findInterruptedUpgrade,
  hasCluster,
  recoverReplacement,
  refuseIrreplaceable,
  replaceCluster,
} from "./replace-cluster.ts";
import { keepRestored } from "./restore-backup.ts";
import { chooseUser, type RunAs } from "./run-as.ts";
import { endOrphan } from "./server-processes.ts";
import { StartupError } from "../database/startup-error.ts";

/** The last lines of the new server, among which the reason of a failure is. */
const KEPT_LINES = 50;

export type UpgradeOptions = {
  dataDir: string;
  /** The folder of the npm package with the old server. */
  oldPostgres: string;
  say: (line: string) => void;
  /** Called when a table is copied. */
  onTable: (table: string, rows: number, done: number, all: number) => void;
  /** Aborted with the reason, such as the name of a signal. The old database is then unchanged. */
  signal: AbortSignal;
};

export type UpgradeResult = { from: string; to: string; tables: number; rows: number; kept: string | null };

export async function upgradeCluster(options: UpgradeOptions): Promise<UpgradeResult> {
  const { dataDir, say, signal } = options;
  const cluster = clusterFolder(dataDir);
  if (!hasCluster(cluster) && findInterruptedUpgrade(dataDir) === undefined)
    throw new StartupError(`${dataDir} has no database that this user can read`);
  const { version } = findPrograms(chooseUser(cluster), say);
  const to = version.split(".")[0] ?? "";
  // The service may be running.
  if (hasCluster(cluster) && majorOf(cluster) === to) return { from: to, to, tables: 0, rows: 0, kept: null };
  const lines: string[] = [];
  try {
    return await withLock(dataDir, () => recoverOrUpgrade(cluster, to, { ...options, lines }));
  } catch (error) {
    if (signal.aborted) throw new StartupError(`interrupted by ${signal.reason}: the old database is unchanged`, { cause: error });
    throw explain(error, dirname(cluster), lines);
  }
}

async function withLock<T>(dataDir: string, work: () => Promise<T>): Promise<T> {
  const lock = await takeLock(dataDir, "database");
  if ("owner" in lock) throw new StartupError(`${dataDir} is in use by another godwit (process ${lock.owner.pid}): stop it`);
  try {
    return await work();
  } finally {
    lock.release();
  }
}

type Parts = UpgradeOptions & { lines: string[] };

async function recoverOrUpgrade(cluster: string, to: string, parts: Parts): Promise<UpgradeResult> {
  const workspace = join(dirname(cluster), "upgrade.unfinished");
  await removeWorkspace(workspace);
  const recovered = recoverReplacement(cluster, parts.say);
  const from = majorOf(cluster);
  if (from === to) return { from: majorOf(recovered ?? cluster), to, tables: 0, rows: 0, kept: recovered ?? null };
  if (Number(from) > Number(to))
    throw new StartupError(`${cluster} was written by PostgreSQL ${from}, and this godwit brings ${to}: use a newer godwit`);
  refuseIrreplaceable(cluster, from);
  const runAs = chooseUser(cluster);
  const program = findOldProgram(parts.oldPostgres, from, runAs);
  try {
    await using old = await OldServer.start({ ...parts, cluster, program, runAs });
    const copied = await copyInto(workspace, old, runAs, parts);
    await old.stop();
    const made = realpathSync(clusterPath(workspace));
    keepRestored(cluster, made, runAs);
    await syncFolders([made, dirname(made)]);
    parts.signal.throwIfAborted();
    return { from, to, ...copied, kept: replaceCluster(cluster, made, from) };
  } finally {
    // A folder that is left does not make the result another one.
    await removeWorkspace(workspace).catch((error: Error) => parts.say(`${workspace} is left, and can be deleted: ${error.message}`));
  }
}

/** Removes the workspace, and ends the server that a killed upgrade left in it. */
async function removeWorkspace(workspace: string): Promise<void> {
  if (existsSync(clusterPath(workspace))) await endOrphan(clusterPath(workspace));
  rmSync(workspace, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
}

/** Describes a failed disk, server or statement in one sentence. Any other error is a fault of the program. */
function explain(error: unknown, folder: string, lines: readonly string[]): unknown {
  if (error instanceof StartupError || error instanceof TypeError || !(error instanceof Error)) return error;
  const isLost = error instanceof DatabaseUnavailable || error instanceof ConnectionLost || /Connection terminated/.test(error.message);
  if (!isLost && !("code" in error)) return error;
  const sentence = `the upgrade failed, and the old database is unchanged: ${error.message}`;
  return explainDiskError(new StartupError(sentence, { cause: [error.stack, ...lines].join("\n") }), folder);
}

const majorOf = (cluster: string): string => readFileSync(join(cluster, "PG_VERSION"), "utf8").trim();

/** Creates a cluster in a data directory, for the owner of the old one, and copies everything into it. */
async function copyInto(
  dataDir: string,
  old: OldServer,
  runAs: RunAs | undefined,
  { say, onTable, signal, lines }: Parts,
): Promise<{ tables: number; rows: number }> {
  const version = await readOldSchema(old, say);
  mkdirSync(dataDir, { mode: 0o755 });
  const onLog = (line: string): void => void lines.splice(0, lines.length, ...lines.slice(1 - KEPT_LINES), line);
  const server = await EmbeddedPostgres.start({ dataDir, command: "database", say, onLog, runAs });
  if (!(server instanceof EmbeddedPostgres)) throw new StartupError(`${dataDir} is in use by another godwit`);
  // The statement under way then fails.
  signal.addEventListener("abort", () => void server.stop(), { once: true });
  try {
    signal.throwIfAborted();
    await copySchema(server, old, version);
    await using source = await connected(old.address.host);
    await using target = await connected(socketDir(dataDir));
    return await copyRows(source.client, target.client, old.address, onTable);
  } finally {
    await server.stop();
  }
}

async function connected(host: string): Promise<{ client: pg.Client } & AsyncDisposable> {
  const client = await connectAsAdmin(host);
  return { client, [Symbol.asyncDispose]: () => client.end() };
}

/** Returns the version of the schema, and names the schemas that are not copied. */
async function readOldSchema(old: OldServer, say: UpgradeOptions["say"]): Promise<number> {
  await using oldDb = openAt(embeddedTarget(old.address.host));
  const { version } = await readSchema(oldDb.db);
  if (version > knownMigrations().length)
    throw new StartupError(
      `the database has schema ${version}, newer than the ${knownMigrations().length} this godwit knows: use a newer godwit`,
    );
  const others = await oldDb.db.rows<{ nspname: string }>({ name: "schemas", text: OTHER_SCHEMAS, values: [] });
  if (others.length > 0) say(`not copied, since only the schema public is: ${others.map(({ nspname }) => nspname).join(", ")}`);
  return version;
}

/** Gives the new database the schema of the old one. The next start of the service brings it up to date. */
async function copySchema(server: EmbeddedPostgres, old: OldServer, version: number): Promise<void> {
  await using source = openAt(embeddedTarget(old.address.host));
  await using target = openAt(server.target);
  await migrate(target.db, knownMigrations().slice(0, version));
  const namesIn = async (db: Database): Promise<string[]> =>
    (await db.rows<{ relname: string }>({ name: "names", text: TABLE_NAMES, values: [] })).map(({ relname }) => relname);
  const known = new Set(await namesIn(target.db));
  const unknown = (await namesIn(source.db)).filter((name) => !known.has(name));
  if (unknown.length > 0)
    throw new StartupError(
      `the schema public has tables that are not Godwit's, and are not copied (${unknown.join(", ")}): move them elsewhere`,
    );
  const weeks = await source.db.rows<{ command: string }>({ name: "weeks", text: WEEKS, values: [] });
  for (const { command } of weeks) await target.db.script(command);
}

function openAt(target: DatabaseTarget): { db: Database } & AsyncDisposable {
  const db = new Database(target, "upgrade", () => undefined);
  return { db, [Symbol.asyncDispose]: () => db.close() };
}

const OTHER_SCHEMAS = `
  select nspname
    from pg_namespace
   where nspname !~ '^pg_' and nspname not in ('public', 'information_schema')
   order by nspname`;

const TABLE_NAMES = `
  select relname
    from pg_class
   where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition
   order by relname`;

/** The partitions of weeks, which the service has created. */
const WEEKS = `
  select format('create table if not exists %I partition of %I %s%s', part.relname, parent.relname, pg_get_expr(part.relpartbound, part.oid),
                coalesce(' with (' || array_to_string(part.reloptions, ', ') || ')', '')) as command
    from pg_inherits
    join pg_class parent on parent.oid = inhparent
    join pg_class part on part.oid = inhrelid
   where parent.relkind = 'p' and part.relkind = 'r' and pg_get_expr(part.relpartbound, part.oid) <> 'DEFAULT'
   order by 1`;

/** Every table that has rows of its own, with its columns that are not computed. */
const TABLES = `
  select relname as name,
         (select string_agg(quote_ident(attname), ', ' order by attnum)
            from pg_attribute
           where attrelid = c.oid and attnum > 0 and not attisdropped and attgenerated = '') as columns
    from pg_class c
   where relnamespace = 'public'::regnamespace and relkind = 'r'
   order by relname`;

const SEQUENCES = `
  select format('select setval(%L, %s, %L)', sequencename, coalesce(last_value, start_value), last_value is not null) as command
    from pg_sequences
   where schemaname = 'public'`;

async function copyRows(
  source: pg.Client,
  target: pg.Client,
  { host, port }: SocketAddress,
  onTable: UpgradeOptions["onTable"],
): Promise<{ tables: number; rows: number }> {
  const { rows: tables } = await source.query<{ name: string; columns: string }>(TABLES);
  const quoted = tables.map(({ name }) => pg.escapeIdentifier(name));
  await target.query(`
    create extension postgres_fdw;
    create server old foreign data wrapper postgres_fdw
      options (host ${pg.escapeLiteral(host)}, port '${port}', dbname '${EMBEDDED_DATABASE}', fetch_size '10000');
    create user mapping for current_user server old options (user '${EMBEDDED_ADMIN}');
    create schema old;
    import foreign schema public limit to (${quoted.join(", ")}) from server old into old;
    set session_replication_role = replica;
    truncate ${quoted.map((name) => `public.${name}`).join(", ")}`);
  let rows = 0;
  for (const [index, { name, columns }] of tables.entries()) {
    const table = pg.escapeIdentifier(name);
    const { rowCount } = await target.query(
      `insert into public.${table} (${columns}) overriding system value select ${columns} from old.${table}`,
    );
    const { rows: counts } = await source.query<{ count: string }>(`select count(*) as count from ${table}`);
    if (Number(counts[0]?.count) !== rowCount)
      throw new StartupError(`${name}: ${rowCount} rows were copied of ${counts[0]?.count}; the old database is unchanged`);
    rows += rowCount ?? 0;
    onTable(name, rowCount ?? 0, index + 1, tables.length);
  }
  const { rows: sequences } = await source.query<{ command: string }>(SEQUENCES);
  for (const { command } of sequences) await target.query(command);
  await target.query("drop schema old cascade; drop extension postgres_fdw cascade");
  await target.query("vacuum analyze");
  await target.query("checkpoint");
  return { tables: tables.length, rows };
}
