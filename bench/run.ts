/** Runs a benchmark. Ends its processes and removes its files afterwards, also after an error or Ctrl-C. */
import type { ChildProcess } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { constants, tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";

/** The temporary folder of this run. PostgreSQL may run as another user, who must be able to reach it. */
export const benchDir = mkdtempSync(join(tmpdir(), "godwit-bench-"));
chmodSync(benchDir, 0o755);

/** The processes that end with the run. */
export const children: ChildProcess[] = [];

/** The steps that undo something, after the processes have ended. */
export const undo: (() => void)[] = [];

/** A mistake in the command line. Only its message is printed. */
export class UsageError extends Error {}

export async function runBenchmark(main: () => Promise<void>): Promise<void> {
  let exitCode: number | undefined;
  const interrupted = new Promise<void>((resolve) => {
    // npm passes Ctrl-C on, so the signal can arrive twice. The clean-up must survive the second one.
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
      process.on(signal, () => {
        exitCode = 128 + constants.signals[signal];
        resolve();
      });
  });
  try {
    await Promise.race([main(), interrupted]);
  } catch (error) {
    // Ctrl-C also ends the programs that the benchmark waits for; their failure can arrive one turn before the signal.
    await nextTurn();
    if (exitCode === undefined) reportUsage(error);
  } finally {
    await cleanUp();
  }
  if (exitCode !== undefined) process.exit(exitCode);
}

/** Throws any other error again. */
function reportUsage(error: unknown): void {
  if (!(error instanceof UsageError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 2;
}

async function cleanUp(): Promise<void> {
  await Promise.all(
    children.map(async (child) => {
      if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
      child.kill("SIGTERM");
      await new Promise((resolve) => child.once("exit", resolve));
    }),
  );
  for (const each of undo.toReversed()) each();
  rmSync(benchDir, { recursive: true, force: true });
}
