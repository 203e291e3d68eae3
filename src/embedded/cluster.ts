/** The folder of a PostgreSQL cluster: created complete or not at all, and open to its owner and root only. */
import { spawnSync } from "node:child_process";
import { chownSync, existsSync, lchownSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { userInfo } from "node:os";
import { dirname, join } from "node:path";
import { explainDiskError, renameFlushed } from "./data-directory.ts";
import { EMBEDDED_ADMIN } from "./embedded-roles.ts";
import type { Programs } from "./postgres-binaries.ts";
import type { RunAs } from "./run-as.ts";
import { StartupError } from "../database/startup-error.ts";

export const identity = (runAs: RunAs | undefined): { uid?: number; gid?: number } =>
  runAs === undefined ? {} : { uid: runAs.uid, gid: runAs.gid };

/** Whether there is no cluster yet. A folder with other content is not touched. */
export function isAbsent(cluster: string): boolean {
  if (existsSync(join(cluster, "PG_VERSION"))) return false;
  if (!existsSync(cluster) || readdirSync(cluster).length === 0) return true;
  throw new StartupError(
    `${cluster} is not empty and not a PostgreSQL cluster (it has no PG_VERSION): restore it, or choose another GODWIT_DATA_DIR`,
  );
}

/** A server that finds this file does not start without the settings of a recovery. */
export const RECOVERY_SIGNAL = "recovery.signal";

/** Throws if the cluster is from a restore that was interrupted before it had reached its time. */
export function refuseUnfinishedRestore(cluster: string): void {
  if (existsSync(join(cluster, RECOVERY_SIGNAL)))
    throw new StartupError(`${cluster} is from an interrupted restore: delete the folder and repeat the restore`);
}

const INITDB_OPTIONS = ["--encoding=UTF8", "--no-locale", "--auth=peer", "--data-checksums", "--no-instructions"];

/** Creates the cluster beside its final folder and moves it there when it is complete, so that a crash leaves no partial cluster. */
export function initialize(
  programs: Programs,
  runAs: RunAs | undefined,
  cluster: string,
  dataDir: string,
  say: (line: string) => void,
): void {
  say(`first start: creating a database in ${dataDir}`);
  const unfinished = join(dirname(cluster), "postgres.unfinished");
  rmSync(unfinished, { recursive: true, force: true });
  mkdirSync(unfinished, { mode: 0o700 });
  if (runAs !== undefined) chownSync(unfinished, runAs.uid, runAs.gid);
  const done = spawnSync(programs.initdb, ["-D", unfinished, "-U", EMBEDDED_ADMIN, ...INITDB_OPTIONS], {
    ...identity(runAs),
    cwd: "/",
    env: { LC_ALL: "C", TZ: "UTC", PATH: "/usr/bin:/bin" },
    encoding: "utf8",
  });
  if (done.status !== 0) {
    rmSync(unfinished, { recursive: true, force: true });
    const output = `${done.stderr ?? ""}${done.error?.message ?? ""}`.trim();
    const reason = output.split("\n").find((line) => /error|FATAL|could not|PANIC/.test(line)) ?? output;
    throw explainDiskError(new StartupError(`the database could not be created: ${reason}`, { cause: output }), dataDir);
  }
  renameFlushed(unfinished, cluster);
}

/** Lets only two users of the machine connect: the one that owns the files, and root. PostgreSQL learns their names from the
 *  kernel. */
export function writeAuthentication(cluster: string, runAs: RunAs | undefined): void {
  const owner = runAs?.name ?? userInfo().username;
  const users = Array.from(new Set([owner, "root"]), (name) => `godwit "${name}" all\n`);
  const note = "# Written by godwit at each start.\n";
  for (const [name, lines] of [
    ["pg_hba.conf", "local all all peer map=godwit\n"],
    ["pg_ident.conf", users.join("")],
  ] as const) {
    const unfinished = join(cluster, `${name}.unfinished`);
    rmSync(unfinished, { force: true });
    writeFileSync(unfinished, note + lines, { mode: 0o600, flag: "wx" });
    if (runAs !== undefined) lchownSync(unfinished, runAs.uid, runAs.gid);
    renameSync(unfinished, join(cluster, name));
  }
}

/** Throws if the cluster was written by another major version, whose files this server cannot read. */
export function checkMajor(cluster: string, { version }: Programs): void {
  const major = readFileSync(join(cluster, "PG_VERSION"), "utf8").trim();
  if (version.split(".")[0] === major) return;
  throw new StartupError(
    `${cluster} was written by PostgreSQL ${major}, and this godwit brings ${version}: start the godwit that wrote it, ` +
      "or copy the data to a new database (docs/upgrading.md, Upgrade PostgreSQL)",
  );
}
