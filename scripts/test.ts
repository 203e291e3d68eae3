/** Runs tests, the most expensive files first, and prints how long they took.
 *
 *  node scripts/test.ts               the checks of the code, then the first tier: `npm test`
 *  node scripts/test.ts --full        the checks of the code, then all tests but those of pace and ha: `npm run test:full`
 *  node scripts/test.ts --full --rest the tests that the first tier leaves out
 *  node scripts/test.ts api           the test files of one folder under test/, or of src, sdk, sdk-python, console; also as test/api
 *  node scripts/test.ts FILE…         these files
 *
 *  With CI=true, up to three files that failed run a second time. --record writes the processor time of each file into scripts/test/processor-time.json. Other options are for Node. */
import { spawn } from "node:child_process";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { cachedFolder } from "../test/support/cache.ts";
import { bundlePrograms } from "../test/support/programs.ts";
import { judge, referenceMs } from "./test/budget.ts";
import { endTrees } from "./test/process-tree.ts";
import { processorMs } from "./test/processor-time.ts";
import { Report, seconds } from "./test/report.ts";
import { buildPages, installBrowsers, startServer, stopServer } from "./test/setup.ts";
import { runProcess } from "./test/test-process.ts";
import { BUDGET, needsPages, needsQuiet, processesOfNames, processesOfTier, record } from "./test/tiers.ts";

const ROOT = join(import.meta.dirname, "..");
// How often a run measures the speed of the machine.
const REFERENCES = 6;
// More failures than that come from the change, not from the load of the machine.
const MOST_REPEATED = 3;

const say = (text: string): void => void process.stdout.write(`${text}\n`);

const OWN_FLAGS = new Set(["--full", "--rest", "--record"]);
const args = process.argv.slice(2);
const flags = new Set(args.filter((each) => OWN_FLAGS.has(each)));
const options = args.filter((each) => each.startsWith("--") && !flags.has(each));
const names = args.filter((each) => !each.startsWith("--"));
const tier = flags.has("--rest") ? "rest" : flags.has("--full") ? "full" : "first";
const isTier = names.length === 0;
const isCi = process.env["CI"] === "true";

// Most tests of the first tier wait most of the time. The others use their processor.
const PROCESSES_AT_ONCE = availableParallelism() * (isTier && tier === "first" ? 3 : 2);

/** Aborts the test processes, and then the database, on SIGINT and SIGTERM. */
const interruption = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => interruption.abort());
const interrupted = interruption.signal;

const startedAt = performance.now();
const isGreen = (!isTier || tier === "rest" || (await checkCode())) && (await runTests());
if (!isGreen) process.exitCode = 1;

async function checkCode(): Promise<boolean> {
  const child = spawn(process.execPath, [join(ROOT, "scripts", "check-code.ts")], { stdio: "inherit", detached: true });
  const stop = (): void => void endTrees([child.pid ?? 0], "");
  interrupted.addEventListener("abort", stop);
  const code = await new Promise<number | null>((resolve, reject) => child.on("error", reject).on("close", resolve));
  interrupted.removeEventListener("abort", stop);
  say(`the checks of the code took ${seconds(performance.now() - startedAt)}\n`);
  return code === 0;
}

async function runTests(): Promise<boolean> {
  const processes = isTier ? processesOfTier(tier) : processesOfNames(names);
  const files = processes.flat();
  const report = new Report(ROOT);
  process.env["NODE_COMPILE_CACHE"] ??= cachedFolder("compiled");
  if (processes.length > 1) await bundlePrograms();
  if (needsPages(files)) buildPages();
  installBrowsers(files);
  await startServer();
  const waiting = processes.entries();
  const everySixth = Math.ceil(processes.length / REFERENCES);
  const references: number[] = [];
  const work = async (): Promise<void> => {
    for (const [number, each] of waiting) {
      if (interrupted.aborted) return;
      if (isTier && number % everySixth === 0) references.push(await referenceMs());
      const { onResult, end } = report.follow(each);
      end(await runProcess({ files: each, number, options, onResult, interrupted }));
    }
  };
  await Promise.all(Array.from({ length: needsQuiet(files) ? 1 : PROCESSES_AT_ONCE }, work));
  if (isCi) await repeatFailed(report, processes.length);
  const beforeServerMs = processorMs() ?? 0;
  await stopServer();
  const serverMs = (processorMs() ?? 0) - beforeServerMs;
  report.close();
  if (flags.has("--record")) record(report.ended, references);
  const isWithin = isWithinBudget(serverMs, references);
  say(`\n${files.length} test files took ${seconds(performance.now() - startedAt)}\n${report.closing}`);
  return report.isGreen && isWithin && !interrupted.aborted;
}

/** Runs the few files that failed again, one after the other. A test that fails only beside others is reported, and does not hold up the
 *  changes of everybody else. */
async function repeatFailed(report: Report, next: number): Promise<void> {
  const { failedFiles } = report;
  if (failedFiles.length > MOST_REPEATED) return;
  for (const [index, file] of failedFiles.entries()) {
    if (interrupted.aborted) return;
    report.repeat(file);
    const { onResult, end } = report.follow([file]);
    end(await runProcess({ files: [file], number: next + index, options, onResult, interrupted }));
  }
}

/** Whether `npm test` used no more processor time than it may: all that this process and the processes below it used. */
function isWithinBudget(serverMs: number, references: readonly number[]): boolean {
  const usedMs = processorMs();
  if (usedMs === undefined) return true;
  say(`\nAll of it used ${seconds(usedMs)} of processor time, of which the shared PostgreSQL server used ${seconds(serverMs)}.`);
  if (!isTier || tier !== "first") return true;
  const { scale, isWithin } = judge(BUDGET, usedMs, references);
  say(`Its budget is ${seconds(BUDGET.budgetMs)}, times ${scale.toFixed(2)} for the present speed of this machine.`);
  if (!isWithin)
    say(
      "✖ npm test used too much (scripts/test/processor-time.json). Make the most expensive files cheaper, or move a file to npm run test:full.",
    );
  return isWithin;
}
