/** The unprivileged user of the service. PostgreSQL refuses to run as root; when this process is root, PostgreSQL runs as that user. The
 *  user may be unable to reach a checkout or a home directory of mode 0700; then programs and data are put where the user can reach them. */
import { spawnSync } from "node:child_process";
import { lstatSync, readFileSync } from "node:fs";
import { StartupError } from "../database/startup-error.ts";

export type RunAs = { name: string; uid: number; gid: number };

/** This folder survives reboots, unlike /tmp, and every user can traverse it. */
export const SHARED_DIR = "/var/lib/godwit";

const SERVICE_USER = "godwit";
// Other programs run as this user as well, and could read the database.
const SHARED_USER = "nobody";

// The tools of most distributions, if the group is new and if it exists, and of distributions with BusyBox.
const USERADD = ["--system", "--no-create-home", "--home-dir", SHARED_DIR, "--shell", "/usr/sbin/nologin", SERVICE_USER];
const CREATE_USER: readonly (readonly [program: string, ...args: string[]])[] = [
  ["useradd", "--user-group", ...USERADD],
  ["useradd", "--gid", SERVICE_USER, ...USERADD],
  ["adduser", "-S", "-D", "-H", "-h", SHARED_DIR, "-s", "/sbin/nologin", SERVICE_USER],
];
const TOOL_PATH = "/usr/sbin:/sbin:/usr/bin:/bin";

export const isRoot = (): boolean => process.getuid?.() === 0;

/** Returns undefined when this process is not root; PostgreSQL then runs as the same user. Otherwise returns the owner of existing data,
 *  or the user of the service. */
export function chooseUser(existingData: string): RunAs | undefined {
  const users = readUsers();
  const own = process.getuid?.();
  if (!isRoot()) {
    if (users.some(({ name, uid }) => uid === own && name === SHARED_USER))
      throw new StartupError(
        `the database cannot belong to the user ${SHARED_USER}, which other programs share: run godwit as another user`,
      );
    return undefined;
  }
  const owner = lstatSync(existingData, { throwIfNoEntry: false })?.uid;
  return users.find(({ name, uid }) => uid === owner && name !== SHARED_USER) ?? requireServiceUser();
}

function requireServiceUser(): RunAs {
  const user = findServiceUser();
  if (user !== undefined) return user;
  throw new StartupError(
    `PostgreSQL cannot run as root, and the user ${SERVICE_USER} could not be created: create it with ` +
      `useradd --system ${SERVICE_USER}, or run godwit as another user`,
  );
}

/** Returns the user of the service, which root creates if that is possible. */
export function findServiceUser(): RunAs | undefined {
  const find = (): RunAs | undefined => readUsers().find(({ name }) => name === SERVICE_USER);
  for (const [program, ...args] of CREATE_USER) {
    if (find() !== undefined) break;
    spawnSync(program, args, { env: { PATH: TOOL_PATH }, stdio: "ignore" });
  }
  return find();
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
  return runAs === undefined || findForbidden(runAs, "-x", [path]) === undefined;
}

/** Returns the first of the paths for which `test` fails as that user: `-r` to read, `-w` to write, `-x` to enter or run. */
export function findForbidden(runAs: RunAs, access: "-r" | "-w" | "-x", paths: readonly string[]): string | undefined {
  const fails = (path: string): boolean =>
    spawnSync("/bin/sh", ["-c", 'test "$1" "$2"', "sh", access, path], { uid: runAs.uid, gid: runAs.gid, cwd: "/", stdio: "ignore" })
      .status !== 0;
  return paths.find(fails);
}

/** Gives up root for good. */
export function becomeUser({ uid, gid }: RunAs): void {
  process.setgroups?.([gid]);
  process.setgid?.(gid);
  process.setuid?.(uid);
}

/** Does synchronous work with the rights of the owner of a folder, if this process is root: the owner may have put a link there to a file
 *  that only root can read. */
export function withRightsOfOwner<T>(folder: string, work: () => T): T {
  const { uid, gid } = lstatSync(folder);
  if (!isRoot() || uid === 0) return work();
  process.setegid?.(gid);
  process.seteuid?.(uid);
  try {
    return work();
  } finally {
    process.seteuid?.(0);
    process.setegid?.(0);
  }
}
