/** A checkout of the previous release, from the history of this repository. It uses the packages of this checkout, which has all of them. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { atEnd } from "./at-end.ts";

const ROOT = join(import.meta.dirname, "..", "..");

/** The last commit before mixed versions were promised. The next release has a tag. */
const PREVIOUS_RELEASE = "b11d1c44e5436d3ccb5f3dd1795714efa96d86f4";

const git = (...args: string[]): boolean => spawnSync("git", args, { cwd: ROOT, stdio: "ignore" }).status === 0;

/** Why the previous release cannot be checked out; undefined where it can. */
export const missingPrevious = (): string | undefined =>
  git("cat-file", "-e", `${PREVIOUS_RELEASE}^{commit}`) ? undefined : "the history of this checkout does not contain the previous release";

/** Checks it out into a temporary folder, and returns the path of its `src/main.ts`. Node does not load TypeScript from the cache in
 *  `node_modules`. */
export function checkOutPrevious(): string {
  const folder = mkdtempSync(join(tmpdir(), "godwit-previous-"));
  atEnd(async () => rmSync(folder, { recursive: true, force: true }));
  const isDone =
    git("clone", "--quiet", "--shared", "--no-checkout", ROOT, folder) &&
    git("-C", folder, "checkout", "--quiet", "--detach", PREVIOUS_RELEASE);
  if (!isDone) throw new Error(`the commit ${PREVIOUS_RELEASE} cannot be checked out`);
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
  return join(folder, "src", "main.ts");
}
