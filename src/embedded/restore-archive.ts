/** Restores the database as it was at a time: the newest base backup from before, and the archived WAL up to that time. */
import { realpathSync, rmSync } from "node:fs";
import { isoTime } from "../lib/time.ts";
import { StartupError } from "../database/startup-error.ts";
import { findWalFaults, listBases, listWal, recoverySettings, type BaseBackup } from "./archive.ts";
import { clusterPath, socketDir } from "./data-directory.ts";
import { EmbeddedPostgres } from "./embedded-postgres.ts";
import { connectAsAdmin } from "./embedded-roles.ts";
import { restoreBackup, type RestoreOptions } from "./restore-backup.ts";
import { chooseUser, findForbidden } from "./run-as.ts";

// A busy day of WAL takes an hour to replay.
const RECOVERY_TIMEOUT_MS = 24 * 3_600_000;

export type Recovered = { base: string; lastCommit: string | null };

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
  const base = chooseBase(archive, toMs);
  // The server takes a file that it cannot read for the end of the archive.
  if (toMs === undefined) refuse(await findWalFaults(base));
  await restoreBackup(base.path, { ...options, isRecovering: true });
  const cluster = realpathSync(clusterPath(options.dataDir));
  try {
    const runAs = chooseUser(cluster);
    const forbidden = runAs && findForbidden(runAs, "-r", listWal(base).slice(-1));
    if (forbidden !== undefined) throw new StartupError(`the user ${runAs?.name} cannot read ${forbidden}: give the archive to that user`);
    return { base: base.path, lastCommit: await recover(options.dataDir, recoverySettings(cluster, base.series, toMs)) };
  } catch (error) {
    rmSync(cluster, { recursive: true, force: true });
    rmSync(clusterPath(options.dataDir), { recursive: true, force: true });
    const faults = toMs === undefined ? [] : await findWalFaults(base);
    refuse(faults, error);
    if (/before configured recovery target/.test(String(error)))
      throw new StartupError(`the archive ends before the time: restore it with --to latest`, { cause: error });
    throw error;
  }
}

function refuse(faults: readonly string[], cause?: unknown): void {
  if (faults.length === 0) return;
  const more = faults.length === 1 ? "" : ` and ${faults.length - 1} more; godwit backup verify lists them`;
  throw new StartupError(`the archive is damaged: ${faults[0]}${more}`, { cause });
}

/** Starts the server until it has replayed the WAL and has begun a new timeline. Returns the time of the last commit that it replayed. */
async function recover(dataDir: string, settings: Readonly<Record<string, string>>): Promise<string | null> {
  const server = await EmbeddedPostgres.start({
    dataDir,
    command: "backup",
    say: () => undefined,
    onLog: () => undefined,
    settings,
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
