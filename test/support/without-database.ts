/** The database is away for a while: nobody is let in, and everybody is thrown out. */
import pg from "pg";
import { until } from "./expect.ts";
import { adminUrl } from "./database.ts";
import { type Godwit } from "./harness.ts";

export async function withoutDatabase<T>(godwit: Godwit, work: () => Promise<T>): Promise<T> {
  const name = new URL((godwit.databaseUrl ?? "").replace("@/", "@localhost/")).pathname.slice(1);
  const admin = new pg.Client(adminUrl());
  await admin.connect();
  const readiness = (status: number): Promise<true> =>
    until(`readiness to be ${status}`, async () => (await godwit.request("GET", "/readyz")).status === status || undefined);
  try {
    await admin.query(`alter database ${name} with allow_connections false`);
    await admin.query("select pg_terminate_backend(pid, 2000) from pg_stat_activity where datname = $1", [name]);
    await readiness(503);
    return await work();
  } finally {
    await admin.query(`alter database ${name} with allow_connections true`);
    await admin.end();
    await readiness(200);
  }
}
