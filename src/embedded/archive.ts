/** The archive of the embedded database: base backups, and the WAL from the oldest of them on. A database has its own folder in the archive, a
 *  series, from the first start with the archive until WAL is missing: a restored database, and one that ran without the archive, begin another one. */
import { constants, createReadStream, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { createGunzip } from "node:zlib";
import { FILES, isComplete, readManifest, removeBackup } from "./backup-files.ts";
import { renameFlushed } from "./data-directory.ts";
import { findLockHolder, lockPath } from "./directory-lock.ts";

export type BaseBackup = { path: string; series: string; createdAtMs: number };

/** The copy of a verification has a name with this beginning. */
export const COPY_PREFIX = ".verify-";

const MARK = "godwit.archive";
const OWNER = "godwit.installation";
const SERIES = /^\d{8}T\d{6}Z$/;
const WAL_FILE = /^[0-9A-F]{24}\.gz$/;
const SEGMENT_BYTES = 16 * 1_048_576;
const SEGMENTS_OF_A_LOG = 256;

/** The name of a series or a base backup: its time, in UTC. */
export const nameAt = (timeMs: number): string => new Date(timeMs).toISOString().replaceAll(/[-:]|\.\d+/g, "");

export const basesOf = (series: string): string => join(series, "base");
const walOf = (series: string): string => join(series, "wal");

/** The series of a cluster that the next start continues. Root reads no link of the user of the cluster, and waits for no pipe. */
export function readSeries(cluster: string): string | undefined {
  const flag = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  const path = join(cluster, MARK);
  return existsSync(path) ? readFileSync(path, { encoding: "utf8", flag }).trim() : undefined;
}

/** Chooses the series for a start of the service, without a look at the archive, which may not respond. The mark of another archive is removed. */
export function chooseSeries(cluster: string, archive: string | undefined): string | undefined {
  const current = readSeries(cluster);
  if (archive !== undefined && current !== undefined && dirname(current) === archive) return current;
  rmSync(join(cluster, MARK), { force: true });
  return archive === undefined ? undefined : join(archive, nameAt(Date.now()));
}

/** Reserves the archive for an installation: two of them would delete each other's base backups. A restored copy is the same installation. */
function reserveArchive(archive: string, installation: string): void {
  const path = join(archive, OWNER);
  if (!existsSync(path)) {
    writeFileSync(`${path}.unfinished`, `${installation}\n`, { mode: 0o600, flush: true });
    renameFlushed(`${path}.unfinished`, path);
  } else if (readFileSync(path, "utf8").trim() !== installation)
    throw new Error(`${archive} has the archive of another installation: give each service a folder of its own`);
}

/** Creates the folder of a new series. It is created once, and the archive itself never, so that nothing is written into the empty mount point of
 *  a disk that is away. Until the folder exists, the server keeps its WAL. */
export function continueSeries({ cluster, series, installation }: { cluster: string; series: string; installation: string }): void {
  const mark = join(cluster, MARK);
  const isNew = readSeries(cluster) !== series;
  if (!isNew && !existsSync(series))
    throw new Error(
      `${series} does not exist: mount the disk of the archive, or if it was replaced, delete ${mark} and restart the service`,
    );
  const archive = dirname(series);
  if (!existsSync(archive)) throw new Error(`${archive} does not exist`);
  reserveArchive(archive, installation);
  if (!isNew) return;
  for (const folder of [series, walOf(series), basesOf(series)]) if (!existsSync(folder)) mkdirSync(folder, { mode: 0o700 });
  writeFileSync(`${mark}.unfinished`, `${series}\n`, { mode: 0o600, flush: true });
  renameFlushed(`${mark}.unfinished`, mark);
}

export const ARCHIVE_FAULT = "GODWIT-ARCHIVE: ";

// A WAL file is archived after this time at the latest, so this is about what the loss of the machine loses.
const ARCHIVE_TIMEOUT = "60s";

/** The settings of a server that archives. A file gets its name when it is complete on the disk, and a name is never given to other contents. */
export function archiveSettings(cluster: string, series: string): Record<string, string> {
  const to = quoted(join(walOf(series), "%f.gz"));
  const from = quoted(join(cluster, "%p"));
  const store = `gzip -1nc ${from} > "$to.unfinished" && sync "$to.unfinished" && mv "$to.unfinished" "$to"`;
  const compare = `gzip -dc "$to" | cmp -s - ${from} || { echo "$to exists with other contents"; exit 1; }`;
  const all = `to=${to}; if [ -e "$to" ]; then ${compare}; else ${store}; fi && sync ${quoted(walOf(series))}`;
  return {
    archive_mode: "on",
    archive_timeout: ARCHIVE_TIMEOUT,
    archive_command: `PATH=/usr/bin:/bin; fault=$( ( ${all} ) 2>&1 ) || { echo ${ARCHIVE_FAULT}$fault >&2; exit 1; }`,
  };
}

/** The settings of a server that recovers to a time, or to the end of the archive. */
export const recoverySettings = (cluster: string, series: string, toMs: number | undefined): Record<string, string> => ({
  restore_command: `PATH=/usr/bin:/bin; from=${quoted(join(walOf(series), "%f.gz"))}; [ -e "$from" ] && gzip -dc "$from" > ${quoted(join(cluster, "%p"))}`,
  recovery_target_timeline: "current",
  hot_standby: "off",
  ...(toMs === undefined
    ? {}
    : {
        // The server reads this setting before it knows the abbreviation Z.
        recovery_target_time: new Date(toMs).toISOString().replace("Z", "+00"),
        recovery_target_action: "promote",
      }),
});

/** A path for a command of the server. The server replaces %f and %p, so another percent sign is written twice. */
const quoted = (path: string): string => `'${path.replaceAll("'", `'\\''`).replaceAll(/%(?![fp](\.gz)?$)/g, "%%")}'`;

/** The complete base backups of all series, the oldest first. */
export function listBases(archive: string): BaseBackup[] {
  return listSeries(archive)
    .flatMap((series) => namesIn(basesOf(series)).map((name) => ({ series, path: join(basesOf(series), name) })))
    .filter(({ path }) => isComplete(path))
    .map((base) => ({ ...base, createdAtMs: Date.parse(readManifest(base.path).created_at) }))
    .toSorted((one, other) => one.createdAtMs - other.createdAtMs);
}

const listSeries = (archive: string): string[] =>
  namesIn(archive)
    .filter((name) => SERIES.test(name))
    .map((name) => join(archive, name));

const namesIn = (folder: string): string[] => (existsSync(folder) ? readdirSync(folder) : []);

/** Whether the folder is an archive, and not a single backup. */
export const isArchive = (folder: string): boolean => listSeries(folder).length > 0;

/** Deletes what no time after `sinceMs` needs: base backups with a later one from before that time, and the WAL before the kept ones. Deletes what
 *  an interrupted backup of this series has left, too. */
export function pruneArchive(current: string, sinceMs: number): void {
  const bases = listBases(dirname(current));
  const kept = bases.slice(
    Math.max(
      0,
      bases.findLastIndex(({ createdAtMs }) => createdAtMs <= sinceMs),
    ),
  );
  for (const { path } of bases) if (!kept.some((each) => each.path === path)) removeBackup(path);
  for (const name of namesIn(basesOf(current))) if (!isComplete(join(basesOf(current), name))) removeBackup(join(basesOf(current), name));
  for (const series of listSeries(dirname(current))) {
    const oldest = kept.find((base) => base.series === series);
    if (oldest !== undefined) removeWalBefore(series, firstWalOf(oldest));
    else if (series < current) rmSync(series, { recursive: true, force: true });
  }
}

/** Deletes the copies of verifications that were interrupted before the time. */
export async function removeOldCopies(archive: string, beforeMs: number): Promise<void> {
  for (const name of namesIn(archive).filter((each) => each.startsWith(COPY_PREFIX))) {
    const copy = join(archive, name);
    if (statSync(copy).mtimeMs < beforeMs && (await findLockHolder(lockPath(copy))) === undefined) rmSync(copy, { recursive: true });
  }
}

function removeWalBefore(series: string, first: string): void {
  for (const name of namesIn(walOf(series)))
    if (/^[0-9A-F]{24}/.test(name) && name.slice(0, first.length) < first) rmSync(join(walOf(series), name));
}

/** The first WAL file that the recovery of a backup reads. */
function firstWalOf({ path }: BaseBackup): string {
  const label = readFileSync(join(path, FILES, "backup_label"), "utf8");
  const name = /^START WAL LOCATION: .*\(file ([0-9A-F]{24})\)$/m.exec(label)?.[1];
  if (name === undefined) throw new Error(`${path} has no backup_label with a position`);
  return name;
}

/** The paths of the archived WAL files that the recovery of a backup can read, in their order. */
export function listWal(base: BaseBackup): string[] {
  const first = firstWalOf(base);
  return namesIn(walOf(base.series))
    .filter((name) => WAL_FILE.test(name) && name >= first)
    .toSorted()
    .map((name) => join(walOf(base.series), name));
}

/** Reads the archived WAL from a base backup on. Returns what is missing and what is damaged. */
export async function findWalFaults(base: BaseBackup, signal?: AbortSignal): Promise<string[]> {
  const faults: string[] = [];
  let expected = firstWalOf(base);
  for (const path of listWal(base)) {
    signal?.throwIfAborted();
    const name = basename(path, ".gz");
    if (name !== expected) faults.push(`${join(walOf(base.series), expected)}.gz is missing`);
    expected = nextSegment(name);
    try {
      const bytes = await unpackedBytes(path);
      if (bytes !== SEGMENT_BYTES) faults.push(`${path} has ${bytes} bytes in place of ${SEGMENT_BYTES}`);
    } catch (error) {
      faults.push(`${path} cannot be read: ${(error as Error).message}`);
    }
  }
  return faults;
}

async function unpackedBytes(path: string): Promise<number> {
  let bytes = 0;
  await pipeline(createReadStream(path), createGunzip(), async (chunks: AsyncIterable<Buffer>) => {
    for await (const chunk of chunks) bytes += chunk.length;
  });
  return bytes;
}

/** The name of a WAL file has eight digits each of the timeline, of the number, and of the segment of that number. */
function nextSegment(name: string): string {
  const number = Number.parseInt(name.slice(8, 16), 16) * SEGMENTS_OF_A_LOG + Number.parseInt(name.slice(16), 16) + 1;
  const digits = (value: number): string => value.toString(16).toUpperCase().padStart(8, "0");
  return name.slice(0, 8) + digits(Math.floor(number / SEGMENTS_OF_A_LOG)) + digits(number % SEGMENTS_OF_A_LOG);
}
