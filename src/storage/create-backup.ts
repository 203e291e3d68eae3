/** Creates a backup of the embedded server while it runs: its files between two calls of the server's backup functions, and the log from the first call
 *  to the second one. The server replays that log when the backup is restored, which makes the files consistent. */
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync, writeFileSync, type Dirent } from "node:fs";
import { readdir } from "node:fs/promises";
import { dirname, join, sep } from "node:path";
import pg from "pg";
import { copyFile, FILES, syncFolders, writeManifest, type BackupFile, type BackupManifest, type Progress } from "./backup-files.ts";
import { EMBEDDED_ADMIN, EMBEDDED_DATABASE } from "./embedded-roles.ts";
import { StartupError } from "./startup-error.ts";

// The server makes these again when it starts, or they belong to the running server. The log is copied at the end.
const SKIPPED_FOLDERS = /^(pg_wal|pg_replslot|pg_stat_tmp|pg_dynshmem|pg_notify|pg_serial|pg_snapshots|pg_subtrans)$/;
const SKIPPED_FILES =
  /(^|\/)(postmaster\.(pid|opts)|pg_internal\.init(\.\d+)?|\.s\.PGSQL\..*|godwit\.\w+|backup_label|tablespace_map)$|pgsql_tmp/;
const SLOT = "godwit_backup";

export type BackupSource = { cluster: string; sockets: string; schema: number };

/** Writes a backup into a folder, which must not exist or be empty. A folder with a manifest is complete. */
export async function createBackup(source: BackupSource, to: string, progress: Progress): Promise<BackupManifest> {
  if (existsSync(to) && readdirSync(to).length > 0) throw new StartupError(`${to} is not empty: name a new folder`);
  const unfinished = `${to}.unfinished`;
  rmSync(unfinished, { recursive: true, force: true });
  mkdirSync(join(unfinished, FILES), { recursive: true, mode: 0o700 });
  const admin = new pg.Client({ host: source.sockets, user: EMBEDDED_ADMIN, database: EMBEDDED_DATABASE });
  admin.on("error", () => undefined);
  await admin.connect();
  try {
    const manifest = await copyAll(admin, source, unfinished, progress);
    writeManifest(unfinished, manifest);
    await syncFolders([unfinished]);
    rmSync(to, { recursive: true, force: true });
    renameSync(unfinished, to);
    await syncFolders([dirname(to)]);
    return manifest;
  } catch (error) {
    rmSync(unfinished, { recursive: true, force: true });
    throw error;
  } finally {
    await admin.end();
  }
}

async function copyAll(admin: pg.Client, { cluster, schema }: BackupSource, to: string, progress: Progress): Promise<BackupManifest> {
  // The slot keeps the log until this session ends, although checkpoints happen meanwhile.
  await admin.query(`select pg_create_physical_replication_slot('${SLOT}', true, true)`);
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
      const facts = await copyFile(join(cluster, path), target, (count) => progress(Math.min((done += count), all), all));
      copied.push({ path, ...facts });
    } catch (error) {
      // The server deletes files meanwhile, and its log says so.
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
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
  copied.push({ path: "backup_label", ...(await copyFile(labelPath, undefined, () => undefined)) });
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
