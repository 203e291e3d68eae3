/** Outages of the database: connections that are cut, and a database that accepts no new ones. */
import pg from "pg";
import { until } from "./expect.ts";
import { asAdmin } from "./database.ts";
import type { Godwit } from "./harness.ts";

const nameOf = (databaseUrl: string | undefined): string => new pg.Client(databaseUrl).database ?? "";

/** Ends the sessions of the database that meet the condition on `pg_stat_activity`, and waits until they have ended. */
export const cutConnections = (databaseUrl: string | undefined, condition = "true"): Promise<void> =>
  asAdmin((admin) =>
    admin.query(`select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = $1 and ${condition}`, [nameOf(databaseUrl)]),
  );

export const allowConnections = (databaseUrl: string | undefined, isAllowed: boolean): Promise<void> =>
  asAdmin((admin) => admin.query(`alter database ${nameOf(databaseUrl)} with allow_connections ${isAllowed}`));

/** Does the work while the service has no database: new connections are refused, and the existing ones are cut. */
export async function withoutDatabase<T>(godwit: Godwit, work: () => Promise<T>): Promise<T> {
  const readiness = (status: number): Promise<true> =>
    until(`readiness to be ${status}`, async () => (await godwit.request("GET", "/readyz")).status === status || undefined);
  try {
    await allowConnections(godwit.databaseUrl, false);
    await cutConnections(godwit.databaseUrl);
    await readiness(503);
    return await work();
  } finally {
    await allowConnections(godwit.databaseUrl, true);
    await readiness(200);
  }
}
