/** The plan of a migration: the pending migrations, the tables that they lock, and how large these tables are. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Queryable } from "./database.ts";
import { readSchema, refusedSchema } from "./migrate.ts";
import { knownMigrations } from "./migrations.ts";
import { sql } from "./sql.ts";

/** The strongest lock that a migration takes on each table that existed before it, by the names of the migrations. A test compares the file with the
 *  locks that the migrations take. */
const LOCKS_FILE = join(import.meta.dirname, "migrations", "locks.json");

export type TableLocks = Readonly<Record<string, string>>;
type PlannedLock = { table: string; lock: string; rows: number; bytes: number };
export type PlannedMigration = {
  version: number;
  name: string;
  works_with: number;
  steps: readonly string[];
  locks: readonly PlannedLock[];
};

export const readLocks = (): Readonly<Record<string, TableLocks>> =>
  JSON.parse(readFileSync(LOCKS_FILE, "utf8")) as Readonly<Record<string, TableLocks>>;

export async function planMigrations(
  db: Queryable,
  { migrations, locks } = { migrations: knownMigrations(), locks: readLocks() },
): Promise<{ schema: number; pending: readonly PlannedMigration[] }> {
  const { version: schema, refusal } = await readSchema(db);
  if (refusal !== undefined) throw refusedSchema(refusal);
  const pending = migrations.filter(({ version }) => version > schema);
  const sizes = new Map((await readSizes(db)).map((size) => [size.table, size]));
  return {
    schema,
    pending: pending.map(({ version, name, worksWith, steps }) => ({
      version,
      name,
      works_with: worksWith,
      steps: steps.map(({ about = "the whole migration", isRepeated }) => (isRepeated ? `${about} (in parts)` : about)),
      locks: Object.entries(locks[name] ?? {}).map(([table, lock]) => {
        const { rows = 0, bytes = 0 } = sizes.get(table) ?? {};
        return { table, lock, rows, bytes };
      }),
    })),
  };
}

/** The estimated rows and the size of every table, with its partitions and indexes. */
const readSizes = (db: Queryable): Promise<{ table: string; rows: number; bytes: number }[]> =>
  db.rows<{ table: string; rows: number; bytes: number }>(sql`
  select root.relname as "table",
         sum(greatest(part.reltuples, 0))::float8 as rows,
         sum(pg_total_relation_size(part.oid))::float8 as bytes
    from pg_class root
    cross join lateral (
           select root.oid
            union
           select relid from pg_partition_tree(root.oid)) tree (oid)
    join pg_class part on part.oid = tree.oid
   where root.relnamespace = 'public'::regnamespace and root.relkind in ('r', 'p') and not root.relispartition
   group by root.relname`);
