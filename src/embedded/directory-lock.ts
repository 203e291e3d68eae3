/** The lock of a data directory, so that one godwit at a time uses it. The lock is a file that names its owner, who touches it
 *  regularly. A crashed owner is recognized at once on the same machine, and within seconds on another one (a shared volume). */
import { randomBytes } from "node:crypto";
import { linkSync, readFileSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

export type LockHolder = { pid: number; host: string; boot: string; startedAt: string; command: string };

const TOUCH_EVERY_MS = 1_000;
// Several touches may be late on a loaded machine before an owner counts as gone.
const SILENT_AFTER_MS = 6_000;

export type DirectoryLock = { release(): void };

const readText = (path: string): string => {
  try {
    return readFileSync(path, "utf8").trim();
  } catch {
    return "";
  }
};

/** The start of a process in ticks since boot, which distinguishes it from a later process with the same pid. Empty without /proc. */
const processStart = (pid: number): string => readText(`/proc/${pid}/stat`).split(") ").at(-1)?.split(" ")[19] ?? "";

const self = (command: string): LockHolder => ({
  pid: process.pid,
  host: hostname(),
  boot: readText("/proc/sys/kernel/random/boot_id"),
  startedAt: processStart(process.pid),
  command,
});

export const lockPath = (dataDir: string): string => join(dataDir, "godwit.lock");

/** The running owner of the lock, or undefined. Takes some seconds when the owner is on another machine. */
export async function findLockHolder(path: string, text = readText(path)): Promise<LockHolder | undefined> {
  if (text === "") return undefined;
  let owner: LockHolder;
  try {
    owner = JSON.parse(text) as LockHolder;
  } catch {
    return undefined;
  }
  const me = self("");
  if (owner.host === me.host && owner.boot === me.boot) return isRunning(owner) ? owner : undefined;
  return (await isTouched(path)) ? owner : undefined;
}

function isRunning({ pid, startedAt }: LockHolder): boolean {
  if (startedAt !== "") return processStart(pid) === startedAt;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

async function isTouched(path: string): Promise<boolean> {
  const touchedAt = (): number => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  const before = touchedAt();
  for (let waited = 0; waited < SILENT_AFTER_MS; waited += TOUCH_EVERY_MS) {
    await sleep(TOUCH_EVERY_MS);
    if (touchedAt() !== before) return true;
  }
  return false;
}

/** Takes the lock, or returns its owner. */
export async function takeLock(dataDir: string, command: string): Promise<DirectoryLock | { owner: LockHolder }> {
  const path = lockPath(dataDir);
  // Pids are not unique if containers share a volume.
  const mine = `${path}.${randomBytes(6).toString("hex")}`;
  const text = JSON.stringify({ ...self(command), token: randomBytes(6).toString("hex") });
  writeFileSync(mine, text);
  try {
    for (;;) {
      // A hard link is created or refused atomically, so one of two processes wins.
      if (tryLink(mine, path)) return hold(path, text);
      const found = readText(path);
      const owner = await findLockHolder(path, found);
      if (owner !== undefined) return { owner };
      removeStale(path, found);
    }
  } finally {
    rmSync(mine, { force: true });
  }
}

function tryLink(from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

/** Removes a stale lock. Another process may have taken the lock after this one read it; then the lock is put back. */
function removeStale(path: string, expected: string): void {
  const aside = `${path}.${randomBytes(6).toString("hex")}.stale`;
  try {
    renameSync(path, aside);
  } catch {
    return;
  }
  if (readText(aside) !== expected) tryLink(aside, path);
  rmSync(aside, { force: true });
}

function hold(path: string, text: string): DirectoryLock {
  const timer = setInterval(() => {
    try {
      utimesSync(path, new Date(), new Date());
    } catch {
      // The directory is missing or full. The database reports that more clearly.
    }
  }, TOUCH_EVERY_MS);
  timer.unref();
  return {
    release: () => {
      clearInterval(timer);
      if (readText(path) === text) rmSync(path, { force: true });
    },
  };
}
