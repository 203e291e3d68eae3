/** Starts a restored backup, and reads every row of every table. PostgreSQL compares each page with its checksum when it reads it. */
import type pg from "pg";
import { EmbeddedPostgres } from "./embedded-postgres.ts";
import { connectAsAdmin } from "./embedded-roles.ts";
import { socketDir } from "./data-directory.ts";
import { StartupError } from "../database/startup-error.ts";

/** Returns the number of all rows. Throws if a row cannot be read. */
export async function readWholeBackup(dataDir: string, onTable: (table: string, rows: number) => void): Promise<number> {
  const server = await EmbeddedPostgres.start({ dataDir, command: "backup", say: () => undefined, onLog: () => undefined });
  if (!(server instanceof EmbeddedPostgres)) throw new StartupError(`${dataDir} is in use by another godwit`);
  let admin: pg.Client | undefined;
  try {
    admin = await connectAsAdmin(socketDir(dataDir));
    const { rows: tables } = await admin.query<{ name: string }>(
      "select oid::regclass::text as name from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r' order by 1",
    );
    let all = 0;
    for (const { name } of tables) {
      // Each row as a whole, also what is stored apart from it.
      const { rows } = await admin.query<{ count: string }>(`select count(hashtext(t::text)) as count from ${name} t`);
      const count = Number(rows[0]?.count ?? 0);
      all += count;
      onTable(name, count);
    }
    return all;
  } finally {
    await admin?.end();
    await server.stop();
  }
}
