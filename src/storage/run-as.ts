/** PostgreSQL refuses to run as root. When we are root it runs as an unprivileged user, who may be unable to reach a
 *  checkout or a home directory of mode 0700: then programs and data get a place that this user can reach. */
import { spawnSync } from "node:child_process";
import { lstatSync, readFileSync } from "node:fs";
import { StartupError } from "./startup-error.ts";

export type RunAs = { name: string; uid: number; gid: number };

/** Outlives reboots, unlike /tmp, and every user can pass through it. */
export const SHARED_DIR = "/var/lib/godwit";

// A user made for the purpose first, then the one that every Debian has.
const PREFERRED = ["godwit", "nobody"];

/** Undefined when this process is not root: PostgreSQL then runs as ourselves. */
export function chooseUser(existingData: string): RunAs | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const users = readUsers();
  const dataOwner = lstatSync(existingData, { throwIfNoEntry: false })?.uid;
  const user =
    users.find(({ uid }) => dataOwner !== undefined && dataOwner !== 0 && uid === dataOwner) ??
    PREFERRED.map((name) => users.find((candidate) => candidate.name === name)).find((candidate) => candidate !== undefined);
  if (user === undefined)
    throw new StartupError(
      "PostgreSQL cannot run as root and there is no user godwit or nobody: create one, or run godwit as another user",
    );
  return user;
}

function readUsers(): RunAs[] {
  return readFileSync("/etc/passwd", "utf8")
    .split("\n")
    .map((line) => line.split(":"))
    .filter((fields) => fields.length >= 4 && fields[2] !== "0")
    .map(([name = "", , uid, gid]) => ({ name, uid: Number(uid), gid: Number(gid) }));
}

/** Asks the system itself, as that user: mode bits alone do not know of access lists and mounts. */
export function canReach(runAs: RunAs | undefined, path: string): boolean {
  if (runAs === undefined) return true;
  const probe = spawnSync("/bin/sh", ["-c", 'test -x "$1"', "sh", path], { uid: runAs.uid, gid: runAs.gid, cwd: "/", stdio: "ignore" });
  return probe.status === 0;
}
