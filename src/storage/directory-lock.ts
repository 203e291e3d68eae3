/** One godwit per data directory. The lock is a file that names its owner and is touched while the owner lives, so that
 *  a crashed owner is recognised at once on the same machine, and within seconds from another (a shared volume). */
import { linkSync, readFileSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { randomBytes } from "node:crypto";
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

/** When a process began, in ticks since boot: tells it from a later one with the same number. Empty where /proc is not. */
const processStart = (pid: number): string => readText(`/proc/${pid}/stat`).split(") ").at(-1)?.split(" ")[19] ?? "";

const self = (command: string): LockHolder => ({
  pid: process.pid,
  host: hostname(),
  boot: readText("/proc/sys/kernel/random/boot_id"),
  startedAt: processStart(process.pid),
  command,
});

export const lockPath = (dataDir: string): string => join(dataDir, "godwit.lock");

/** The living owner of the lock, or undefined. May take some seconds when the owner is on another machine. */
export async function lockOwner(path: string): Promise<LockHolder | undefined> {
  return judge(path, readText(path));
}

async function judge(path: string, text: string): Promise<LockHolder | undefined> {
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

/** Takes the lock, or tells who has it. */
export async function takeLock(dataDir: string, command: string): Promise<DirectoryLock | { owner: LockHolder }> {
  const path = lockPath(dataDir);
  // Process numbers are not unique where containers share a volume.
  const mine = `${path}.${randomBytes(6).toString("hex")}`;
  const text = JSON.stringify({ ...self(command), token: randomBytes(6).toString("hex") });
  writeFileSync(mine, text);
  try {
    for (;;) {
      // A hard link is made or refused in one step: of two that try, one wins.
      if (tryLink(mine, path)) return hold(path, text);
      const judged = readText(path);
      const owner = await judge(path, judged);
      if (owner !== undefined) return { owner };
      removeStale(path, judged);
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

/** Between our judgement and our removal another process may have taken the lock: then it is put back. */
function removeStale(path: string, judged: string): void {
  const aside = `${path}.${randomBytes(6).toString("hex")}.stale`;
  try {
    renameSync(path, aside);
  } catch {
    return;
  }
  if (readText(aside) !== judged) tryLink(aside, path);
  rmSync(aside, { force: true });
}

function hold(path: string, text: string): DirectoryLock {
  const timer = setInterval(() => {
    try {
      utimesSync(path, new Date(), new Date());
    } catch {
      // The directory went away or is full; the database will say so better.
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
