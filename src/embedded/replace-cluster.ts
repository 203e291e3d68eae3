/** Replaces a cluster by its upgraded copy. A folder cannot be exchanged for another one in one step, so a crash can leave the data directory
 *  without a database. The names of the folders show how far the replacement went:
 *
 *  postgres, postgres.upgraded       it has not begun; the copy may be out of date by now and is deleted
 *  postgres.pg17, postgres.upgraded  the copy is complete and only needs its name
 *  postgres.pg17                     the copy is lost; the old cluster gets its name back */
import { existsSync, lstatSync, readdirSync, readFileSync, readlinkSync, realpathSync, rmSync, statSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { clusterPath, refuseFile, renameFlushed } from "./data-directory.ts";
import { StartupError } from "../database/startup-error.ts";

// The kernel follows as many.
const MOST_LINKS = 40;

/** The folder that the cluster of a data directory has or had, even if the link to it leads nowhere. */
export function clusterFolder(dataDir: string): string {
  refuseFile(dataDir);
  let path = clusterPath(dataDir);
  for (let links = 0; links < MOST_LINKS && lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true; links += 1)
    path = resolve(dirname(path), readlinkSync(path));
  return path;
}

export const hasCluster = (cluster: string): boolean => existsSync(join(cluster, "PG_VERSION"));

const keptPath = (cluster: string, major: string): string => `${cluster}.pg${major}`;
const upgradedPath = (cluster: string): string => `${cluster}.upgraded`;

/** The newest of the old clusters that upgrades have kept. */
function findKept(cluster: string): string | undefined {
  const prefix = `${basename(cluster)}.pg`;
  const majorOf = (name: string): number => Number(name.slice(prefix.length));
  const names = existsSync(dirname(cluster)) ? readdirSync(dirname(cluster)) : [];
  const kept = names.filter((name) => name.startsWith(prefix) && majorOf(name) > 0 && hasCluster(join(dirname(cluster), name)));
  const [newest] = kept.toSorted((one, other) => majorOf(other) - majorOf(one));
  return newest === undefined ? undefined : join(dirname(cluster), newest);
}

/** The new or the old cluster, if an upgrade was interrupted while it renamed them. */
export function findInterruptedUpgrade(dataDir: string): string | undefined {
  const cluster = clusterFolder(dataDir);
  if (hasCluster(cluster)) return undefined;
  return hasCluster(upgradedPath(cluster)) ? upgradedPath(cluster) : findKept(cluster);
}

/** Throws if an upgrade was interrupted while it renamed the clusters. A start would create an empty database beside them. */
export function refuseInterruptedUpgrade(dataDir: string): void {
  const left = findInterruptedUpgrade(dataDir);
  if (left === undefined) return;
  throw new StartupError(
    `${dataDir} has no database, but ${left}, which an interrupted upgrade left: run godwit database upgrade again (docs/upgrading.md), ` +
      "or move that folder away to start with an empty database",
  );
}

/** Throws if the data directory has no database: a command that only reads one must not create it. */
export function requireCluster(dataDir: string): void {
  refuseInterruptedUpgrade(dataDir);
  if (!existsSync(clusterPath(dataDir))) throw new StartupError(`${dataDir} has no database: name the --data-dir of the service`);
}

/** Completes or undoes a replacement that was interrupted. Returns the old cluster if the new one is now in place. */
export function recoverReplacement(cluster: string, say: (line: string) => void): string | undefined {
  const upgraded = upgradedPath(cluster);
  if (hasCluster(cluster)) {
    rmSync(upgraded, { recursive: true, force: true });
    return undefined;
  }
  const kept = findKept(cluster);
  if (hasCluster(upgraded)) {
    say(`completing an interrupted upgrade: ${upgraded} becomes ${cluster}`);
    renameFlushed(upgraded, cluster);
    return kept;
  }
  if (kept !== undefined) {
    say(`undoing an interrupted upgrade: ${kept} becomes ${cluster}`);
    renameFlushed(kept, cluster);
  }
  return undefined;
}

/** Throws if the replacement could not be done at the end of a long copy. */
export function refuseIrreplaceable(cluster: string, major: string): void {
  const kept = keptPath(cluster, major);
  if (existsSync(kept)) throw new StartupError(`${kept} is left from an earlier upgrade: move it away, or delete it`);
  if (isMountPoint(cluster))
    throw new StartupError(`${cluster} is a mount point, which cannot be renamed: mount the folder above it instead`);
}

function isMountPoint(folder: string): boolean {
  if (statSync(folder).dev !== statSync(dirname(folder)).dev) return true;
  // A folder of the same disk can be mounted as well (a bind mount).
  const mounts = existsSync("/proc/self/mountinfo") ? readFileSync("/proc/self/mountinfo", "utf8") : "";
  return mounts.split("\n").some((line) => line.split(" ")[4] === realpathSync(folder));
}

/** Puts a complete cluster, whose files are on the disk, in the place of the old one. Returns the new name of the old one. */
export function replaceCluster(cluster: string, made: string, major: string): string {
  const [kept, upgraded] = [keptPath(cluster, major), upgradedPath(cluster)];
  try {
    renameFlushed(made, upgraded);
    renameFlushed(cluster, kept);
    renameFlushed(upgraded, cluster);
    return kept;
  } catch (error) {
    if (!existsSync(cluster)) renameFlushed(kept, cluster);
    rmSync(upgraded, { recursive: true, force: true });
    throw error;
  }
}
