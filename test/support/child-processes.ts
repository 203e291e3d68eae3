/** The child processes of a process, from /proc. */
import { readFileSync } from "node:fs";

/** Returns the ids of the child processes that run now; none for a process that has ended. With `text`, those with this text in their command. */
export function childProcesses(pid: number | undefined, text = ""): number[] {
  const read = (path: string): string => {
    try {
      return readFileSync(path, "latin1");
    } catch {
      // The process has ended meanwhile.
      return "";
    }
  };
  const children = read(`/proc/${pid}/task/${pid}/children`).split(" ").filter(Boolean).map(Number);
  return text === "" ? children : children.filter((each) => read(`/proc/${each}/cmdline`).includes(text));
}

/** Signals a process that may have ended. */
export function signalProcess(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}
