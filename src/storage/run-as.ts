/** The user that runs PostgreSQL, which refuses to run as root. When this process is root, PostgreSQL runs as an unprivileged user. That
 *  user may be unable to reach a checkout or a home directory of mode 0700; then programs and data are put where the user can reach them. */
import { spawnSync } from "node:child_process";
import { lstatSync, readFileSync } from "node:fs";
import { StartupError } from "./startup-error.ts";

export type RunAs = { name: string; uid: number; gid: number };

/** This folder survives reboots, unlike /tmp, and every user can traverse it. */
export const SHARED_DIR = "/var/lib/godwit";

// A user that was created for this purpose first, then the user that every Debian has.
const PREFERRED = ["godwit", "nobody"];

/** Returns undefined when this process is not root; PostgreSQL then runs as the same user. */
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

/** Tests the path as that user, since mode bits do not show access lists and mounts. */
export function canReach(runAs: RunAs | undefined, path: string): boolean {
  if (runAs === undefined) return true;
  const probe = spawnSync("/bin/sh", ["-c", 'test -x "$1"', "sh", path], { uid: runAs.uid, gid: runAs.gid, cwd: "/", stdio: "ignore" });
  return probe.status === 0;
}
