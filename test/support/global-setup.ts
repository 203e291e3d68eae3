/** Runs once before all tests: builds the console, and starts the PostgreSQL server that the tests share. */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { FAST, makeTemplate, TestServer } from "./test-server.ts";

let server: TestServer | undefined;

export async function globalSetup(): Promise<void> {
  buildPages();
  // Another server, such as that of the Debian package, can replace the embedded one.
  const external = process.env["TEST_DATABASE_URL"];
  if (external !== undefined) return makeTemplate(external);
  server = await TestServer.start(FAST);
  process.env["TEST_DATABASE_URL"] = server.url;
}

export async function globalTeardown(): Promise<void> {
  await server?.stop();
}

/** Builds the console and the documentation, which the service serves as files. */
function buildPages(): void {
  for (const folder of ["console", "site"]) {
    const script = join(import.meta.dirname, "..", "..", folder, "scripts", "build.ts");
    const { status } = spawnSync(process.execPath, [script], { stdio: "inherit" });
    if (status !== 0) throw new Error(`${folder} cannot be built`);
  }
}
