/** Databases for tests, on the shared server that the runner starts. */
import { randomBytes } from "node:crypto";
import pg from "pg";
import type { DatabaseTarget } from "../../src/database/connections.ts";

/** The migrated database from which all other test databases are copied. */
export const TEMPLATE = "godwit_template";

function adminUrl(): string {
  const url = process.env["TEST_DATABASE_URL"];
  if (url === undefined) throw new Error("run the tests with npm test, which starts their database");
  return url;
}

/** The URL of another database on the same server. */
export const urlOf = (name: string, url = adminUrl()): string => url.replace(/\/[^/?]*(\?|$)/, `/${name}$1`);

// The connections of the service permit only joins by index, and limit a statement to ten seconds. Statements of tests join whole tables.
const INSPECTION_TIMEOUT_MS = 120_000;

/** How long tests wait for a connection. The service gives up after five seconds, which a busy machine can take. */
export const CONNECT_TIMEOUT_MS = 120_000;

/** The same database, for the statements of a test. */
export const inspectionOf = (url: string): DatabaseTarget => ({
  url: `${url}${url.includes("?") ? "&" : "?"}query_timeout=${INSPECTION_TIMEOUT_MS}`,
  settings: { jit: "off", statement_timeout: `${INSPECTION_TIMEOUT_MS}ms` },
  connectTimeoutMs: CONNECT_TIMEOUT_MS,
});

/** A new database with the current schema and this month's partitions. */
export const createDatabase = (): Promise<string> => create(`template ${TEMPLATE} strategy file_copy`);

/** A new database without a schema. */
export const createEmptyDatabase = (): Promise<string> => create("");

const created: string[] = [];

async function create(source: string): Promise<string> {
  const name = `test_${randomBytes(6).toString("hex")}`;
  await asAdmin((client) => client.query(`create database ${name} ${source}`));
  // The databases are dropped at the end of the file, because some tests start a second service on the same database.
  if (created.length === 0) process.once("beforeExit", () => void dropAll());
  created.push(name);
  return urlOf(name);
}

/** Turns the deadlock check off for new connections. A deadlock then lasts until the time limit of its statements, and fails the test,
 *  instead of being resolved by the database after one second. */
export const withoutDeadlockCheck = (url: string): Promise<void> =>
  asAdmin((client) => client.query(`alter database ${new pg.Client(url).database} set deadlock_timeout = '10min'`));

/** Drops the databases. Each takes ten megabytes, mostly of memory. */
const dropAll = (): Promise<void> =>
  asAdmin(async (client) => {
    for (const name of created.splice(0)) await client.query(`drop database if exists ${name} with (force)`);
  });

/** Runs statements on the server that holds all databases of the tests. */
export async function asAdmin(work: (client: pg.Client) => Promise<unknown>): Promise<void> {
  const client = new pg.Client(adminUrl());
  await client.connect();
  try {
    await work(client);
  } finally {
    await client.end();
  }
}
