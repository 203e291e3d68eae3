/** The health of the database: figures that show early when dead rows slow down a queue, and the settings of the server. */
import type { Database, Queryable } from "./database.ts";
import { sql } from "./sql.ts";

export type Health = { deadTuples: { table: string; rows: number }[]; oldestXminAge: number };

/** Reads the dead rows by table, with partitions counted for their table, and the age of the oldest snapshot, which prevents their
 *  removal. */
export async function readHealth(db: Queryable): Promise<Health> {
  const deadTuples = await db.rows<{ table: string; rows: number }>(sql`
  select regexp_replace(relname, '_(\\d{8}|default)$', '') as "table", sum(n_dead_tup)::bigint as rows
    from pg_stat_user_tables
   group by 1`);
  const [horizon] = await db.rows<{ age: number }>(sql`
  select greatest((select max(age(backend_xmin)) from pg_stat_activity where backend_xmin is not null),
                  (select max(age(xmin)) from pg_replication_slots where xmin is not null),
                  0)::bigint as age`);
  return { deadTuples, oldestXminAge: horizon?.age ?? 0 };
}

/** Runs each statement in a read-only transaction, so that the server prevents any change. */
export const onlyReading = (db: Database): Queryable => ({
  rows: (statement) =>
    db.transaction(async (tx) => {
      await tx.rows(sql`set transaction read only`);
      return tx.rows(statement);
    }),
});

export type ServerState = { version: string; nowMs: number; mostConnections: number; usedConnections: number };

/** Reads the version of the server, its clock, and the limit of connections for users who are not superusers. */
export async function readServer(db: Queryable): Promise<ServerState> {
  const [row] = await db.rows<{ version: string; now_ms: number; most: number; used: number }>(sql`
  select current_setting('server_version') as version,
         (extract(epoch from clock_timestamp()) * 1000)::float8 as now_ms,
         least(current_setting('max_connections')::integer - current_setting('superuser_reserved_connections')::integer
                 - coalesce(current_setting('reserved_connections', true), '0')::integer,
               (select nullif(rolconnlimit, -1) from pg_roles where rolname = current_user),
               (select nullif(datconnlimit, -1) from pg_database where datname = current_database())) as most,
         -- The type is null for the sessions of other roles, which have a database like all clients.
         (select count(*)::integer
            from pg_stat_activity
           where datid is not null and usesysid is not null and coalesce(backend_type, 'client backend') = 'client backend') as used`);
  return {
    version: row?.version ?? "",
    nowMs: row?.now_ms ?? 0,
    mostConnections: row?.most ?? 0,
    usedConnections: row?.used ?? 0,
  };
}

/** Whether pages have checksums, and how many damaged ones the server has read in this database. */
export async function readChecksums(db: Queryable): Promise<{ areOn: boolean; failures: number }> {
  const [row] = await db.rows<{ are_on: boolean; failures: number }>(sql`
    select current_setting('data_checksums') = 'on' as are_on,
           coalesce((select checksum_failures from pg_stat_database where datname = current_database()), 0)::float8 as failures`);
  return { areOn: row?.are_on === true, failures: row?.failures ?? 0 };
}

/** Returns the settings that are off. Without any one of them the server may lose committed transactions. */
export async function missingDurability(db: Queryable): Promise<string[]> {
  const rows = await db.rows<{ name: string }>(sql`
    select name
      from unnest(array['fsync', 'synchronous_commit', 'full_page_writes']) name
     where current_setting(name) = 'off'`);
  return rows.map(({ name }) => name);
}

/** For what a commit waits, and the standbys that it may wait for. */
export async function readCommitWait(db: Queryable): Promise<{ synchronousCommit: string; standbyNames: string }> {
  const [row] = await db.rows<{ commit: string; names: string }>(sql`
    select current_setting('synchronous_commit') as commit,
           current_setting('synchronous_standby_names') as names`);
  return { synchronousCommit: row?.commit ?? "", standbyNames: row?.names ?? "" };
}
