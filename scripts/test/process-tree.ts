/** Ends processes together with everything that they started, also in process groups of their own: the embedded PostgreSQL of a service, a
 *  browser, a shell of a test. */
import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

/** The variable that every process of a run has, unless a program replaced its whole environment. */
export const RUN_VARIABLE = "TEST_RUN";

// A PostgreSQL server stops within a second. The rest of the time is for a busy machine.
const GRACE_MS = 5_000;
const LOOK_MS = 50;

type Process = { pid: number; parent: number; group: number; run: string };

/** Asks the process groups of these leaders and all processes below them to end, and kills those that are left after some seconds. */
export async function endTrees(leaders: readonly number[], run: string): Promise<void> {
  const found = treesOf(leaders, run);
  const signalAll = (signal: NodeJS.Signals): void =>
    [...found, ...leaders.map((pid) => -pid)].forEach((pid) => signalProcess(pid, signal));
  signalAll("SIGTERM");
  const deadline = performance.now() + GRACE_MS;
  while (found.some(isAlive) && performance.now() < deadline) await sleep(LOOK_MS);
  signalAll("SIGKILL");
}

/** The processes in the groups of these leaders, those that have the variable of the run, and those below any of them. */
function treesOf(leaders: readonly number[], run: string): number[] {
  const all = allProcesses();
  const found = new Set<number>();
  const add = (each: Process): void => {
    if (found.has(each.pid) || each.pid === process.pid) return;
    found.add(each.pid);
    all.filter(({ parent }) => parent === each.pid).forEach(add);
  };
  all.filter((each) => leaders.includes(each.group) || (run !== "" && each.run === run)).forEach(add);
  return [...found];
}

/** All processes of this machine; none without /proc. */
function allProcesses(): Process[] {
  const pids = readNames("/proc").map(Number).filter(Number.isInteger);
  return pids.flatMap((pid) => {
    const stat = read(`/proc/${pid}/stat`).split(") ").at(-1)?.split(" ");
    if (stat?.[1] === undefined || stat[0] === "Z") return [];
    const variable = read(`/proc/${pid}/environ`)
      .split("\0")
      .find((each) => each.startsWith(`${RUN_VARIABLE}=`));
    return [{ pid, parent: Number(stat[1]), group: Number(stat[2]), run: variable?.slice(RUN_VARIABLE.length + 1) ?? "" }];
  });
}

const isAlive = (pid: number): boolean => !["", "Z"].includes(read(`/proc/${pid}/stat`).split(") ").at(-1)?.slice(0, 1) ?? "");

function signalProcess(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    // It has ended, or belongs to another user.
    if (!["ESRCH", "EPERM"].includes((error as NodeJS.ErrnoException).code ?? "")) throw error;
  }
}

/** The text of a file of /proc. Empty for a process that has ended, and for one of another user. */
function read(path: string): string {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return "";
  }
}

function readNames(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
