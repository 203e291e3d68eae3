/** Runs the tests, the most expensive files first, and prints how long they took.
 *
 *  node scripts/test.ts               every test but those of pace
 *  node scripts/test.ts api           the test files of one folder under test/, or of src, sdk, console
 *  node scripts/test.ts FILE…         these files */
import { existsSync, globSync, statSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join, relative } from "node:path";
import { run } from "node:test";
import { cachedFolder } from "../test/support/cache.ts";
import { reportOf } from "../test/support/reporter.ts";

const ROOT = join(import.meta.dirname, "..");
// Most files wait for something half of the time.
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

const SEPARATE: Readonly<Record<string, string>> = { pace: "test/pace/*.test.ts" };

function filesOf(name: string): string[] {
  const pattern = GROUPS[name] ?? SEPARATE[name];
  if (pattern !== undefined) {
    const size = (file: string): number => statSync(join(ROOT, file)).size;
    return globSync(pattern, { cwd: ROOT }).toSorted((one, other) => size(other) - size(one));
  }
  if (existsSync(name)) return [relative(ROOT, name)];
  process.stderr.write(`${name} is neither a test file nor one of ${[...Object.keys(GROUPS), ...Object.keys(SEPARATE)].join(", ")}\n`);
  process.exit(2);
}

const names = process.argv.slice(2);
const files = (names.length === 0 ? Object.keys(GROUPS) : names).flatMap(filesOf);
process.env["NODE_COMPILE_CACHE"] ??= cachedFolder("compiled");
const isPace = names.includes("pace");
const startedAt = performance.now();
const { isGreen, closing } = await reportOf(
  run({
    files: files.map((file) => join(ROOT, file)),
    concurrency: isPace ? 1 : FILES_AT_ONCE,
    timeout: FILE_TIMEOUT_MS,
    // The types of this option are not published yet.
    ...{ globalSetupPath: join(ROOT, "test", "support", "global-setup.ts") },
  }),
  ROOT,
);
process.stdout.write(`${files.length} test files took ${((performance.now() - startedAt) / 1_000).toFixed(1)} s\n${closing}\n`);
if (!isGreen) process.exitCode = 1;
