/** Migrations: forward only, in order, once, and one node at a time. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { assert } from "../lib/assert.ts";
import type { Database, Queryable } from "./database.ts";
import { DATABASE_LOCK, LOCKS } from "./locks.ts";
import { sql } from "./sql.ts";
import { StartupError } from "./startup-error.ts";

const FOLDER = join(import.meta.dirname, "migrations");

// The rebuild of a large table takes time, and so does the wait for another node that migrates.
const STATEMENT_TIMEOUT_MS = 30 * 60_000;
const OLDEST_SERVER = 15;

type Migration = { version: number; name: string; text: string };

export type MigrateResult = { version: number; applied: readonly string[] };

export function knownMigrations(folder = FOLDER): Migration[] {
  const migrations = readdirSync(folder)
    .filter((file) => file.endsWith(".sql"))
    .toSorted()
    .map((file) => ({ version: Number(file.slice(0, 4)), name: file.slice(0, -4), text: readFileSync(join(folder, file), "utf8") }));
  migrations.forEach(({ version, name }, index) => assert(version === index + 1, `migration ${name} is out of order`));
  return migrations;
}

/** The version of the schema; zero for a database without one. */
export async function schemaVersion(db: Queryable): Promise<number> {
  const [table] = await db.rows<{ has_table: boolean }>(sql`select to_regclass('schema_migrations') is not null as has_table`);
  if (table?.has_table !== true) return 0;
  const [row] = await db.rows<{ version: number }>(sql`select coalesce(max(version), 0) as version from schema_migrations`);
  return row?.version ?? 0;
}

export async function migrate(db: Database, migrations: readonly Migration[] = knownMigrations()): Promise<MigrateResult> {
  return db.session(STATEMENT_TIMEOUT_MS, async (run) => {
    const server = await run("select current_setting('server_version_num')::int / 10000 as major");
    const { major } = server.rows[0] as { major: number };
    if (major < OLDEST_SERVER) throw new StartupError(`PostgreSQL ${OLDEST_SERVER} or newer is needed; this server is version ${major}`);
    await run(`select pg_advisory_lock(${DATABASE_LOCK}, ${LOCKS.migrations})`);
    await run(
      "create table if not exists schema_migrations (version integer primary key, name text not null, applied_at timestamptz not null default now())",
    );
    const { rows } = await run("select coalesce(max(version), 0) as version from schema_migrations");
    const current = (rows[0] as { version: number }).version;
    const newest = migrations.length;
    if (current > newest) {
      throw new StartupError(
        `the database has schema ${current}, newer than the ${newest} this godwit knows: run the godwit that wrote it, or a newer one`,
      );
    }
    const pending = migrations.slice(current);
    for (const { version, name, text } of pending) {
      await run(`begin;\n${text};\ninsert into schema_migrations (version, name) values (${version}, '${name}');\ncommit`);
    }
    // Not in a `finally`: a session that fails is ended, and its lock with it.
    await run(`select pg_advisory_unlock(${DATABASE_LOCK}, ${LOCKS.migrations})`);
    return { version: newest, applied: pending.map(({ name }) => name) };
  });
}
