/** A server with an older version of PostgreSQL, from its npm package, on its own socket. It ends with this process. */
import { spawn, type ChildProcess } from "node:child_process";
import { chownSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import pg from "pg";
import { poll } from "../lib/wait.ts";
import { identity, writeAuthentication } from "./cluster.ts";
import { claimFolder, SOCKET_NAME } from "./data-directory.ts";
import { DEFAULT_PORT, ensureRoles, type SocketAddress } from "./embedded-roles.ts";
import { createLinks } from "./postgres-binaries.ts";
import { canReach, type RunAs } from "./run-as.ts";
import { ended, endOrphan, hasEnded, removeStaleLocks, watchOwner } from "./server-processes.ts";
import { StartupError } from "../database/startup-error.ts";

const START_MS = 120_000;
const CANNOT_CONNECT_NOW = "57P03";

export type OldServerOptions = {
  cluster: string;
  program: string;
  runAs: RunAs | undefined;
  say: (line: string) => void;
  signal: AbortSignal;
};

/** The program in the folder of the npm package. */
export function findOldProgram(folder: string, major: string, runAs: RunAs | undefined): string {
  const native = join(folder, "native");
  const program = join(native, "bin", "postgres");
  if (!existsSync(program) || !existsSync(join(native, "pg-symlinks.json")))
    throw new StartupError(`${folder} has no PostgreSQL: name the folder of the npm package of version ${major}`);
  createLinks(native);
  if (!canReach(runAs, program))
    throw new StartupError(`the user ${runAs?.name} cannot run ${program}: install the package in a folder that this user can read`);
  return program;
}

export class OldServer implements AsyncDisposable {
  readonly address: SocketAddress;
  readonly #child: ChildProcess;
  readonly #watcher: ChildProcess | undefined;
  #lastLine = "";

  private constructor({ cluster, program, runAs }: OldServerOptions, sockets: string) {
    this.address = { host: sockets, port: DEFAULT_PORT };
    const settings = ["-c", "listen_addresses=", "-c", `unix_socket_directories=${sockets}`, "-c", "log_min_messages=fatal"];
    this.#child = spawn(program, ["-D", cluster, ...settings], {
      ...identity(runAs),
      cwd: "/",
      env: { LC_ALL: "C", TZ: "UTC" },
      stdio: ["ignore", "ignore", "pipe"],
      // A separate process group: Ctrl-C at the terminal must reach this process first.
      detached: true,
    });
    createInterface({ input: this.#child.stderr as NodeJS.ReadableStream }).on("line", (line) => (this.#lastLine = line));
    this.#child.on("error", ({ message }) => (this.#lastLine = message));
    if (this.#child.pid !== undefined) this.#watcher = watchOwner(this.#child.pid, cluster, runAs);
  }

  /** Prepares the cluster as `serve` does, and starts the server. An abort of the signal stops it. */
  static async start(options: OldServerOptions): Promise<OldServer> {
    const { cluster, runAs, say, signal } = options;
    await endOrphan(cluster);
    claimFolder(cluster, runAs, say);
    writeAuthentication(cluster, runAs);
    const sockets = mkdtempSync(join(tmpdir(), "godwit-upgrade-"));
    if (runAs !== undefined) chownSync(sockets, runAs.uid, runAs.gid);
    removeStaleLocks(cluster, sockets);
    const server = new OldServer(options, sockets);
    signal.addEventListener("abort", () => void server.stop(), { once: true });
    try {
      if ((await poll(() => server.#isReady(), { timeoutMs: START_MS, everyMs: 100 })) === undefined)
        throw new StartupError("PostgreSQL of the old version did not become ready");
      return server;
    } catch (error) {
      await server.stop();
      throw error;
    }
  }

  async #isReady(): Promise<true | undefined> {
    if (!this.#isRunning()) throw new StartupError(`PostgreSQL of the old version did not start: ${this.#lastLine}`);
    if (!existsSync(join(this.address.host, SOCKET_NAME))) return undefined;
    try {
      await ensureRoles(this.address);
      return true;
    } catch (error) {
      // Only a server that is starting up becomes ready later.
      if (error instanceof pg.DatabaseError && error.code !== CANNOT_CONNECT_NOW)
        throw new StartupError(`PostgreSQL of the old version cannot be used: ${error.message}`, { cause: error });
      return undefined;
    }
  }

  #isRunning(): boolean {
    return this.#child.pid !== undefined && !hasEnded(this.#child);
  }

  async stop(): Promise<void> {
    if (this.#isRunning()) {
      const end = ended(this.#child);
      this.#child.kill("SIGINT");
      await end;
    }
    this.#watcher?.kill("SIGKILL");
    rmSync(this.address.host, { recursive: true, force: true });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }
}
