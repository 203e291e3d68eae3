/** Processes in namespaces and control groups of their own: how a test finds and ends them. */
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync, globSync, readFileSync, rmdirSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { join } from "node:path";

const REMOVE_TRIES = 50;
const PAUSE_MS = 100;

/** The first child of a process. 0 is none. */
export const childOf = (pid: number | undefined): number => {
  const file = `/proc/${pid}/task/${pid}/children`;
  return existsSync(file) ? Number(readFileSync(file, "utf8").trim().split(" ")[0]) : 0;
};

export const hasEnded = ({ exitCode, signalCode }: ChildProcess): boolean => exitCode !== null || signalCode !== null;

/** Ends a program that `unshare --kill-child` has started. The kernel ends the other processes and the mounts of its namespaces. */
export async function endNamespaces(child: ChildProcess): Promise<void> {
  if (hasEnded(child)) return;
  const ended = once(child, "close");
  child.kill("SIGKILL");
  await ended;
}

/** Removes the control groups of this name and those below them, in all hierarchies. A group without processes holds no memory, but stays until it is
 *  removed, and the kernel ends the processes of a namespace a moment after the first one. */
export async function removeCgroups(name: string): Promise<void> {
  for (let tries = 0; tries < REMOVE_TRIES; tries += 1) {
    const found = globSync([`/sys/fs/cgroup/${name}{,/**}`, `/sys/fs/cgroup/*/${name}{,/**}`]).filter((path) =>
      existsSync(join(path, "cgroup.procs")),
    );
    if (found.length === 0) return;
    for (const path of found.toSorted((one, other) => other.length - one.length)) {
      try {
        rmdirSync(path);
      } catch (error) {
        if (!["EBUSY", "ENOENT"].includes((error as NodeJS.ErrnoException).code ?? "")) throw error;
      }
    }
    await sleep(PAUSE_MS);
  }
}
