/** Builds the console into dist/, unless dist/ was built from the same sources. Runs after `npm ci`, before the tests, and before
 *  `npm start`. With `if-possible`, a failure is only reported and the service starts without a console, as in a read-only checkout. */
import { createHash } from "node:crypto";
import { chmodSync, existsSync, globSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import config from "../vite.config.ts";

const FOLDER = join(import.meta.dirname, "..");
const ROOT = join(FOLDER, "..");
const DIST = join(FOLDER, "dist");
const FINGERPRINT_FILE = ".sources";
const SOURCES = ["console/{index.html,package.json,vite.config.ts}", "console/src/**/*.*", "sdk/src/**/*.ts", "package-lock.json"];

function fingerprint(): string {
  const hash = createHash("sha256");
  for (const path of globSync(SOURCES, { cwd: ROOT }).toSorted()) hash.update(`${path}\n`).update(readFileSync(join(ROOT, path)));
  return hash.digest("hex");
}

const say = (text: string): void => void process.stderr.write(`${text}\n`);

const isMissing = (error: unknown): boolean => error instanceof Error && "code" in error && error.code === "ERR_MODULE_NOT_FOUND";

async function buildConsole(): Promise<void> {
  const sources = fingerprint();
  if (existsSync(join(DIST, FINGERPRINT_FILE)) && readFileSync(join(DIST, FINGERPRINT_FILE), "utf8") === sources) return;
  const vite = await import("vite").catch((error: unknown) => {
    if (isMissing(error)) return undefined;
    throw error;
  });
  if (vite === undefined) return say("The console is not built: Vite is not installed here (npm ci without --omit=dev installs it).");
  // The build goes to a new folder that then replaces dist/, so that a running service never serves half a console.
  const fresh = mkdtempSync(join(FOLDER, ".dist-"));
  try {
    await vite.build({
      ...config,
      root: FOLDER,
      configFile: false,
      logLevel: "warn",
      build: { ...config.build, outDir: fresh, emptyOutDir: true },
    });
    writeFileSync(join(fresh, FINGERPRINT_FILE), sources);
    // mkdtemp keeps the folder to its owner, but a service that root starts continues as another user.
    chmodSync(fresh, 0o755);
    rmSync(DIST, { recursive: true, force: true });
    renameSync(fresh, DIST);
  } finally {
    rmSync(fresh, { recursive: true, force: true });
  }
}

try {
  await buildConsole();
} catch (error) {
  if (process.argv[2] !== "if-possible") throw error;
  say(`The console cannot be built, and is left out: ${(error as Error).message}`);
}
