/** Runs a command of godwit in the process of the test. A process of its own takes a second of processor time to load the program. */
import { mock } from "node:test";
import { runCommand } from "../../src/cli/run-command.ts";

export type CommandResult = { code: number | null; stdout: string; stderr: string };

// These hold a signal, a lock of a folder, or the user of the process.
const NEEDS_PROCESS = new Set(["backup", "database", "listen", "resume", "serve"]);

/** Whether a command needs nothing of the process but its environment and its output. The embedded database belongs to a process. */
export const canRunHere = ([name = ""]: readonly string[], env: Readonly<Record<string, string>>): boolean =>
  !NEEDS_PROCESS.has(name) && env["GODWIT_DATA_DIR"] === undefined;

const SIGNALS = ["SIGINT", "SIGTERM"] as const;

let last: Promise<unknown> = Promise.resolve();

/** Commands run one after the other, because environment and output belong to the whole process. */
export function runHere(args: readonly string[], env: Readonly<Record<string, string>>): Promise<CommandResult> {
  const result = last.then(() => withEnvironment(env, () => captured(args)));
  last = result.catch(() => undefined);
  return result;
}

async function withEnvironment<T>(env: Readonly<Record<string, string>>, work: () => Promise<T>): Promise<T> {
  const before = { ...process.env };
  const replace = (by: NodeJS.ProcessEnv): void => {
    for (const name of Object.keys(process.env)) if (by[name] === undefined) Reflect.deleteProperty(process.env, name);
    Object.assign(process.env, by);
  };
  replace(env);
  try {
    return await work();
  } finally {
    replace(before);
  }
}

async function captured(args: readonly string[]): Promise<CommandResult> {
  const result: CommandResult = { code: 1, stdout: "", stderr: "" };
  const captures = (["stdout", "stderr"] as const).map((name) =>
    mock.method(process[name], "write", (text: string | Uint8Array) => {
      result[name] += text.toString();
      return true;
    }),
  );
  const before = SIGNALS.map((signal) => new Set(process.listeners(signal)));
  try {
    result.code = await runCommand(args);
  } catch (error) {
    result.stderr += error instanceof Error ? error.stack : String(error);
  } finally {
    for (const capture of captures) capture.mock.restore();
    // A command listens for signals until its process ends.
    for (const [index, signal] of SIGNALS.entries())
      for (const listener of process.listeners(signal)) if (before[index]?.has(listener) !== true) process.off(signal, listener);
  }
  return result;
}
