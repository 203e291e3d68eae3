/** Runs once before all tests: starts one real PostgreSQL with a migrated template database, and builds the console. */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { chmodSync, existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { Database } from "../../src/storage/database.ts";
import { EmbeddedPostgres } from "../../src/storage/embedded-postgres.ts";
import { knownMigrations, migrate } from "../../src/storage/migrate.ts";
import { makePartitions } from "../../src/storage/partitions.ts";
import { findPrograms } from "../../src/storage/postgres-binaries.ts";
import { cachedFolder } from "./cache.ts";
import { adminUrl, TEMPLATE, urlOf } from "./database.ts";

// The shared server keeps nothing through a crash, and needs not: tests of durability run servers of their own.
const SETTINGS = {
  fsync: "off",
  synchronous_commit: "off",
  full_page_writes: "off",
  max_connections: "400",
  // Hundreds of small databases come and go; vacuuming each of them every 15 seconds would take more time than the tests.
  autovacuum_naptime: "5min",
};

let server: EmbeddedPostgres | undefined;
let folder: string | undefined;

export async function globalSetup(): Promise<void> {
  buildConsole();
  // A server from outside (the Debian package, say) can take the place of the embedded one.
  if (process.env["TEST_DATABASE_URL"] !== undefined) return makeTemplate();
  folder = mkdtempSync(join(tmpdir(), "godwit-test-"));
  chmodSync(folder, 0o755);
  const pristine = pristineFolder();
  if (!existsSync(pristine)) await makePristine(folder, pristine);
  copyFolder(pristine, folder);
  process.env["TEST_DATABASE_URL"] = await startServer(folder);
}

export async function globalTeardown(): Promise<void> {
  await server?.stop();
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
}

function buildConsole(): void {
  const built = spawnSync(process.execPath, [join(import.meta.dirname, "..", "..", "console", "scripts", "build.ts")], {
    stdio: "inherit",
  });
  if (built.status !== 0) throw new Error("the console cannot be built");
}

/** The data directory of a server with the template and nothing else. Another schema, another server, another user (a cluster
 *  belongs to one) and another week (partitions are by week) each have another. */
function pristineFolder(): string {
  const hash = createHash("sha256");
  for (const { text } of knownMigrations()) hash.update(text);
  const week = Math.floor(Date.now() / (7 * 24 * 3_600_000));
  hash.update(`${findPrograms(undefined, () => undefined).version} ${process.getuid?.()} ${week}`);
  return join(cachedFolder("servers"), hash.digest("hex").slice(0, 16));
}

async function makePristine(made: string, pristine: string): Promise<void> {
  process.env["TEST_DATABASE_URL"] = await startServer(made);
  await makeTemplate();
  await server?.stop();
  const servers = cachedFolder("servers");
  for (const old of readdirSync(servers)) rmSync(join(servers, old), { recursive: true, force: true });
  const unfinished = mkdtempSync(join(cachedFolder("unfinished"), "server-"));
  copyFolder(made, unfinished);
  moveFolder(unfinished, pristine);
  rmSync(made, { recursive: true });
}

/** Moved and not copied: a run beside this one must never find half of it. */
function moveFolder(from: string, to: string): void {
  spawnSync("mv", ["-T", from, to]);
}

function copyFolder(from: string, to: string): void {
  // Node's own copy loses owners, and PostgreSQL insists on its own.
  const copied = spawnSync("cp", ["-a", `${from}/.`, to], { encoding: "utf8" });
  if (copied.status !== 0) throw new Error(`cp: ${copied.stderr}`);
}

async function startServer(dataDir: string): Promise<string> {
  const started = await EmbeddedPostgres.start({
    dataDir,
    command: "serve",
    say: () => undefined,
    onLog: () => undefined,
    settings: SETTINGS,
  });
  if (!(started instanceof EmbeddedPostgres)) throw new Error("the test database is in use");
  server = started;
  if (!("socketDir" in started.target)) throw new Error("the embedded server listens on a socket");
  return `postgres://godwit@/postgres?host=${encodeURIComponent(started.target.socketDir)}`;
}

async function makeTemplate(): Promise<void> {
  const admin = new pg.Client(adminUrl());
  await admin.connect();
  await admin.query(`drop database if exists ${TEMPLATE}`);
  await admin.query(`create database ${TEMPLATE}`);
  await admin.end();
  const db = new Database({ url: urlOf(TEMPLATE) }, "template", () => undefined);
  await migrate(db);
  await makePartitions(db, Date.now());
  await db.close();
}
