/** Runs test files in a process of its own process group, and passes on what its reporter says. */
import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { pathToFileURL } from "node:url";
import { cachedFolder } from "../../test/support/cache.ts";
import { RESULTS_FD, type Result } from "./child-reporter.ts";
import { endTrees, RUN_VARIABLE } from "./process-tree.ts";

const ROOT = join(import.meta.dirname, "..", "..");
// Several times what the slowest test takes on a busy machine: a test that hangs must not hold up the others, and a file that makes progress is
// not ended because the machine is slow.
const LIMIT_MS = 5 * 60_000;

export type TestProcess = {
  /** The paths from the root of the checkout. Several files run one after the other. */
  files: readonly string[];
  /** Distinguishes the processes of a run. */
  number: number;
  /** Further options for Node, such as --test-name-pattern. */
  options: readonly string[];
  onResult: (result: Result) => void;
  interrupted: AbortSignal;
};

/** Resolves with the reason when the process did not end by itself with all its tests run, otherwise with undefined. */
export async function runProcess({ files, number, options, onResult, interrupted }: TestProcess): Promise<string | undefined> {
  const run = `${process.pid}-${number}`;
  const reporter = ["--test-reporter", join(import.meta.dirname, "child-reporter.ts"), "--test-reporter-destination", "stdout"];
  const child = spawn(process.execPath, [...reporter, ...options, moduleOf(files, number)], {
    cwd: ROOT,
    env: { ...process.env, [RUN_VARIABLE]: run },
    stdio: ["ignore", "pipe", "pipe", "pipe"],
    detached: true,
  });
  for (const stream of [child.stdout, child.stderr]) stream?.on("data", (chunk: Buffer) => process.stderr.write(chunk));
  let reason: string | undefined;
  let ending: Promise<void> | undefined;
  const end = (why: string): void => {
    reason ??= why;
    ending ??= endTrees([child.pid ?? 0], run);
  };
  const limit = setTimeout(() => end(`no test of the file ended within ${LIMIT_MS / 60_000} minutes`), LIMIT_MS);
  const stop = (): void => end("interrupted");
  interrupted.addEventListener("abort", stop);
  let hasFailures = false;
  createInterface({ input: child.stdio[RESULTS_FD] as Readable }).on("line", (line) => {
    const result = JSON.parse(line) as Result;
    if (result.kind === "test") {
      hasFailures ||= result.outcome === "failed";
      limit.refresh();
    }
    onResult(result);
  });
  const [code, signal] = await new Promise<[number | null, NodeJS.Signals | null]>((resolve, reject) =>
    child.on("error", reject).on("close", (...how) => resolve(how)),
  );
  clearTimeout(limit);
  interrupted.removeEventListener("abort", stop);
  await (ending ?? endTrees([child.pid ?? 0], run));
  if (code !== 0 && !hasFailures) reason ??= signal ?? `exit code ${code}`;
  return reason;
}

/** The module that a process runs. */
function moduleOf(files: readonly string[], number: number): string {
  const path = join(cachedFolder("processes"), `${process.pid}-${number}.mjs`);
  const [untracked, together] = ["untracked-promises.ts", "together.ts"].map((name) => pathToFileURL(join(import.meta.dirname, name)).href);
  writeFileSync(
    path,
    `import { untrackPromises } from ${JSON.stringify(untracked)};
const { runTogether } = await import(${JSON.stringify(together)});
await runTogether(${JSON.stringify(files)});
untrackPromises();
`,
  );
  return path;
}
