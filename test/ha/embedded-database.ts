/** The embedded database of a service that a test has started with GODWIT_DATA_DIR. */
import assert from "node:assert/strict";
import pg from "pg";
import { socketDir } from "../../src/embedded/data-directory.ts";
import { Database } from "../../src/database/database.ts";
import { EMBEDDED_ADMIN, EMBEDDED_DATABASE, EMBEDDED_USER } from "../../src/embedded/embedded-roles.ts";
import { inspectionOf } from "../support/database.ts";
import { runGodwit } from "../support/harness.ts";

/** Does the work as the role of the service. */
export async function withEmbedded<T>(dataDir: string, work: (db: Database) => Promise<T>): Promise<T> {
  const url = `postgres://${EMBEDDED_USER}@/${EMBEDDED_DATABASE}?host=${encodeURIComponent(socketDir(dataDir))}`;
  const db = new Database(inspectionOf(url), "test", () => undefined);
  try {
    return await work(db);
  } finally {
    await db.close();
  }
}

/** Does the work as the superuser. */
export async function asEmbeddedAdmin<T>(dataDir: string, work: (admin: pg.Client) => Promise<T>): Promise<T> {
  const admin = new pg.Client({ host: socketDir(dataDir), user: EMBEDDED_ADMIN, database: EMBEDDED_DATABASE });
  // The statement that is under way fails by itself.
  admin.on("error", () => undefined);
  await admin.connect();
  try {
    return await work(admin);
  } finally {
    await admin.end();
  }
}

/** Creates a key of the test environment, and turns its quotas off. */
export async function unlimitedKey(dataDir: string): Promise<string> {
  const run = async (...args: string[]): Promise<string> => {
    const { code, stdout, stderr } = await runGodwit(args, { GODWIT_DATA_DIR: dataDir });
    assert.equal(code, 0, stderr);
    return stdout;
  };
  await run("environments", "set-tier", "test", "unlimited");
  const made = await run("keys", "create", "--environment", "test", "--scopes", "messages:send,messages:read", "--json");
  return (JSON.parse(made) as { key: string }).key;
}
