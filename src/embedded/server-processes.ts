/** The processes of a PostgreSQL server: a server ends with the godwit that started it, or at the next start at the latest. */
import { spawn, type ChildProcess } from "node:child_process";
import { existsSync, readdirSync, readFileSync, realpathSync, rmSync } from "node:fs";
import type { Socket } from "node:net";
import { join } from "node:path";
import { poll } from "../lib/wait.ts";
import { identity } from "./cluster.ts";
import { SOCKET_NAME } from "./data-directory.ts";
import type { RunAs } from "./run-as.ts";
import { StartupError } from "../database/startup-error.ts";

// Within the thirty seconds of a stop, after the running requests have ended.
export const FAST_STOP_MS = 8_000;
export const IMMEDIATE_STOP_MS = 3_000;

// Reads until this process ends, in whatever way, and then asks the server to stop, if the pid file still names it.
const WATCH = 'while read -r _; do :; done; read -r pid < "$2/postmaster.pid" && [ "$pid" = "$1" ] && kill -INT "$1"';

/** Starts a process that stops the server when this process ends without stopping it: a server without its owner would keep the memory,
 *  and a copy of its folder would not be consistent. */
export function watchOwner(pid: number, cluster: string, runAs: RunAs | undefined): ChildProcess {
  const watcher = spawn("/bin/sh", ["-c", WATCH, "sh", String(pid), cluster], {
    ...identity(runAs),
    cwd: "/",
    env: {},
    stdio: ["pipe", "ignore", "ignore"],
    detached: true,
  });
  // Without a shell the server only lives on after a crash, until the next start.
  watcher.on("error", () => undefined);
  watcher.unref();
  (watcher.stdin as Socket).unref();
  return watcher;
}
export const hasEnded = ({ exitCode, signalCode }: ChildProcess): boolean => exitCode !== null || signalCode !== null;

export const ended = (child: ChildProcess): Promise<"ended"> =>
  new Promise((resolve) => {
    child.once("error", () => resolve("ended"));
    child.once("exit", () => resolve("ended"));
  });

export function readPidFile(cluster: string): string[] {
  try {
    return readFileSync(join(cluster, "postmaster.pid"), "utf8").split("\n");
  } catch {
    return [];
  }
}

/** Stops a server that a killed godwit left behind. No process holds the lock of the directory, but the server may still run. It is
 *  stopped and not adopted, so that the server always runs as a child of this process. */
export async function endOrphan(cluster: string): Promise<void> {
  const pid = Number(readPidFile(cluster)[0]);
  if (processesIn(cluster).includes(pid)) await stopServer(cluster, pid);
  await waitForBackends(cluster);
}

/** Removes the lock files that a killed server left behind. Their pid may belong to another program by now, and a power cut may have left
 *  them empty: PostgreSQL would refuse to start. When no process works in the folder, they are stale. Without /proc this cannot be known,
 *  and they stay. */
export function removeStaleLocks(cluster: string, sockets: string): void {
  if (!existsSync("/proc/self/cwd") || processesIn(cluster).length > 0) return;
  for (const path of [join(cluster, "postmaster.pid"), join(sockets, `${SOCKET_NAME}.lock`)]) rmSync(path, { force: true });
}

/** Waits for the processes of a server whose main process was killed. They end by themselves when they notice that; the next server could
 *  not use the shared memory before. */
async function waitForBackends(cluster: string): Promise<void> {
  const areGone = async (): Promise<true | undefined> => (processesIn(cluster).length === 0 ? true : undefined);
  if (await poll(areGone, { timeoutMs: FAST_STOP_MS, everyMs: 20 })) return;
  for (const pid of processesIn(cluster)) {
    try {
      process.kill(pid, "SIGQUIT");
    } catch {
      // It has ended by itself.
    }
  }
  if (await poll(areGone, { timeoutMs: IMMEDIATE_STOP_MS, everyMs: 20 })) return;
  throw new StartupError(`processes of an earlier PostgreSQL (${processesIn(cluster).join(", ")}) use ${cluster} and do not stop`);
}

async function stopServer(cluster: string, pid: number): Promise<void> {
  for (const [signal, timeoutMs] of [
    ["SIGINT", FAST_STOP_MS],
    ["SIGQUIT", IMMEDIATE_STOP_MS],
  ] as const) {
    try {
      process.kill(pid, signal);
    } catch {
      return;
    }
    if (await poll(async () => (processesIn(cluster).includes(pid) ? undefined : true), { timeoutMs, everyMs: 20 })) return;
  }
  throw new StartupError(`a PostgreSQL left over from an earlier godwit (process ${pid}) does not stop`);
}

/** The processes of the cluster's server: PostgreSQL's with the cluster as their working directory, where an operator's shell may be, too. */
function processesIn(cluster: string): number[] {
  const folder = realpathSync(cluster);
  const worksThere = (pid: string): boolean => {
    try {
      return realpathSync(`/proc/${pid}/cwd`) === folder && readFileSync(`/proc/${pid}/comm`, "utf8").trim() === "postgres";
    } catch {
      return false;
    }
  };
  return existsSync("/proc/self")
    ? readdirSync("/proc")
        .filter((name) => /^\d+$/.test(name) && worksThere(name))
        .map(Number)
    : [];
}
