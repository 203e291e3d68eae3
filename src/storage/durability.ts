/** Whether the server keeps what it confirmed: settings that only a benchmark of something else would switch off. */
import type { Queryable } from "./database.ts";
import { sql } from "./sql.ts";

const NEEDED = ["fsync", "synchronous_commit", "full_page_writes"] as const;

/** The settings that are off. A promise of ours rests on each of them. */
export async function missingDurability(db: Queryable): Promise<string[]> {
  const rows = await db.rows<{ name: string; setting: string }>(sql`
    select name, setting
      from pg_settings
     where name in ('fsync', 'synchronous_commit', 'full_page_writes')`);
  return NEEDED.filter((name) => rows.find((row) => row.name === name)?.setting === "off");
}
