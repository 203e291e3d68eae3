/** The data directory: its layout, prepared for the user that PostgreSQL runs as. */
import { createHash, randomBytes } from "node:crypto";
import {
  accessSync,
  chmodSync,
  chownSync,
  closeSync,
  constants,
  existsSync,
  fsyncSync,
  lchownSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { lockPath } from "./directory-lock.ts";
import { canReach, SHARED_DIR, type RunAs } from "./run-as.ts";
import { StartupError } from "../database/startup-error.ts";

// The kernel's limit for the path of a Unix socket, without the final zero.
const SOCKET_PATH_LIMIT = 107;
export const SOCKET_NAME = ".s.PGSQL.5432";

/** The folder of the cluster: inside the data directory, or a symbolic link from there to a folder that its user can reach. */
export const clusterPath = (dataDir: string): string => join(dataDir, "postgres");

const fingerprint = (path: string): string => createHash("sha256").update(path).digest("hex").slice(0, 12);

/** The folder of the socket: that of the cluster, unless its path is too long for the kernel. Every process computes the same folder. */
export function socketDir(dataDir: string): string {
  const cluster = existsSync(clusterPath(dataDir)) ? realpathSync(clusterPath(dataDir)) : clusterPath(dataDir);
  return Buffer.byteLength(join(cluster, SOCKET_NAME)) <= SOCKET_PATH_LIMIT ? cluster : `/tmp/godwit-${fingerprint(cluster)}`;
}

/** Turns a system error about the directory into a sentence for the operator. */
export function explainDiskError(error: unknown, dataDir: string): unknown {
  const { code, message, cause } = error as NodeJS.ErrnoException;
  const text = `${code ?? ""} ${message} ${typeof cause === "string" ? cause : ""}`;
  if (/ENOSPC|No space left|wrote only \d+ of/.test(text))
    return new StartupError(`the disk that holds ${dataDir} is full`, { cause: error });
  if (/EROFS|Read-only file system/.test(text)) return new StartupError(`${dataDir} is on a read-only file system`, { cause: error });
  if (/EACCES|EPERM|Permission denied/.test(text)) return new StartupError(`${dataDir} cannot be written by this user`, { cause: error });
  return error;
}

export function makeDataDir(dataDir: string): void {
  try {
    makeFolder(dataDir, 0o700);
  } catch (error) {
    if (error instanceof StartupError) throw error;
    const explained = explainDiskError(whyNotWritable(dataDir) ?? error, dataDir);
    if (explained instanceof StartupError) throw explained;
    throw new StartupError(`${dataDir} cannot be created: set GODWIT_DATA_DIR to a folder on a disk`, { cause: error });
  }
}

/** Whether the data directory has a database. */
export function hasCluster(dataDir: string): boolean {
  refuseFile(dataDir);
  return existsSync(clusterPath(dataDir));
}

/** Throws if the data directory has no database: a command that only reads one must not create it. */
export function requireCluster(dataDir: string): void {
  if (!hasCluster(dataDir)) throw new StartupError(`${dataDir} has no database: name the --data-dir of the service`);
}

/** Throws if the path, or the nearest parent that exists, is not a folder. */
function refuseFile(path: string): void {
  if (!existsSync(path)) refuseFile(dirname(path));
  else if (!statSync(path).isDirectory()) throw new StartupError(`${path} is not a folder: set GODWIT_DATA_DIR to a folder`);
}

/** Creates the folder and its missing parents one by one: the recursive `mkdir` of Node never returns in /proc. */
function makeFolder(path: string, mode: number): void {
  refuseFile(path);
  if (existsSync(path)) return;
  makeFolder(dirname(path), 0o755);
  try {
    mkdirSync(path, { mode });
  } catch (error) {
    // Another process may have created it.
    if ((error as NodeJS.ErrnoException).code !== "EEXIST" || !existsSync(path)) throw error;
  }
}

/** The files of a data directory, and those that a crash leaves behind. */
const OWN_FILES = /^(postgres|postgres\.unfinished|secret\.key(\.\w+)?|godwit\.lock(\.\w+)*)$/;

/** Gives the directory to the user of the service, and closes it to others. A directory with files of others is not changed. */
export function claimDataDir(dataDir: string, runAs: RunAs | undefined, say: (line: string) => void): void {
  const isOurs = readdirSync(dataDir).every((name) => OWN_FILES.test(name));
  const { uid, mode } = lstatSync(dataDir);
  const isOpen = (mode & 0o077) !== 0;
  if (!isOurs) {
    if (isOpen) say(`${dataDir} can be read by other users of this machine, and is left so because it holds other files`);
    return;
  }
  const mayChange = uid === process.getuid?.() || process.getuid?.() === 0;
  if (isOpen && mayChange) chmodSync(dataDir, 0o700);
  if (runAs === undefined) return;
  for (const path of [dataDir, secretKeyPath(dataDir), lockPath(dataDir)]) if (existsSync(path)) chownSync(path, runAs.uid, runAs.gid);
}

/** Gives the folder of the cluster to the user that runs PostgreSQL. The former owner loses access first, and the new owner gets the
 *  folder itself last: a crash in between leaves a folder of root, with which the next start continues. */
export function claimFolder(folder: string, runAs: RunAs | undefined, say: (line: string) => void): void {
  if (runAs === undefined || lstatSync(folder).uid === runAs.uid) return;
  say(`giving ${folder} to the user ${runAs.name}`);
  chownSync(folder, 0, 0);
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true }))
    lchownSync(join(entry.parentPath, entry.name), runAs.uid, runAs.gid);
  chownSync(folder, runAs.uid, runAs.gid);
}

