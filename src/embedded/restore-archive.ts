/** Restores the database as it was at a time: the newest base backup from before, and the archived WAL up to that time. */
import { accessSync, constants, realpathSync, rmSync } from "node:fs";
import { isoTime } from "../lib/time.ts";
import { StartupError } from "../database/startup-error.ts";
import { findWalFaults, listBases, recoverySettings, type BaseBackup } from "./archive.ts";
import { claimDataDir, clusterPath, makeDataDir, socketDir } from "./data-directory.ts";
import { takeLock } from "./directory-lock.ts";
import { EmbeddedPostgres, type EmbeddedOptions } from "./embedded-postgres.ts";
import { connectAsAdmin } from "./embedded-roles.ts";
import { findPrograms } from "./postgres-binaries.ts";
import { restoreBackup, type RestoreOptions } from "./restore-backup.ts";
import { becomeUser, chooseUser, findForbidden, isRoot } from "./run-as.ts";

// A busy day of WAL takes an hour to replay.
const RECOVERY_TIMEOUT_MS = 24 * 3_600_000;

export type Recovered = { base: string; lastCommit: string | null };

/** Continues as the user of the archive and of the server, if this process is root. That user could put a link into the archive or the data
 *  directory, and the server does not report a WAL file that its user cannot read, but takes it for the end of the archive. */
export function becomeArchiveUser(archive: string, dataDir: string | undefined, say: (line: string) => void): void {
  if (!isRoot()) return;
  const user = chooseUser(archive);
  if (user === undefined) return;
  findPrograms(user, say);
  if (dataDir !== undefined) {
    makeDataDir(dataDir);
    claimDataDir(dataDir, user, say);
    if (findForbidden(user, "-w", [dataDir]) !== undefined)
      throw new StartupError(`the user ${user.name} cannot write to ${dataDir}: name another --data-dir`);
  }
  becomeUser(user);
  try {
    accessSync(archive, constants.R_OK | constants.X_OK);
  } catch (error) {
    throw new StartupError(`the user ${user.name} cannot read ${archive}: give the archive to that user`, { cause: error });
  }
}

/** The base backup that a recovery to the time begins with. Without a time, it is the newest one. */
export function chooseBase(archive: string, toMs: number | undefined): BaseBackup {
  const bases = listBases(archive);
  const base = bases.findLast(({ createdAtMs }) => toMs === undefined || createdAtMs <= toMs);
  if (base !== undefined) return base;
  const [oldest] = bases;
  throw new StartupError(
    oldest === undefined
      ? `${archive} has no complete base backup`
      : `${archive} begins later: its oldest base backup is from ${isoTime(oldest.createdAtMs)}`,
  );
}

/** Restores the database to a time, or to the end of the archive. Leaves no database if the recovery does not reach it. */
export async function restoreArchive(archive: string, toMs: number | undefined, options: RestoreOptions): Promise<Recovered> {
  const { dataDir, signal } = options;
  const base = chooseBase(archive, toMs);
  // The server takes a file that it cannot read for the end of the archive.
  if (toMs === undefined) refuse(await findWalFaults(base, signal));
  await restoreBackup(base.path, { ...options, isRecovering: true });
  const cluster = realpathSync(clusterPath(dataDir));
  try {
    return { base: base.path, lastCommit: await recover({ dataDir, signal, settings: recoverySettings(cluster, base.series, toMs) }) };
  } catch (error) {
    await removeCluster(dataDir, cluster);
    signal.throwIfAborted();
    const faults = toMs === undefined ? [] : await findWalFaults(base, signal);
    refuse(faults, error);
    if (/before configured recovery target/.test(String(error)))
      throw new StartupError(`the archive ends before the time: restore it with --to latest`, { cause: error });
    throw error;
  }
}

/** Deletes the database, unless another process uses it meanwhile. */
async function removeCluster(dataDir: string, cluster: string): Promise<void> {
  const lock = await takeLock(dataDir, "backup");
  if ("owner" in lock) return;
  rmSync(cluster, { recursive: true, force: true });
  rmSync(clusterPath(dataDir), { recursive: true, force: true });
  lock.release();
}

function refuse(faults: readonly string[], cause?: unknown): void {
  if (faults.length === 0) return;
  const more = faults.length === 1 ? "" : ` and ${faults.length - 1} more; godwit backup verify lists them`;
  throw new StartupError(`the archive is damaged: ${faults[0]}${more}`, { cause });
}

/** Starts the server until it has replayed the WAL and has begun a new timeline. Returns the time of the last commit that it replayed. */
async function recover(options: Required<Pick<EmbeddedOptions, "dataDir" | "settings">> & { signal: AbortSignal }): Promise<string | null> {
  const { dataDir } = options;
  const server = await EmbeddedPostgres.start({
    ...options,
    command: "backup",
    say: () => undefined,
    onLog: () => undefined,
    readyTimeoutMs: RECOVERY_TIMEOUT_MS,
  });
  if (!(server instanceof EmbeddedPostgres)) throw new StartupError(`${dataDir} is in use by another godwit`);
  try {
    const admin = await connectAsAdmin(socketDir(dataDir));
    try {
      const { rows } = await admin.query<{ time: Date | null }>("select pg_last_xact_replay_timestamp() as time");
      return rows[0]?.time?.toISOString() ?? null;
    } finally {
      await admin.end();
    }
  } finally {
    await server.stop();
  }
}
