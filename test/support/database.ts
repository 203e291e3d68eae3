/** Databases for tests, on the shared server that `global-setup.ts` starts. */
import { randomBytes } from "node:crypto";
import pg from "pg";

/** The migrated database that every other one is a copy of. */
export const TEMPLATE = "godwit_template";

function adminUrl(): string {
  const url = process.env["TEST_DATABASE_URL"];
  if (url === undefined) throw new Error("run the tests with npm test: it starts the database they need");
  return url;
}

/** The URL of a database beside the one that a URL names. */
export const urlOf = (name: string, url = adminUrl()): string => url.replace(/\/[^/?]*(\?|$)/, `/${name}$1`);

// The service's connections are set up for its own statements: no joins but by index, and ten seconds at most. Statements of tests join whole
// tables.
const PLANNED = { options: "-c jit=off", statement_timeout: "120000", query_timeout: "120000" };

/** The URL of the same database, for a look at it from a test. */
export const lookingUrl = (url: string): string =>
  `${url}${url.includes("?") ? "&" : "?"}${new URLSearchParams(PLANNED).toString().replaceAll("+", "%20")}`;

/** A new database with the current schema and this month's partitions. */
export const createDatabase = (): Promise<string> => create(`template ${TEMPLATE} strategy file_copy`);

/** A new database without a schema. */
export const createEmptyDatabase = (): Promise<string> => create("");

const created: string[] = [];

async function create(source: string): Promise<string> {
  const name = `test_${randomBytes(6).toString("hex")}`;
  await asAdmin((client) => client.query(`create database ${name} ${source}`));
  // At the end of the file and not with the service: some tests start a second one on the same database.
  if (created.length === 0) process.once("beforeExit", () => void dropAll());
  created.push(name);
  return urlOf(name);
}

/** Connections that are opened from now on wait for each other in a circle until their statements are cut off, with an error: the database
 *  does not end a circle by itself after a second. */
export const withoutDeadlockCheck = (url: string): Promise<void> =>
  asAdmin((client) => client.query(`alter database ${new pg.Client(url).database} set deadlock_timeout = '10min'`));

/** Ten megabytes each, and autovacuum would visit every one of them. */
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
