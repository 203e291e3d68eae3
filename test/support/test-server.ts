/** PostgreSQL servers for tests. Each is a copy of a cached server that has the migrated template database. */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { chmodSync, existsSync, mkdtempSync, readdirSync, rmSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { Database } from "../../src/database/database.ts";
import { EmbeddedPostgres } from "../../src/embedded/embedded-postgres.ts";
import { EMBEDDED_ADMIN } from "../../src/embedded/embedded-roles.ts";
import { migrate } from "../../src/database/migrate.ts";
import { knownMigrations } from "../../src/database/migrations.ts";
import { createPartitions } from "../../src/database/partitions.ts";
import { findPrograms } from "../../src/embedded/postgres-binaries.ts";
import { cachedFolder, moveIntoPlace } from "./cache.ts";
import { TEMPLATE, urlOf } from "./database.ts";

// These settings give up durability. Tests of durability start other servers.
export const FAST: Readonly<Record<string, string>> = {
  fsync: "off",
  synchronous_commit: "off",
  full_page_writes: "off",
  max_connections: "400",
  // The tests create hundreds of small databases, and drop each after minutes.
  autovacuum: "off",
};

export class TestServer {
  /** The URL of the administrator's database. */
  readonly url: string;
  readonly #server: EmbeddedPostgres;
  readonly #folder: string;

  private constructor(server: EmbeddedPostgres, folder: string) {
    if (!("socketDir" in server.target)) throw new Error("the embedded server listens on a socket");
    this.url = `postgres://${EMBEDDED_ADMIN}@/postgres?host=${encodeURIComponent(server.target.socketDir)}`;
    this.#server = server;
    this.#folder = folder;
  }

  static async start(settings: Readonly<Record<string, string>>): Promise<TestServer> {
    const pristine = pristineFolder();
    if (!existsSync(pristine)) await makePristine(pristine);
    const folder = temporaryFolder();
    copyFolder(pristine, folder);
    return TestServer.#run(folder, settings);
  }

  static async #run(folder: string, settings: Readonly<Record<string, string>>): Promise<TestServer> {
    const server = await EmbeddedPostgres.start({
      dataDir: folder,
      command: "serve",
      say: () => undefined,
      onLog: () => undefined,
      settings,
    });
    if (!(server instanceof EmbeddedPostgres)) throw new Error("the test database is in use");
    return new TestServer(server, folder);
  }

  /** Starts an empty server, runs the work, stops the server, and returns its folder. */
  static async prepare(work: (url: string) => Promise<void>): Promise<string> {
    const folder = temporaryFolder();
    const server = await TestServer.#run(folder, FAST);
    await work(server.url);
    await server.#server.stop();
    return folder;
  }

  async stop(): Promise<void> {
    await this.#server.stop();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/** Creates the template database on a server. */
export async function makeTemplate(url: string): Promise<void> {
  const admin = new pg.Client(url);
  await admin.connect();
  await admin.query(`drop database if exists ${TEMPLATE}`);
  await admin.query(`create database ${TEMPLATE}`);
  await admin.end();
  const db = new Database({ url: urlOf(TEMPLATE, url) }, "template", () => undefined);
  await migrate(db);
  await createPartitions(db, Date.now());
  await db.close();
}

/** The data directory of a server with only the template. The name depends on the schema, the version of the server, the user (a cluster
 *  belongs to one user) and the week (partitions are by week). */
function pristineFolder(): string {
  const hash = createHash("sha256");
  for (const { text } of knownMigrations().flatMap(({ steps }) => steps)) hash.update(text);
  const week = Math.floor(Date.now() / (7 * 24 * 3_600_000));
  hash.update(`${findPrograms(undefined, () => undefined).version} ${process.getuid?.()} ${week}`);
  return join(cachedFolder("servers"), hash.digest("hex").slice(0, 16));
}

async function makePristine(pristine: string): Promise<void> {
  const made = await TestServer.prepare(makeTemplate);
  const servers = cachedFolder("servers");
  // A concurrent run may have made it already, and copies it.
  for (const old of readdirSync(servers).map((name) => join(servers, name)))
    if (old !== pristine) rmSync(old, { recursive: true, force: true });
  const unfinished = mkdtempSync(join(cachedFolder("unfinished"), "server-"));
  try {
    copyFolder(made, unfinished);
    moveIntoPlace(unfinished, pristine);
  } finally {
    for (const folder of [made, unfinished]) rmSync(folder, { recursive: true, force: true });
  }
}

// The databases of a whole run take at most half of it.
const MEMORY_NEEDED_BYTES = 4 * 1024 ** 3;

/** A folder in memory where it has enough room: creating and deleting the thousands of files takes a third of the server's processor time
 *  on a disk. */
function temporaryFolder(): string {
  const memory = "/dev/shm";
  // The file system may allow more than the memory that is available.
  const hasRoom = existsSync(memory) && Math.min(freeBytes(memory), process.availableMemory()) >= MEMORY_NEEDED_BYTES;
  const folder = mkdtempSync(join(hasRoom ? memory : tmpdir(), "godwit-test-"));
  // The user of PostgreSQL needs access.
  chmodSync(folder, 0o755);
  return folder;
}

function freeBytes(path: string): number {
  const { bavail, bsize } = statfsSync(path);
  return bavail * bsize;
}

function copyFolder(from: string, to: string): void {
  // Node's copy functions do not keep owners, and PostgreSQL requires its own user as the owner.
  const copied = spawnSync("cp", ["-a", `${from}/.`, to], { encoding: "utf8" });
  if (copied.status !== 0) throw new Error(`cp: ${copied.stderr}`);
}
