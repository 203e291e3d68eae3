/** A Docker of its own for a test: the daemon of Debian's packages in a tree, with its own network, images and containers. Nothing of the machine's Docker
 *  or of its ports is used. */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { globSync, readFileSync } from "node:fs";
import { atEnd } from "./at-end.ts";
import { lastLines, startInNamespaces } from "./debian-tree.ts";
import { until } from "./expect.ts";
import { childOf, endNamespaces, hasEnded, removeCgroups } from "./namespaces.ts";

/** The packages of the daemon, its client and Compose. */
export const DOCKER_PACKAGES = ["ca-certificates", "docker-cli", "docker-compose", "docker.io", "iproute2", "iptables"];

export type Output = { code: number | null; stdout: string; stderr: string };

export type RunOptions = { cwd?: string; input?: string | NodeJS.ReadableStream; env?: Record<string, string>; timeoutMs?: number };

const COMMAND_MS = 280_000;

// The tree itself stays unchanged: an overlay takes the writes. /host is the folder, and /var/lib/docker is in it, because an overlay cannot lie
// on another one. TMPDIR names a folder of the machine, which the tree does not have.
const ENTER = String.raw`set -eu
tree=$1; folder=$2; shift 2
mount --make-rprivate /
ip link set lo up
cd "$folder"
mount -t overlay overlay -o lowerdir="$tree",upperdir="$folder/upper",workdir="$folder/work" root
cd root
mkdir -p host old var/lib/docker
mount -t proc proc proc
mount --rbind /sys sys
mount --rbind /dev dev
mount --bind "$folder" host
mount --bind "$folder/docker" var/lib/docker
mount -t tmpfs tmpfs run
mount -t tmpfs tmpfs tmp
cat /etc/resolv.conf > etc/resolv.conf
cat /etc/hosts > etc/hosts
pivot_root . old
umount -l /old
unset TMPDIR
exec "$@"`;

export class OwnDocker {
  readonly #child: ChildProcess;
  /** The first process in the namespaces. */
  readonly #pid: number;
  readonly #cgroup: string;

  private constructor(child: ChildProcess, pid: number, cgroup: string) {
    this.#child = child;
    this.#pid = pid;
    this.#cgroup = cgroup;
  }

  /** `folder` keeps images and volumes for the next start. With the network of the host, containers must use that network too. */
  static async start(tree: string, folder: string, network: "own" | "host"): Promise<OwnDocker> {
    const cgroup = `godwit-test-${process.pid}`;
    const bridge = network === "own" ? [] : ["--bridge=none", "--iptables=false"];
    const command = ["dockerd", "--cgroup-parent", `/${cgroup}`, "--exec-opt", "native.cgroupdriver=cgroupfs", ...bridge];
    const child = startInTree(tree, folder, command, network);
    let docker: OwnDocker | undefined;
    atEnd(() => endAll(child, cgroup));
    await until(
      () => `the daemon to respond: ${lastLines(folder)}`,
      async () => {
        if (hasEnded(child)) throw new Error(`the daemon has ended: ${lastLines(folder)}`);
        const pid = childOf(child.pid);
        // Before it is the daemon, the process sees the machine, which may have a Docker.
        if (pid === 0 || readFileSync(`/proc/${pid}/comm`, "utf8").trim() !== "dockerd") return undefined;
        docker = new OwnDocker(child, pid, cgroup);
        return (await docker.run(["docker", "version"])).code === 0;
      },
      60_000,
    );
    return docker as OwnDocker;
  }

  /** Runs a program of the tree beside the daemon. Paths are those of the tree: `/host` is the folder. */
  run(command: readonly string[], { cwd = "/", input, env = {}, timeoutMs = COMMAND_MS }: RunOptions = {}): Promise<Output> {
    const variables = Object.entries(env).map(([name, value]) => `${name}=${value}`);
    // Of the variables of the test, none may replace a setting of the compose file.
    const inside = ["env", "--ignore-environment", `--chdir=${cwd}`, "PATH=/usr/sbin:/usr/bin", "HOME=/root", ...variables, ...command];
    return outputOf(
      spawn("nsenter", ["--target", String(this.#pid), "--all", ...inside], { timeout: timeoutMs, killSignal: "SIGKILL" }),
      input,
    );
  }

  /** Runs it and returns its standard output. */
  async succeed(command: readonly string[], options: RunOptions = {}): Promise<string> {
    const { code, stdout, stderr } = await this.run(command, options);
    if (code !== 0) throw new Error(`${command.join(" ")} ends with ${code}:\n${(stdout + stderr).slice(-3_000)}`);
    return stdout;
  }

  /** Prefix of a command: it runs a program of this machine in the network of the daemon. */
  get inNetwork(): string[] {
    return ["nsenter", `--net=/proc/${this.#pid}/ns/net`];
  }

  /** The value of a file of the container's cgroup: the first that exists of these names, since the versions of cgroups have different ones. */
  cgroupValue(containerId: string, ...names: readonly string[]): string {
    const [file] = names.flatMap((name) => globSync(`/sys/fs/cgroup/{,memory/}${this.#cgroup}/${containerId}/${name}`));
    if (file === undefined) throw new Error(`the container has no ${names.join(" or ")}`);
    return readFileSync(file, "utf8");
  }

  /** Ends the daemon, its containers, and all mounts of its namespaces. */
  stop(): Promise<void> {
    return endAll(this.#child, this.#cgroup);
  }
}

/** Starts a program as the first process of its own namespaces, in the tree. When it ends, all other processes and all mounts in the namespaces end.
 *  `network: "own"` has no way out. */
function startInTree(tree: string, folder: string, command: readonly string[], network: "own" | "host"): ChildProcess {
  const namespaces = network === "own" ? ["--uts", "--ipc", "--net"] : ["--uts", "--ipc"];
  return startInNamespaces(folder, namespaces, [ENTER, "sh", tree, folder, ...command]);
}

async function endAll(child: ChildProcess, cgroup: string): Promise<void> {
  await endNamespaces(child);
  await removeCgroups(cgroup);
}

async function outputOf(child: ChildProcess, input: RunOptions["input"]): Promise<Output> {
  const output = { stdout: "", stderr: "" };
  child.stdout?.setEncoding("utf8").on("data", (text: string) => (output.stdout += text));
  child.stderr?.setEncoding("utf8").on("data", (text: string) => (output.stderr += text));
  // A program that ends early does not read the rest.
  child.stdin?.on("error", () => undefined);
  if (typeof input === "object" && child.stdin !== null) input.pipe(child.stdin);
  else child.stdin?.end(input);
  const [code] = (await once(child, "close")) as [number | null];
  return { code, ...output };
}
