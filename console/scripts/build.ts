/** Builds the console into dist/, unless what is there was made of the same sources. Runs after `npm ci` and before `npm start`. */
import { createHash } from "node:crypto";
import { existsSync, globSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const FOLDER = join(import.meta.dirname, "..");
const ROOT = join(FOLDER, "..");
const MARK = join(FOLDER, "dist", ".sources");
const SOURCES = ["console/{index.html,package.json,vite.config.ts}", "console/src/**/*.*", "sdk/src/**/*.ts", "package-lock.json"];

function fingerprint(): string {
  const hash = createHash("sha256");
  for (const path of globSync(SOURCES, { cwd: ROOT }).toSorted()) hash.update(`${path}\n`).update(readFileSync(join(ROOT, path)));
  return hash.digest("hex");
}

const say = (text: string): void => void process.stderr.write(`${text}\n`);

async function buildConsole(): Promise<void> {
  // The npm package brings it built, and without its sources.
  if (!existsSync(join(FOLDER, "src"))) return;
  const sources = fingerprint();
  if (existsSync(MARK) && readFileSync(MARK, "utf8") === sources) return;
  const vite = await import("vite").catch(() => undefined);
  if (vite === undefined) return say("The console is not built: Vite is not installed here (npm ci without --omit=dev installs it).");
  await vite.build({ root: FOLDER, configFile: join(FOLDER, "vite.config.ts"), logLevel: "warn" });
  writeFileSync(MARK, sources);
}

await buildConsole();
