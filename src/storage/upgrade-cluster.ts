/** Moves the embedded database to a newer major version of PostgreSQL: a new cluster with the same schema, into which the new server copies the rows
 *  of the old one, table by table (postgres_fdw). The npm packages contain no pg_upgrade and no pg_dump. The old cluster is kept. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, chownSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import pg from "pg";
import { poll } from "../lib/wait.ts";
import { syncFolders } from "./backup-files.ts";
import { identity } from "./cluster.ts";
import { clusterPath, socketDir } from "./data-directory.ts";
import { Database } from "./database.ts";
import { takeLock } from "./directory-lock.ts";
import { EmbeddedPostgres, embeddedTarget } from "./embedded-postgres.ts";
import { connectAsAdmin, DEFAULT_PORT, EMBEDDED_ADMIN, EMBEDDED_DATABASE, ensureRoles, type SocketAddress } from "./embedded-roles.ts";
import { migrate, readSchema } from "./migrate.ts";
import { knownMigrations } from "./migrations.ts";
import { createLinks, findPrograms } from "./postgres-binaries.ts";
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
import { StartupError } from "./startup-error.ts";

const START_MS = 120_000;

export type UpgradeOptions = {
  dataDir: string;
  /** The folder of the npm package with the old server. */
  oldPostgres: string;
  say: (line: string) => void;
  /** Called when a table is copied. */
  onTable: (table: string, rows: number, done: number, all: number) => void;
};

export type UpgradeResult = { from: string; to: string; tables: number; rows: number; kept: string | null };

export async function upgradeCluster({ dataDir, oldPostgres, say, onTable }: UpgradeOptions): Promise<UpgradeResult> {
  const cluster = clusterFolder(dataDir);
  if (!hasCluster(cluster) && findInterruptedUpgrade(dataDir) === undefined) throw new StartupError(`${dataDir} has no database`);
  const { version } = findPrograms(chooseUser(cluster), say);
  const to = version.split(".")[0] ?? "";
  // The service may be running.
  if (hasCluster(cluster) && majorOf(cluster) === to) return { from: to, to, tables: 0, rows: 0, kept: null };
  const lock = await takeLock(dataDir, "database");
  if ("owner" in lock) throw new StartupError(`${dataDir} is in use by another godwit (process ${lock.owner.pid}): stop it`);
  const workspace = join(dirname(cluster), "upgrade.unfinished");
  try {
    rmSync(workspace, { recursive: true, force: true });
    const recovered = recoverReplacement(cluster, say);
    const runAs = chooseUser(cluster);
    const from = majorOf(cluster);
    if (from === to) return { from: majorOf(recovered ?? cluster), to, tables: 0, rows: 0, kept: recovered ?? null };
    if (Number(from) > Number(to))
      throw new StartupError(`${cluster} was written by PostgreSQL ${from}, and this godwit brings ${version}: use a newer godwit`);
    refuseIrreplaceable(cluster, from);
    await using old = await OldServer.start(cluster, oldProgram(oldPostgres, from), runAs);
    const copied = await copyInto(workspace, old, { say, onTable });
    await old[Symbol.asyncDispose]();
    const made = realpathSync(clusterPath(workspace));
    keepRestored(cluster, made, runAs);
    await syncFolders([made, dirname(made)]);
    return { from, to, ...copied, kept: replaceCluster(cluster, made, from) };
  } finally {
    rmSync(workspace, { recursive: true, force: true });
    lock.release();
  }
}

const majorOf = (cluster: string): string => readFileSync(join(cluster, "PG_VERSION"), "utf8").trim();

function oldProgram(folder: string, major: string): string {
  const native = join(folder, "native");
  const program = join(native, "bin", "postgres");
  if (!existsSync(program)) throw new StartupError(`${folder} has no PostgreSQL: name the folder of the npm package of version ${major}`);
  createLinks(native);
  return program;
}

/** The server of the old version, on a socket of its own. */
class OldServer implements AsyncDisposable {
  readonly address: SocketAddress;
  readonly #stop: () => Promise<void>;

  private constructor(address: SocketAddress, stop: () => Promise<void>) {
    this.address = address;
    this.#stop = stop;
  }

  static async start(cluster: string, program: string, runAs: RunAs | undefined): Promise<OldServer> {
    const sockets = mkdtempSync(join(tmpdir(), "godwit-upgrade-"));
    if (runAs !== undefined) chownSync(sockets, runAs.uid, runAs.gid);
    const settings = ["-c", "listen_addresses=", "-c", `unix_socket_directories=${sockets}`, "-c", "log_min_messages=fatal"];
    const child = spawn(program, ["-D", cluster, ...settings], {
      ...identity(runAs),
      cwd: "/",
      env: { LC_ALL: "C", TZ: "UTC" },
      stdio: ["ignore", "ignore", "pipe"],
    });
    let output = "";
    child.stderr.on("data", (chunk: Buffer) => (output += chunk.toString()));
    const ended = once(child, "exit");
    const stop = async (): Promise<void> => {
      child.kill("SIGINT");
      await ended;
      rmSync(sockets, { recursive: true, force: true });
    };
    const address = { host: sockets, port: DEFAULT_PORT };
    const isReady = async (): Promise<true | undefined> => {
      if (child.exitCode !== null)
        throw new StartupError(`PostgreSQL of the old version did not start: ${output.trim().split("\n").at(-1) ?? ""}`);
      return existsSync(join(sockets, `.s.PGSQL.${DEFAULT_PORT}`))
        ? ensureRoles(address).then(
            () => true as const,
            () => undefined,
          )
        : undefined;
    };
    if ((await poll(isReady, { timeoutMs: START_MS, everyMs: 100 })) === undefined) {
      await stop();
      throw new StartupError("PostgreSQL of the old version did not become ready");
    }
    return new OldServer(address, stop);
  }

  connect(): Promise<pg.Client> {
    return connectAsAdmin(this.address.host);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#stop();
  }
}

type Watch = Pick<UpgradeOptions, "say" | "onTable">;

/** Creates a cluster in a data directory, and copies everything into it. */
async function copyInto(dataDir: string, old: OldServer, { say, onTable }: Watch): Promise<{ tables: number; rows: number }> {
  mkdirSync(dataDir, { mode: 0o755 });
  const server = await EmbeddedPostgres.start({ dataDir, command: "database", say, onLog: () => undefined });
  if (!(server instanceof EmbeddedPostgres)) throw new StartupError(`${dataDir} is in use by another godwit`);
  const source = await old.connect();
  try {
    await copySchema(server, old);
    const target = await connectAsAdmin(socketDir(dataDir));
    try {
      return await copyRows(source, target, old.address, onTable);
    } finally {
      await target.end();
    }
  } finally {
    await source.end();
    await server.stop();
  }
}

/** Gives the new database the schema of the old one. The next start of the service brings it up to date. */
async function copySchema(server: EmbeddedPostgres, old: OldServer): Promise<void> {
  const silent = (): undefined => undefined;
  const [oldDb, db] = [new Database(embeddedTarget(old.address.host), "upgrade", silent), new Database(server.target, "upgrade", silent)];
  try {
    const { version, isUsable } = await readSchema(oldDb);
    if (!isUsable) throw new StartupError(`the database has schema ${version}, newer than this godwit knows: use a newer godwit`);
    await migrate(db, knownMigrations().slice(0, version));
    const weeks = await oldDb.rows<{ command: string }>({ name: "weeks", text: WEEKS, values: [] });
    for (const { command } of weeks) await db.script(command);
  } finally {
    await Promise.all([oldDb.close(), db.close()]);
  }
}

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
  onTable: Watch["onTable"],
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
