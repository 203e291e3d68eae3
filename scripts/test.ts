/** Runs tests, the most expensive files first, and prints how long they took.
 *
 *  node scripts/test.ts               the checks of the code, then every test but those of pace
 *  node scripts/test.ts api           the test files of one folder under test/, or of src, sdk, console
 *  node scripts/test.ts FILE…         these files */
import { spawnSync } from "node:child_process";
import { existsSync, globSync, statSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join, relative, resolve } from "node:path";
import { run } from "node:test";
import { cachedFolder } from "../test/support/cache.ts";
import { reportOf, seconds } from "../test/support/reporter.ts";

const ROOT = join(import.meta.dirname, "..");
// Most test files wait half of the time.
const FILES_AT_ONCE = availableParallelism() * 2;
// Many times what the slowest file takes on a busy machine: a file that hangs must not hold up the others for ever.
const FILE_TIMEOUT_MS = 15 * 60_000;

/** The folders, those whose files take longest first, so that none of them is the last to end. */
const GROUPS: Readonly<Record<string, string>> = {
  faults: "test/faults/*.test.ts",
  browser: "test/browser/*.test.ts",
  carriers: "test/carriers/*.test.ts",
  tools: "test/tools/*.test.ts",
  webhooks: "test/webhooks/*.test.ts",
  delivery: "test/delivery/*.test.ts",
  cli: "test/cli/*.test.ts",
  templates: "test/templates/*.test.ts",
  api: "test/api/*.test.ts",
  sdk: "sdk/test/*.test.ts",
  console: "console/test/*.test.ts",
  src: "src/**/*.test.ts",
};

/** Groups that run only when they are named. */
const SEPARATE: Readonly<Record<string, string>> = { pace: "test/pace/*.test.ts" };

function filesOf(name: string): string[] {
  const pattern = GROUPS[name] ?? SEPARATE[name];
  if (pattern !== undefined) {
    const size = (file: string): number => statSync(join(ROOT, file)).size;
    return globSync(pattern, { cwd: ROOT }).toSorted((one, other) => size(other) - size(one));
  }
  if (existsSync(name)) return [relative(ROOT, resolve(name))];
  throw new Error(`${name} is neither a test file nor one of ${[...Object.keys(GROUPS), ...Object.keys(SEPARATE)].join(", ")}`);
}

function checkCode(): boolean {
  const startedAt = performance.now();
  const { status } = spawnSync(process.execPath, [join(ROOT, "scripts", "check-code.ts")], { stdio: "inherit" });
  process.stdout.write(`the checks of the code took ${seconds(performance.now() - startedAt)}\n\n`);
  return status === 0;
}

/** Ends the test files, and then the database, when this process is told to end. */
function interrupted(): AbortSignal {
  const ending = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => ending.abort());
  return ending.signal;
}

async function runTests(names: readonly string[]): Promise<boolean> {
  const startedAt = performance.now();
  const files = names.flatMap(filesOf);
  process.env["NODE_COMPILE_CACHE"] ??= cachedFolder("compiled");
  const options = {
    files: files.map((file) => join(ROOT, file)),
    // Tests of pace have the machine to themselves.
    concurrency: names.includes("pace") ? 1 : FILES_AT_ONCE,
    timeout: FILE_TIMEOUT_MS,
    signal: interrupted(),
    // The types of this option are not published yet.
    globalSetupPath: join(ROOT, "test", "support", "global-setup.ts"),
  };
  const { isGreen, closing } = await reportOf(run(options), ROOT);
  process.stdout.write(`\n${files.length} test files took ${seconds(performance.now() - startedAt)}\n${closing}\n`);
  return isGreen;
}

const names = process.argv.slice(2);
const startedAt = performance.now();
const isWhole = names.length === 0;
const isGreen = (!isWhole || checkCode()) && (await runTests(isWhole ? Object.keys(GROUPS) : names));
if (isWhole) process.stdout.write(`all of it took ${seconds(performance.now() - startedAt)}\n`);
if (!isGreen) process.exitCode = 1;
