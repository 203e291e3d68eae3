/** How the database is doing: the figures by which one sees a queue in it choke before it does. */
import type { Queryable } from "./database.ts";
import { sql } from "./sql.ts";

export type Health = { deadTuples: { table: string; rows: number }[]; oldestXminAge: number };

/** Dead rows by table, partitions counted with their table, and how old the oldest snapshot is that keeps them from being
 *  cleaned away. */
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
