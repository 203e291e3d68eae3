/** Brings the schema up to date: migrations in order, once, and one process at a time. Other nodes go on working meanwhile: a migration waits
 *  for a lock only briefly, because every statement that needs the table waits behind it. */
import type { Database, Queryable } from "./database.ts";
import { DATABASE_LOCK, LOCKS } from "./locks.ts";
import { MustWait } from "./healing.ts";
import { parseSessionName } from "./session-names.ts";
import { BASELINE, knownMigrations, knownSchema, newestOf, type Migration, type Step } from "./migrations.ts";
import { withShortLocks, type Run } from "./short-locks.ts";
import { sql } from "./sql.ts";
import { StartupError } from "./startup-error.ts";

// The rebuild of a large table takes time, and so does the wait for another node that migrates.
const STATEMENT_TIMEOUT_MS = 30 * 60_000;
const OLDEST_SERVER = 15;
// The requests of running nodes wait as long as a migration waits for its lock. A transaction that holds a table longer than all attempts
// is somebody's forgotten session.
const LOCK_ATTEMPTS = { timeoutMs: 500, pauseMs: 1_000, most: 600 };

export type MigrateResult = { version: number; applied: readonly string[] };

/** Receives the progress of a migration. */
export type MigrationWatch = {
  begun(migration: Migration): void;
  /** A step has ended, or one turn of a repeated step, which changed `rows` so far. */
  advanced(migration: Migration, step: Step, rows: number): void;
  waiting(migration: Migration, attempts: number): void;
};

/** `version` is zero for a database without a schema. `refusal` says why this release does not work on the schema. */
export type SchemaVersion = { version: number; refusal: { reason: string; advice: string } | undefined };

export async function readSchema(db: Queryable): Promise<SchemaVersion> {
  const [table] = await db.rows<{ exists: boolean }>(sql`select to_regclass('schema_migrations') is not null as exists`);
  const applied = table?.exists === true ? await db.rows<AppliedRow>(APPLIED) : [];
  return schemaOf(applied, knownSchema());
}

export const refusedSchema = ({ reason, advice }: { reason: string; advice: string }): StartupError =>
  new StartupError(`${reason}: ${advice}`);

export async function migrate(
  db: Database,
  migrations: readonly Migration[] = knownMigrations(),
  watch?: MigrationWatch,
): Promise<MigrateResult> {
  return db.session(STATEMENT_TIMEOUT_MS, async (run) => {
    const server = await run("select current_setting('server_version_num')::int / 10000 as major");
    const { major } = server.rows[0] as { major: number };
    if (major < OLDEST_SERVER) throw new StartupError(`PostgreSQL ${OLDEST_SERVER} or newer is needed; this server is version ${major}`);
    await run(`select pg_advisory_lock(${DATABASE_LOCK}, ${LOCKS.migrations})`);
    await createTable(run);
    const { rows } = await run(APPLIED.text);
    const { version, refusal } = schemaOf(rows as AppliedRow[], newestOf(migrations));
    if (refusal !== undefined) throw refusedSchema(refusal);
    const pending = migrations.filter((migration) => migration.version > version);
    if (pending.length > 0) await requireOwner(run, { version, needed: newestOf(migrations) });
    await refuseEarlierNodes(run, pending);
    for (const migration of pending) await apply(run, migration, watch);
    // Not in a `finally`: a session that fails is ended, and its lock with it.
    await run(`select pg_advisory_unlock(${DATABASE_LOCK}, ${LOCKS.migrations})`);
    return { version: Math.max(version, newestOf(migrations)), applied: pending.map(({ name }) => name) };
  });
}

const MIGRATION_AWAITED = "the service waits for godwit migrate";

/** Throws if migrations are pending, for a service that must not apply them. */
export async function requireMigrated(db: Queryable): Promise<void> {
  const { version, refusal } = await readSchema(db);
  if (refusal !== undefined) throw refusedSchema(refusal);
  if (version >= knownSchema()) return;
  throw new MustWait(
    `the database has schema ${version}, and this godwit needs ${knownSchema()}: run godwit migrate (GODWIT_MIGRATE is off)`,
    MIGRATION_AWAITED,
  );
}

/** A role that does not own the schema cannot create tables, not even those that exist. */
async function createTable(run: Run): Promise<void> {
  const { rows } = await run("select to_regclass('schema_migrations') is not null as exists");
  if ((rows[0] as { exists: boolean }).exists) return;
  await run(
    "create table if not exists schema_migrations " +
      "(version integer primary key, name text not null, applied_at timestamptz not null default now(), works_with integer)",
  );
}

