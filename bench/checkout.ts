/** A second checkout of this repository, at another commit, in the temporary folder of the run. */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { say, THIS_CHECKOUT } from "./godwit.ts";
import { benchDir, children, UsageError } from "./run.ts";

export type Checkout = { name: string; folder: string; commit: string };

function git(...args: readonly string[]): string {
  const { status, stdout, stderr, error } = spawnSync("git", args, { cwd: THIS_CHECKOUT, encoding: "utf8" });
  if (status !== 0) throw new Error(`git ${args[0]} failed: ${error?.message ?? stderr}`);
  return stdout.trim();
}

/** This checkout with its uncommitted changes. */
export const thisCheckout = (): Checkout => ({
  name: "this",
  folder: THIS_CHECKOUT,
  commit: git("describe", "--always", "--dirty", "--exclude=*"),
});

/** Checks out the commit that `ref` names. */
export async function checkOut(ref: string): Promise<Checkout> {
  const commit = findCommit(ref);
  const folder = join(benchDir, "checkout");
  // A clone, because a worktree would leave an entry in this repository after `kill -9`. The clone shares the objects, so it is quick.
  git("clone", "--quiet", "--shared", "--no-checkout", THIS_CHECKOUT, folder);
  git("-C", folder, "checkout", "--quiet", "--detach", commit);
  await installPackages(folder);
  return { name: "ref", folder, commit: git("rev-parse", "--short", commit) };
}

function findCommit(ref: string): string {
  const args = ["rev-parse", "--verify", "--quiet", "--end-of-options", `${ref}^{commit}`];
  const { status, stdout } = spawnSync("git", args, { cwd: THIS_CHECKOUT, encoding: "utf8" });
  if (status !== 0) throw new UsageError(`--against: "${ref}" is not a commit of this repository.`);
  return stdout.trim();
}

/** Links the installed packages if both commits have the same package-lock.json. Otherwise runs npm ci. */
async function installPackages(folder: string): Promise<void> {
  const lock = (checkout: string): string => readFileSync(join(checkout, "package-lock.json"), "utf8");
  if (lock(folder) === lock(THIS_CHECKOUT)) {
    symlinkSync(join(THIS_CHECKOUT, "node_modules"), join(folder, "node_modules"));
    return;
  }
  say("package-lock.json differs: npm ci");
  const child = spawn("npm", ["ci", "--no-audit", "--no-fund", "--no-progress"], {
    cwd: folder,
    stdio: ["ignore", process.stderr, process.stderr],
  });
  children.push(child);
  const [exitCode] = (await once(child, "exit")) as [number | null];
  if (exitCode !== 0) throw new Error("npm ci failed in the checkout of the other commit");
}
