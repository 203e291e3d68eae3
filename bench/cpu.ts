/** CPU time and memory of a process and all its descendants, ended ones included, from /proc. */
import { readdirSync, readFileSync } from "node:fs";

// Linux counts in hundredths of a second on all common machines.
const TICK_US = 10_000;

type Stat = { program: string; parent: number; ticks: number };

function readStat(pid: number): Stat | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "latin1");
    const fields = text
      .slice(text.lastIndexOf(")") + 2)
      .split(" ")
      .map(Number);
    const program = text.slice(text.indexOf("(") + 1, text.lastIndexOf(")"));
    // utime, stime, and the same of ended children.
    return { program, parent: fields[1] ?? 0, ticks: (fields[11] ?? 0) + (fields[12] ?? 0) + (fields[13] ?? 0) + (fields[14] ?? 0) };
  } catch {
    return undefined;
  }
}

/** Returns the CPU time in microseconds that the process `root` and its descendants have used so far; with `program`, those of its name. */
export function treeCpuUs(root: number, program?: string): number {
  const stats = new Map<number, Stat>();
  for (const name of readdirSync("/proc")) {
    const stat = /^\d+$/.test(name) ? readStat(Number(name)) : undefined;
    if (stat !== undefined) stats.set(Number(name), stat);
  }
  const isBelow = (pid: number): boolean => {
    for (let at: number | undefined = pid; at !== undefined && at > 1; at = stats.get(at)?.parent) if (at === root) return true;
    return false;
  };
  let ticks = 0;
  for (const [pid, stat] of stats) if (isBelow(pid) && (program === undefined || stat.program === program)) ticks += stat.ticks;
  return ticks * TICK_US;
}

/** The child processes whose command line contains this text. */
export const childrenOf = (pid: number, text: string): number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, "latin1")
    .split(" ")
    .map(Number)
    .filter((child) => child > 0 && readFileSync(`/proc/${child}/cmdline`, "latin1").includes(text));

/** Returns the resident memory of one process in MB. */
export const rssMb = (pid: number): number => Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "latin1"))?.[1]) / 1_024;
