/** Trees of Debian packages, and processes in their own namespaces that have such a tree as their root. Needs root on Debian. */
import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { closeSync, existsSync, mkdirSync, mkdtempSync, openSync, readFileSync, renameSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { cachedFolder } from "./cache.ts";
import { missingPackages } from "./debian-package.ts";

const INSTALL_MS = 290_000;
// Security updates arrive within days.
const MAX_AGE_MS = 7 * 24 * 3_600_000;
const PROBE = ["--mount", "--net", "--pid", "--fork", "--uts", "--ipc", "true"];

/** The reason why no tree can be made or entered on this machine. */
export function whyNoTrees(): string | undefined {
  if (process.platform !== "linux" || process.getuid?.() !== 0) return "only root on Linux can make a tree of Debian packages";
  const missing = missingPackages([
    ["mmdebstrap", "/usr/bin/mmdebstrap"],
    ["iproute2", "/bin/ip"],
  ]);
  if (missing !== undefined) return missing;
  return spawnSync("unshare", PROBE).status === 0 ? undefined : "this machine does not permit namespaces";
}

/** The mirror of Debian that this machine uses itself. */
const findMirror = (): string | undefined =>
  spawnSync("apt-get", ["indextargets", "--format", "$(REPO_URI)", "Created-By: Packages"], { encoding: "utf8" })
    .stdout.split("\n")
    .find((address) => address.endsWith("/debian/"));

/** Returns the path of a folder, or of an archive if the name ends in .tar, with these packages. A later run uses the same one. */
export function debianTree(name: string, suite: string, packages: readonly string[]): { path: string } | { missing: string } {
  const cache = cachedFolder("debian-trees");
  const path = join(cache, `${suite}-${name}`);
  if (existsSync(path)) {
    if (statSync(path).mtimeMs > Date.now() - MAX_AGE_MS) return { path };
    rmSync(path, { recursive: true });
  }
  const mirror = findMirror();
  if (mirror === undefined) return { missing: "apt of this machine has no mirror of Debian" };
  const unfinished = mkdtempSync(join(cache, "unfinished-"));
  try {
    const made = join(unfinished, name);
    const include = packages.length === 0 ? [] : [`--include=${packages.join(",")}`];
    const args = ["--quiet", "--variant=minbase", ...include, suite, made, mirror];
    const { status, stderr } = spawnSync("mmdebstrap", args, { encoding: "utf8", timeout: INSTALL_MS });
    if (status !== 0) return { missing: `mmdebstrap cannot install Debian's packages: ${stderr.trim().split("\n").at(-1)}` };
    renameSync(made, path);
    return { path };
  } finally {
    rmSync(unfinished, { recursive: true, force: true });
  }
}

// The tree itself stays unchanged: an overlay takes the writes.
const BOOT = String.raw`set -eu
tree=$1; folder=$2; cgroup=$3
mount --make-rprivate /
mount -t overlay overlay -o lowerdir="$tree",upperdir="$folder/upper",workdir="$folder/work" "$folder/root"
# systemd-nspawn makes groups beside those of its own process.
for procs in /sys/fs/cgroup/cgroup.procs /sys/fs/cgroup/systemd/cgroup.procs /sys/fs/cgroup/unified/cgroup.procs; do
  if [ -e "$procs" ]; then
    mkdir -p "$(dirname "$procs")/$cgroup"
    echo $$ > "$(dirname "$procs")/$cgroup/cgroup.procs"
  fi
done
exec systemd-nspawn --quiet --boot --directory="$folder/root" --machine="$cgroup" --register=no --keep-unit --private-network --link-journal=no`;

/** Starts the systemd of the tree as the first process of a container without a network. `cgroup` names the container and its control group, which
 *  `removeCgroups` removes. */
export function bootTree(tree: string, folder: string, cgroup: string): ChildProcess {
  return startInNamespaces(folder, ["--mount-proc"], [BOOT, "sh", tree, folder, cgroup]);
}

const LOG = "output.log";

/** The last lines that the program of this folder has written. */
export const lastLines = (folder: string): string => readFileSync(join(folder, LOG), "utf8").split("\n").slice(-20).join("\n");

/** Starts a shell script in these namespaces, with folders for an overlay. */
export function startInNamespaces(folder: string, namespaces: readonly string[], script: readonly string[]): ChildProcess {
  for (const name of ["upper", "work", "root", "docker"]) mkdirSync(join(folder, name), { recursive: true });
  const log = openSync(join(folder, LOG), "a");
  try {
    const args = ["--mount", "--pid", ...namespaces, "--fork", "--kill-child", "sh", "-c", ...script];
    return spawn("unshare", args, { stdio: ["ignore", log, log] });
  } finally {
    closeSync(log);
  }
}
