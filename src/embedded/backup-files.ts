/** The files of a backup: a folder with a manifest, and the files of the cluster. The manifest has the size and the SHA-256 of each file. */
import { createHash } from "node:crypto";
import {
  closeSync,
  constants,
  createReadStream,
  createWriteStream,
  existsSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { open as openFolder, readdir } from "node:fs/promises";
import { isAbsolute, join } from "node:path";
import { Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { StartupError } from "../database/startup-error.ts";
import { withRightsOfOwner } from "./run-as.ts";

const MANIFEST = "godwit-backup.json";
export const FILES = "postgres";

export type BackupFile = { path: string; bytes: number; sha256: string };
export type BackupManifest = {
  format: 1;
  created_at: string;
  /** The version of PostgreSQL, and that of the schema. */
  postgres: string;
  schema: number;
  folders: readonly string[];
  files: readonly BackupFile[];
};

/** Receives the bytes that were read so far, of how many. */
export type Progress = (done: number, all: number) => void;

/** Whether the folder has a manifest, which is written last. */
export const isComplete = (backup: string): boolean => existsSync(join(backup, MANIFEST));

/** Deletes a backup. The manifest goes first, so that an interrupted deletion leaves no backup that looks complete. */
export function removeBackup(backup: string): void {
  rmSync(join(backup, MANIFEST), { force: true });
  rmSync(backup, { recursive: true, force: true });
}

export function readManifest(backup: string): BackupManifest {
  let text: string;
  try {
    const file = open({ folder: backup, path: MANIFEST });
    try {
      text = readFileSync(file, "utf8");
    } finally {
      closeSync(file);
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT")
      throw new StartupError(`${join(backup, MANIFEST)} cannot be read: ${(error as Error).message}`, { cause: error });
    throw new StartupError(`${backup} is not a complete backup: it has no ${MANIFEST}`, { cause: error });
  }
  let manifest: BackupManifest;
  try {
    manifest = JSON.parse(text) as BackupManifest;
  } catch (error) {
    throw new StartupError(`${join(backup, MANIFEST)} is damaged`, { cause: error });
  }
  if (manifest.format !== 1) throw new StartupError(`${backup} has a format that this godwit does not know: use the godwit that wrote it`);
  const outside = [...manifest.folders, ...manifest.files.map(({ path }) => path)].find(
    (path) => isAbsolute(path) || path.split("/").includes(".."),
  );
  if (outside !== undefined) throw new StartupError(`${join(backup, MANIFEST)} is damaged: it names ${outside}`);
  return manifest;
}

export const writeManifest = (backup: string, manifest: BackupManifest): void =>
  writeFileSync(join(backup, MANIFEST), `${JSON.stringify(manifest, null, 1)}\n`, { mode: 0o600, flush: true });

/** A file below a folder, which is read with the rights of the owner of the folder. */
type Source = { folder: string; path: string };

// A pipe in place of a file would block the open.
const open = ({ folder, path }: Source): number =>
  withRightsOfOwner(folder, () => openSync(join(folder, path), constants.O_RDONLY | constants.O_NONBLOCK));

/** Copies a file to the disk, and returns its size and its SHA-256. Without `to` it is only read. An error of `onBytes` ends the copy. */
export async function copyFile(
  from: Source,
  to: string | undefined,
  onBytes: (count: number) => void,
): Promise<{ bytes: number; sha256: string }> {
  const hash = createHash("sha256");
  let bytes = 0;
  const measure = new Transform({
    transform(chunk: Buffer, _, done) {
      hash.update(chunk);
      bytes += chunk.length;
      try {
        onBytes(chunk.length);
      } catch (error) {
        return done(error as Error);
      }
      done(null, chunk);
    },
  });
  const source = createReadStream("", { fd: open(from), highWaterMark: 1_048_576 });
  if (to === undefined) await pipeline(source, measure.resume());
  else await pipeline(source, measure, createWriteStream(to, { mode: 0o600, flush: true }));
  return { bytes, sha256: hash.digest("hex") };
}

/** Makes the names in folders durable. */
export async function syncFolders(folders: readonly string[]): Promise<void> {
  for (const folder of folders) {
    const handle = await openFolder(folder);
    await handle.sync();
    await handle.close();
  }
}

/** Compares every file with the manifest. Returns what is wrong. */
export async function findFaults(backup: string, { files }: BackupManifest, progress: Progress): Promise<string[]> {
  const faults: string[] = [];
  const all = files.reduce((sum, { bytes }) => sum + bytes, 0);
  let done = 0;
  for (const { path, bytes, sha256 } of files) {
    try {
      const found = await copyFile({ folder: backup, path: join(FILES, path) }, undefined, (count) => progress((done += count), all));
      if (found.bytes !== bytes) faults.push(`${path} has ${found.bytes} bytes in place of ${bytes}`);
      else if (found.sha256 !== sha256) faults.push(`${path} has other contents`);
    } catch (error) {
      faults.push(`${path} cannot be read: ${(error as Error).message}`);
    }
  }
  const known = new Set(files.map(({ path }) => path));
  for (const entry of await readdir(join(backup, FILES), { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name).slice(join(backup, FILES).length + 1);
    if (entry.isFile() && !known.has(path)) faults.push(`${path} is not part of the backup`);
  }
  return faults;
}
