/** Creates a backup of the embedded server while it runs: its files between two calls of the server's backup functions, and the log from the first call
 *  to the second one. The server replays that log when the backup is restored, which makes the files consistent. */
import { existsSync, mkdirSync, readdirSync, realpathSync, rmSync, statSync, writeFileSync, type Dirent } from "node:fs";
import { readdir } from "node:fs/promises";
import { basename, dirname, join, sep } from "node:path";
import pg from "pg";
import { copyFile, FILES, syncFolders, writeManifest, type BackupFile, type BackupManifest, type Progress } from "./backup-files.ts";
import { explainDiskError } from "./data-directory.ts";
import { connectAsAdmin } from "./embedded-roles.ts";
import { StartupError } from "../database/startup-error.ts";

// The server makes these again when it starts, or they belong to the running server. The log is copied at the end.
const SKIPPED_FOLDERS = /^(pg_wal|pg_replslot|pg_stat_tmp|pg_dynshmem|pg_notify|pg_serial|pg_snapshots|pg_subtrans)$/;
const SKIPPED_FILES =
  /(^|\/)(postmaster\.(pid|opts)|pg_internal\.init(\.\d+)?|\.s\.PGSQL\..*|godwit\.\w+|backup_label|tablespace_map)$|pgsql_tmp/;
const SLOT = "godwit_backup";

export type BackupSource = { cluster: string; sockets: string; schema: number };

/** Writes a backup into a folder, which must not exist or be empty. The manifest is written last: a folder with one is complete. */
export async function createBackup(source: BackupSource, to: string, progress: Progress): Promise<BackupManifest> {
  if (existsSync(to) && readdirSync(to).length > 0) throw new StartupError(`${to} is not empty: name a new folder`);
  if (`${realPath(to)}${sep}`.startsWith(`${source.cluster}${sep}`))
    throw new StartupError(`${to} is inside the database: name another folder`);
  const admin = await connectAsAdmin(source.sockets);
  try {
    await takeSlot(admin);
    mkdirSync(join(to, FILES), { recursive: true, mode: 0o700 });
    const manifest = await copyAll(admin, source, to, progress);
    writeManifest(to, manifest);
    await syncFolders([to, dirname(to)]);
    return manifest;
  } catch (error) {
    throw explainDiskError(error, to);
  } finally {
    await admin.end();
  }
}

/** The path without links. Its last folders may not exist. */
const realPath = (path: string): string => (existsSync(path) ? realpathSync(path) : join(realPath(dirname(path)), basename(path)));

const DUPLICATE_OBJECT = "42710";

/** The slot keeps the log until this session ends, although checkpoints happen meanwhile. */
async function takeSlot(admin: pg.Client): Promise<void> {
  try {
    await admin.query(`select pg_create_physical_replication_slot('${SLOT}', true, true)`);
  } catch (error) {
    if (error instanceof pg.DatabaseError && error.code === DUPLICATE_OBJECT)
      throw new StartupError("another backup of this database is running");
    throw error;
  }
}

async function copyAll(admin: pg.Client, { cluster, schema }: BackupSource, to: string, progress: Progress): Promise<BackupManifest> {
  const started = await admin.query<{ file: string; version: string }>(
    "select pg_walfile_name(pg_backup_start('godwit', true)) as file, current_setting('server_version') as version",
  );
  const { file: firstLog = "", version = "" } = started.rows[0] ?? {};
  const { folders, files } = await listFiles(cluster);
  for (const folder of folders) mkdirSync(join(to, FILES, folder), { recursive: true, mode: 0o700 });
  const all = files.reduce((sum, path) => sum + sizeOf(join(cluster, path)), 0);
  let done = 0;
  const copied: BackupFile[] = [];
  const copy = async (path: string): Promise<void> => {
    const target = join(to, FILES, path);
    try {
      const facts = await copyFile({ folder: cluster, path }, target, (count) => progress(Math.min((done += count), all), all));
      copied.push({ path, ...facts });
    } catch (error) {
      // The server deletes files meanwhile, and its log says so. The slot keeps the log itself.
      const { code, path: missing } = error as NodeJS.ErrnoException;
      if (code !== "ENOENT" || missing !== join(cluster, path) || path.startsWith("pg_wal")) throw error;
      rmSync(target, { force: true });
    }
  };
  for (const path of files) await copy(path);
  const stopped = await admin.query<{ file: string; label: string }>(
    "select pg_walfile_name(lsn) as file, labelfile as label from pg_backup_stop(false)",
  );
  const { file: lastLog = "", label = "" } = stopped.rows[0] ?? {};
  const createdAt = new Date().toISOString();
  const logs = readdirSync(join(cluster, "pg_wal")).filter((name) => /^[0-9A-F]{24}$/.test(name) && name >= firstLog && name <= lastLog);
  for (const name of logs.toSorted()) await copy(join("pg_wal", name));
  const labelPath = join(to, FILES, "backup_label");
  writeFileSync(labelPath, label, { mode: 0o600, flush: true });
  copied.push({ path: "backup_label", ...(await copyFile({ folder: to, path: join(FILES, "backup_label") }, undefined, () => undefined)) });
  await syncFolders(folders.map((folder) => join(to, FILES, folder)));
  return { format: 1, created_at: createdAt, postgres: version, schema, folders, files: copied };
}

/** The folders and files of a cluster, as relative paths. The contents of skipped folders are left out. */
async function listFiles(cluster: string): Promise<{ folders: string[]; files: string[] }> {
  const entries = await readdir(cluster, { recursive: true, withFileTypes: true });
  const pathOf = (entry: Dirent): string => join(entry.parentPath, entry.name).slice(cluster.length + 1);
  const isWanted = (path: string): boolean => !SKIPPED_FOLDERS.test(path.split(sep)[0] ?? "");
  const folders = entries.filter((entry) => entry.isDirectory()).map(pathOf);
  const files = entries.filter((entry) => entry.isFile()).map(pathOf);
  return {
    folders: ["", ...folders.filter((path) => isWanted(path) || !path.includes(sep) || path.startsWith(`pg_wal${sep}`))],
    files: files.filter((path) => isWanted(path) && !SKIPPED_FILES.test(path)),
  };
}

const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0;
