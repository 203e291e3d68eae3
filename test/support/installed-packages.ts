/** Packages of the npm registry that one test needs and the service does not. Their folder beside this file has a lock file. */
import { createHash } from "node:crypto";
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { npm } from "../tools/user-npm.ts";
import { cachedFolder, moveIntoPlace } from "./cache.ts";

// The largest take 190 MB.
const INSTALL_MS = 300_000;

/** Installs the packages of a folder, once for each content of its lock file. Returns the folder that has `node_modules`, or the reason why
 *  they cannot be had. `complete` adds files to a new folder. */
export function installPackages(name: string, complete?: (folder: string) => void): { folder: string } | { missing: string } {
  const packages = join(import.meta.dirname, name);
  const cache = cachedFolder(name);
  const hash = createHash("sha256")
    .update(readFileSync(join(packages, "package-lock.json")))
    .digest("hex")
    .slice(0, 16);
  const folder = join(cache, hash);
  if (existsSync(folder)) return { folder };
  const made = mkdtempSync(join(cache, "unfinished-"));
  cpSync(packages, made, { recursive: true });
  const { status, stderr } = npm(["ci", "--ignore-scripts", "--prefer-offline", "--no-audit", "--no-fund"], made, INSTALL_MS);
  if (status !== 0) {
    rmSync(made, { recursive: true, force: true });
    const code = /^npm error code (\S+)$/m.exec(stderr)?.[1] ?? "time limit";
    // A fault of the lock file, or a package with another content.
    if (code === "EUSAGE" || code === "EINTEGRITY") throw new Error(stderr);
    return { missing: `the packages of test/support/${name} could not be installed (${code})` };
  }
  complete?.(made);
  moveIntoPlace(made, folder);
  return { folder };
}
