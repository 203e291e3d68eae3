/** Once before all tests: one real PostgreSQL, on which every test file gets databases of its own, and the console as its sources are now. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, chmodSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { EmbeddedPostgres } from "../../src/storage/embedded-postgres.ts";

let server: EmbeddedPostgres | undefined;
let folder: string | undefined;

export async function globalSetup(): Promise<void> {
  const built = spawnSync(process.execPath, [join(import.meta.dirname, "..", "..", "console", "scripts", "build.ts")], {
    stdio: "inherit",
  });
  if (built.status !== 0) throw new Error("the console cannot be built");
  // A server from outside (the Debian package, say) can be put in its place.
  if (process.env["TEST_DATABASE_URL"] !== undefined) return;
  folder = mkdtempSync(join(tmpdir(), "godwit-test-"));
  chmodSync(folder, 0o755);
  const started = await EmbeddedPostgres.start({ dataDir: folder, command: "serve", say: () => undefined, onLog: () => undefined });
  if (!(started instanceof EmbeddedPostgres)) throw new Error("the test database is in use");
  server = started;
  if (!("socketDir" in started.target)) throw new Error("the embedded server listens on a socket");
  process.env["TEST_DATABASE_URL"] = `postgres://godwit@/postgres?host=${encodeURIComponent(started.target.socketDir)}`;
}

export async function globalTeardown(): Promise<void> {
  await server?.stop();
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
}
