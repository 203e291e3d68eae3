/** The PostgreSQL server, the console and the documentation that all test files of a run share. */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { findBrowser } from "../browsers.ts";
import { FAST, makeTemplate, TestServer } from "../../test/support/test-server.ts";

let server: TestServer | undefined;

/** Starts the server. Another one, such as that of the Debian package, can replace it. */
export async function startServer(): Promise<void> {
  const external = process.env["TEST_DATABASE_URL"];
  if (external !== undefined) return makeTemplate(external);
  server = await TestServer.start(FAST);
  process.env["TEST_DATABASE_URL"] = server.url;
}

export async function stopServer(): Promise<void> {
  await server?.stop();
}

/** Installs the browsers of these files before the files begin: the installation takes minutes on a busy machine, and the time of a file is
 *  limited. The tests skip themselves, with the reason, if there is no browser. */
export function installBrowsers(files: readonly string[]): void {
  if (files.some((file) => file.startsWith("test/browser/"))) findBrowser("Chromium");
  if (files.some((file) => file.startsWith("test/firefox/"))) findBrowser("Firefox");
}

/** Builds the console and the documentation, which the service serves as files. */
export function buildPages(): void {
  for (const folder of ["console", "site"]) {
    const script = join(import.meta.dirname, "..", "..", folder, "scripts", "build.ts");
    const { status } = spawnSync(process.execPath, [script], { stdio: "inherit" });
    if (status !== 0) throw new Error(`${folder} cannot be built`);
  }
}