/** Throws if the role does not own the schema. A node with such a role waits for the owner (src/database/runtime-role.ts). */
async function requireOwner(run: Run, { version, needed }: { version: number; needed: number }): Promise<void> {
  const { rows } = await run(`
    select pg_get_userbyid(relowner) as owner, current_user as role, pg_has_role(relowner, 'usage') as is_owner
      from pg_class
     where oid = to_regclass('schema_migrations')`);
  const { owner, role, is_owner: isOwner } = rows[0] as { owner: string; role: string; is_owner: boolean };
  if (isOwner) return;
  throw new MustWait(
    `the database has schema ${version}, and this godwit needs ${needed}: run godwit migrate as the role ${owner} (${role} does not own the schema)`,
    MIGRATION_AWAITED,
  );
}

/** Throws if a node of a release is connected that does not work on the schema of a pending migration: its messages would be stuck. A node always
 *  has a session, on which it listens. */
async function refuseEarlierNodes(run: Run, pending: readonly Migration[]): Promise<void> {
  const { rows } = await run(`
    select application_name as name,
           coalesce(host(client_addr), case when backend_start is null then 'of the role ' || usename
                                            else 'on the machine of the database' end) as place,
           pid
      from pg_stat_activity
     where datname = current_database() and application_name like 'godwit %'
     order by pid = pg_backend_pid() desc, backend_start`);
  const [own, ...all] = (rows as SessionRow[]).map(({ name, place, pid }) => ({ ...parseSessionName(name), place, pid }));
  const sessions = all.filter(({ node }) => node !== own?.node);
  const migration = pending.find(({ worksWith }) => sessions.some(({ schema = worksWith }) => schema < worksWith));
  if (migration === undefined) return;
  const earlier = sessions.filter(({ schema = migration.worksWith }) => schema < migration.worksWith);
  const nodes = new Map(earlier.map(({ node, place, pid }) => [node, `${place} (session ${pid})`]));
  throw new MustWait(
    `migration ${migration.name} needs all nodes of earlier releases stopped, and ${nodes.size} ${nodes.size === 1 ? "is" : "are"} connected: ` +
      `${[...nodes.values()].slice(0, MAX_NAMED).join(", ")}; stop them, or end their sessions (pg_terminate_backend) if they are gone`,
    "the service waits until all nodes of earlier releases have stopped",
  );
}

/** A role does not see the addresses of other roles' sessions. */
type SessionRow = { name: string; place: string; pid: number };
const MAX_NAMED = 5;

/** `works_with` is null for a migration on whose schema no earlier release works. */
type AppliedRow = { version: number; works_with: number | null };

// A table of version 0.1 has no column `works_with`. It is read all the same, so that its database is refused with a sentence.
const APPLIED = sql`
  select version, (to_jsonb(migration) ->> 'works_with')::integer as works_with
    from schema_migrations migration
   order by version`;

const BEFORE_BASELINE = "run godwit migrate of version 0.2.0, then start this one";

/** A later release may have migrated the database. Its migrations say which earlier releases work on their schema. */
function schemaOf(applied: readonly AppliedRow[], newest: number): SchemaVersion {
  const version = applied.at(-1)?.version ?? 0;
  if (version > 0 && version < BASELINE)
    return { version, refusal: { reason: `the database has schema ${version}, of a version before 0.2.0`, advice: BEFORE_BASELINE } };
  const isUsable = applied.every(
    ({ version: each, works_with: worksWith }) => each <= newest || (worksWith !== null && worksWith <= newest),
  );
  if (isUsable) return { version, refusal: undefined };
  const reason = `the database has schema ${version}, newer than the ${newest} this godwit knows`;
  return { version, refusal: { reason, advice: "run the godwit that wrote it, or a newer one" } };
}

async function apply(run: Run, migration: Migration, watch?: MigrationWatch): Promise<void> {
  const { version, name, worksWith, steps } = migration;
  watch?.begun(migration);
  const note = `insert into schema_migrations (version, name, works_with) values (${version}, '${name}', ${worksWith < version ? worksWith : "null"})`;
  for (const [index, step] of steps.entries()) {
    const isLast = index === steps.length - 1;
    let [changed, all] = [0, 0];
    do {
      const text = isLast && !step.isRepeated ? `${step.text};\n${note}` : step.text;
      const results = await withShortLocks(run, text, { ...LOCK_ATTEMPTS, onWait: (attempts) => watch?.waiting(migration, attempts) });
      changed = results.reduce((sum, { rowCount }) => sum + (rowCount ?? 0), 0);
      all += changed;
      watch?.advanced(migration, step, all);
    } while (step.isRepeated && changed > 0);
    if (isLast && step.isRepeated) await run(note);
  }
}
