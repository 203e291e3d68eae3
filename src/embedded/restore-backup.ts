/** Restores a backup into a data directory without a database. The next start of the service recovers it, and begins with a hold. */
import { existsSync, lchownSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { copyFile, FILES, readManifest, syncFolders, type BackupManifest, type Progress } from "./backup-files.ts";
import { isAbsent, RECOVERY_SIGNAL, refuseUnfinishedRestore } from "./cluster.ts";
import { claimDataDir, clusterPath, findClusterFolder, linkCluster, makeDataDir, socketDir } from "./data-directory.ts";
import { takeLock } from "./directory-lock.ts";
import { chooseUser } from "./run-as.ts";
import { Database } from "../database/database.ts";
import { StartupError } from "../database/startup-error.ts";
import type pg from "pg";
import { EmbeddedPostgres } from "./embedded-postgres.ts";
import { connectAsAdmin } from "./embedded-roles.ts";

const MARK = "godwit.restored";
const markPath = (dataDir: string): string => join(clusterPath(dataDir), MARK);

/** Whether the database was restored and has not been started since. */
export const isRestored = (dataDir: string): boolean => existsSync(markPath(dataDir));

export const forgetRestored = (dataDir: string): void => rmSync(markPath(dataDir), { force: true });

export type RestoreOptions = { dataDir: string; progress: Progress; say: (line: string) => void; signal: AbortSignal };

/** `isRecovering`: the caller recovers the restored database to a later time. */
export async function restoreBackup(
  backup: string,
  { dataDir, progress, say, signal, isRecovering = false }: RestoreOptions & { isRecovering?: boolean },
): Promise<BackupManifest> {
  const manifest = readManifest(backup);
  makeDataDir(dataDir);
  const lock = await takeLock(dataDir, "backup");
  if ("owner" in lock) throw new StartupError(`${dataDir} is in use by another godwit (process ${lock.owner.pid})`);
  try {
    const runAs = chooseUser(clusterPath(dataDir));
    claimDataDir(dataDir, runAs, say);
    const cluster = findClusterFolder(dataDir, runAs, say);
    refuseUnfinishedRestore(cluster);
    if (!isAbsent(cluster)) throw new StartupError(`${cluster} has a database: name another --data-dir, or move it away`);
    const unfinished = join(dirname(cluster), "postgres.unfinished");
    rmSync(unfinished, { recursive: true, force: true });
    const onBytes: Progress = (done, all) => {
      signal.throwIfAborted();
      progress(done, all);
    };
    try {
      await copyBack(backup, unfinished, manifest, onBytes);
    } catch (error) {
      rmSync(unfinished, { recursive: true, force: true });
      throw error;
    }
    writeFileSync(join(unfinished, MARK), `${manifest.created_at}\n`, { mode: 0o600, flush: true });
    const marks = isRecovering ? [MARK, RECOVERY_SIGNAL] : [MARK];
    if (isRecovering) writeFileSync(join(unfinished, RECOVERY_SIGNAL), "", { mode: 0o600, flush: true });
    if (runAs !== undefined)
      // The folder itself last: until then that user cannot put a link into it.
      for (const path of ["", ...manifest.folders, ...marks, ...manifest.files.map((file) => file.path)].toReversed())
        lchownSync(join(unfinished, path), runAs.uid, runAs.gid);
    await syncFolders(manifest.folders.map((folder) => join(unfinished, folder)));
    rmSync(cluster, { recursive: true, force: true });
    renameSync(unfinished, cluster);
    await syncFolders([dirname(cluster)]);
    linkCluster(dataDir, cluster);
    return manifest;
  } finally {
    lock.release();
  }
}

async function copyBack(from: string, to: string, { folders, files }: BackupManifest, progress: Progress): Promise<void> {
  mkdirSync(to, { recursive: true, mode: 0o700 });
  for (const folder of folders) mkdirSync(join(to, folder), { recursive: true, mode: 0o700 });
  const all = files.reduce((sum, { bytes }) => sum + bytes, 0);
  let done = 0;
  for (const { path, bytes, sha256 } of files) {
    const found = await copyFile({ folder: from, path: join(FILES, path) }, join(to, path), (count) => progress((done += count), all));
    if (found.bytes !== bytes || found.sha256 !== sha256)
      throw new StartupError(`the backup is damaged: ${path} is not what was saved; godwit backup verify lists every difference`);
  }
}

type ReadOptions = { signal: AbortSignal; onTable: (table: string, rows: number) => void; inspect: (db: Database) => Promise<void> };

/** Starts a restored backup, and reads every row of every table. PostgreSQL compares each page with its checksum when it reads it. Returns the
 *  number of all rows. Throws if a row cannot be read. `inspect` is called afterwards, with the role of the service. */
export async function readWholeBackup(dataDir: string, { signal, onTable, inspect }: ReadOptions): Promise<number> {
  const server = await EmbeddedPostgres.start({ dataDir, command: "backup", say: () => undefined, onLog: () => undefined, signal });
  if (!(server instanceof EmbeddedPostgres)) throw new StartupError(`${dataDir} is in use by another godwit`);
  const db = new Database(server.target);
  let admin: pg.Client | undefined;
  try {
    admin = await connectAsAdmin(socketDir(dataDir));
    const { rows: tables } = await admin.query<{ name: string }>(
      "select oid::regclass::text as name from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r' order by 1",
    );
    let all = 0;
    for (const { name } of tables) {
      // Each row as a whole, also what is stored apart from it.
      const { rows } = await admin.query<{ count: string }>(`select count(hashtext(t::text)) as count from ${name} t`);
      const count = Number(rows[0]?.count ?? 0);
      all += count;
      onTable(name, count);
    }
    await inspect(db);
    return all;
  } finally {
    await admin?.end();
    await db.close();
    await server.stop();
  }
}
