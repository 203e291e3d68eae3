/** Runs tests, the most expensive files first, and prints how long they took.
 *
 *  node scripts/test.ts               the checks of the code, then every test but those of pace and ha
 *  node scripts/test.ts api           the test files of one folder under test/, or of src, sdk, sdk-python, console; also as test/api
 *  node scripts/test.ts FILE…         these files */
import { spawnSync } from "node:child_process";
import { globSync, statSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { dirname, join, relative, resolve } from "node:path";
import { run } from "node:test";
import { pathToFileURL } from "node:url";
import { cachedFolder } from "../test/support/cache.ts";
import { bundlePrograms } from "../test/support/programs.ts";
import { reportOf, seconds } from "../test/support/reporter.ts";

const ROOT = join(import.meta.dirname, "..");
// Most tests wait most of the time.
const PROCESSES_AT_ONCE = availableParallelism() * 2;
// Many times what the slowest process takes on a busy machine: a test that hangs must not hold up the others for ever.
const TIMEOUT_MS = 25 * 60_000;

/** `processes` is the number of processes that the files of a group share; without it each file has its own. Loading the service and warming
 *  it up takes longer than most files, so only files that start processes themselves or load a machine have their own. */
type Group = { pattern: string; processes?: number };

/** The groups, those whose processes take longest first, so that none of them is the last to end. */
const GROUPS: Readonly<Record<string, Group>> = {
  faults: { pattern: "test/faults/*.test.ts" },
  browser: { pattern: "test/browser/*.test.ts" },
  firefox: { pattern: "test/firefox/*.test.ts" },
  cli: { pattern: "test/cli/*.test.ts" },
  tools: { pattern: "test/tools/*.test.ts" },
  delivery: { pattern: "test/delivery/*.test.ts", processes: 3 },
  api: { pattern: "test/api/*.test.ts", processes: 6 },
  webhooks: { pattern: "test/webhooks/*.test.ts", processes: 2 },
  templates: { pattern: "test/templates/*.test.ts", processes: 1 },
  carriers: { pattern: "test/carriers/*.test.ts", processes: 2 },
  sdk: { pattern: "sdk/test/*.test.ts", processes: 2 },
  "sdk-python": { pattern: "sdk-python/test/*.test.ts" },
  console: { pattern: "console/test/*.test.ts", processes: 1 },
  src: { pattern: "src/**/*.test.ts", processes: 2 },
};

/** Groups that run only when they are named. */
const SEPARATE: Readonly<Record<string, Group>> = {
  pace: { pattern: "test/pace/*.test.ts" },
  ha: { pattern: "test/ha/*.test.ts" },
};

const ALL_GROUPS: Readonly<Record<string, Group>> = { ...GROUPS, ...SEPARATE };

/** The path of a file or folder from the root of the checkout. */
const fromRoot = (path: string): string => relative(ROOT, resolve(path));

/** The group with this name or folder. */
function groupOf(name: string): Group | undefined {
  const folder = fromRoot(name);
  return ALL_GROUPS[name] ?? ALL_GROUPS[folder] ?? Object.values(ALL_GROUPS).find(({ pattern }) => dirname(pattern) === folder);
}

/** The files of each process that a name on the command line stands for. */
function processesOf(name: string): string[][] {
  const group = groupOf(name);
  if (group === undefined && statSync(name, { throwIfNoEntry: false })?.isFile() === true) return [[fromRoot(name)]];
  if (group === undefined)
    throw new Error(`${name} is neither a test file nor a group. The groups are ${Object.keys(ALL_GROUPS).join(", ")}`);
  const size = (file: string): number => statSync(join(ROOT, file)).size;
  const files = globSync(group.pattern, { cwd: ROOT }).toSorted((one, other) => size(other) - size(one));
  const count = Math.min(group.processes ?? files.length, files.length);
  return Array.from({ length: count }, (_, number) => files.filter((_file, index) => index % count === number));
}

/** The module that a process runs: the one file, or a module that runs several files. */
function moduleOf(files: readonly string[], number: number): string {
  const [first = ""] = files;
  if (files.length === 1) return join(ROOT, first);
  const path = join(cachedFolder("processes"), `${first.replaceAll("/", "-")}-${number}.mjs`);
  const together = pathToFileURL(join(ROOT, "test", "support", "together.ts")).href;
  writeFileSync(path, `import { runTogether } from ${JSON.stringify(together)};\nrunTogether(${JSON.stringify(files)});\n`);
  return path;
}

function checkCode(): boolean {
  const startedAt = performance.now();
  const { status } = spawnSync(process.execPath, [join(ROOT, "scripts", "check-code.ts")], { stdio: "inherit" });
  process.stdout.write(`the checks of the code took ${seconds(performance.now() - startedAt)}\n\n`);
  return status === 0;
}

/** Aborts the test processes, and then the database, on SIGINT and SIGTERM. */
function interrupted(): AbortSignal {
  const ending = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => ending.abort());
  return ending.signal;
}

async function runTests(names: readonly string[]): Promise<boolean> {
  const startedAt = performance.now();
  const processes = names.flatMap(processesOf);
  process.env["NODE_COMPILE_CACHE"] ??= cachedFolder("compiled");
  if (processes.length > 1) await bundlePrograms();
  const options = {
    files: processes.map(moduleOf),
    // Tests of pace have the machine to themselves.
    concurrency: names.some((name) => groupOf(name) === SEPARATE["pace"]) ? 1 : PROCESSES_AT_ONCE,
    timeout: TIMEOUT_MS,
    signal: interrupted(),
    // The types of this option are not published yet.
    globalSetupPath: join(ROOT, "test", "support", "global-setup.ts"),
  };
  const { isGreen, closing } = await reportOf(run(options), ROOT, new Set(processes.flat()));
  process.stdout.write(`\n${processes.flat().length} test files took ${seconds(performance.now() - startedAt)}\n${closing}\n`);
  return isGreen;
}

const names = process.argv.slice(2);
const startedAt = performance.now();
const isWhole = names.length === 0;
const isGreen = (!isWhole || checkCode()) && (await runTests(isWhole ? Object.keys(GROUPS) : names));
if (isWhole) process.stdout.write(`all of it took ${seconds(performance.now() - startedAt)}\n`);
if (!isGreen) process.exitCode = 1;