/** The reason why a path cannot be created. On a read-only file system `mkdir` reports a missing directory, so the nearest existing
 *  directory is tested. */
function whyNotWritable(path: string): unknown {
  if (!existsSync(path)) return whyNotWritable(dirname(path));
  try {
    accessSync(path, constants.W_OK);
    return undefined;
  } catch (error) {
    return error;
  }
}

/** The folder where the cluster is, or where it will be created. */
export function findClusterFolder(dataDir: string, runAs: RunAs | undefined, say: (line: string) => void): string {
  const path = clusterPath(dataDir);
  if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink()) {
    const elsewhere = followLink(path);
    say(`the database of ${dataDir} is in ${elsewhere}`);
    return elsewhere;
  }
  if (existsSync(path) || canReach(runAs, dataDir)) return path;
  const home = join(SHARED_DIR, `${basename(dataDir)}-${fingerprint(dataDir)}`);
  say(`keeping the database in ${home}, since ${runAs?.name ?? "its user"} cannot reach ${dataDir}`);
  mkdirSync(home, { recursive: true, mode: 0o755 });
  return join(home, "postgres");
}

function followLink(link: string): string {
  try {
    return realpathSync(link);
  } catch {
    throw new StartupError(
      `${link} points to ${readlinkSync(link)}, which does not exist: restore it, or remove the link to start with an empty database`,
    );
  }
}

/** Links the data directory to a cluster elsewhere. Called once the cluster is complete, so that a link always leads to one. */
export function linkCluster(dataDir: string, cluster: string): void {
  const path = clusterPath(dataDir);
  if (cluster !== path && !existsSync(path)) symlinkSync(cluster, path);
}

/** Creates a socket folder outside the cluster. Only the user of the server may own it, since its owner can impersonate the database. */
export function makeSocketDir(dir: string, runAs: RunAs | undefined): void {
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const owner = lstatSync(dir);
  const wanted = runAs?.uid ?? process.getuid?.() ?? owner.uid;
  if (!owner.isDirectory() || (owner.uid !== wanted && owner.uid !== process.getuid?.())) {
    throw new StartupError(`${dir} belongs to another user: remove it, or choose a shorter GODWIT_DATA_DIR`);
  }
  if (runAs !== undefined) chownSync(dir, runAs.uid, runAs.gid);
}

/** Renames a file or folder, and flushes the folder that holds it. Without the flush, a power cut seconds later can undo the renaming,
 *  although the database has meanwhile committed transactions that depend on it. */
export function renameFlushed(from: string, to: string): void {
  renameSync(from, to);
  const folder = openSync(dirname(to), "r");
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}

const SECRET_KEY_BYTES = 32;

export const secretKeyPath = (dataDir: string): string => join(dataDir, "secret.key");

/** The key that encrypts secrets at rest. It is generated once, only its owner can read it, and it is complete before it gets its name. */
export function readOrMakeSecretKey(dataDir: string): Buffer {
  const path = secretKeyPath(dataDir);
  try {
    if (!existsSync(path)) {
      const unfinished = `${path}.${randomBytes(6).toString("hex")}`;
      writeFileSync(unfinished, `${randomBytes(SECRET_KEY_BYTES).toString("base64")}\n`, { mode: 0o600, flush: true });
      renameFlushed(unfinished, path);
    }
    return readSecretKey(path);
  } catch (error) {
    throw explainDiskError(error, dataDir);
  }
}

/** Reads the key from a file. Throws when there is no valid key. */
export function readSecretKey(path: string): Buffer {
  const key = Buffer.from(readFileSync(path, "utf8"), "base64");
  if (key.length === SECRET_KEY_BYTES) return key;
  throw new StartupError(`${path} does not hold ${SECRET_KEY_BYTES} bytes in base64: restore it from a backup`);
}
