/** The embedded PostgreSQL: a child process whose cluster is created at the first start and recovered at every later one. The server is
 *  restarted if it ends, and stopped before this process. It listens on a Unix socket that only its user can open, and on no port. */
import { spawn, type ChildProcess } from "node:child_process";
import { availableParallelism } from "node:os";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { poll, within } from "../lib/wait.ts";
import { archiveSettings, chooseSeries, readSeries } from "./archive.ts";
import { checkMajor, identity, initialize, isAbsent, refuseUnfinishedRestore, writeAuthentication } from "./cluster.ts";
import {
  claimDataDir,
  claimFolder,
  clusterPath,
  explainDiskError,
  findClusterFolder,
  linkCluster,
  makeDataDir,
  makeSocketDir,
  socketDir,
} from "./data-directory.ts";
import type { DatabaseTarget } from "../database/connections.ts";
import { DEFAULT_PORT } from "../database/driver.ts";
import { takeLock, type DirectoryLock, type LockHolder } from "./directory-lock.ts";
import { EMBEDDED_DATABASE, EMBEDDED_USER, ensureRoles } from "./embedded-roles.ts";
import { findPrograms, type Programs } from "./postgres-binaries.ts";
import { chooseUser, type RunAs } from "./run-as.ts";
import {
  ended,
  endOrphan,
  FAST_STOP_MS,
  hasEnded,
  IMMEDIATE_STOP_MS,
  readPidFile,
  removeStaleLocks,
  watchOwner,
} from "./server-processes.ts";
import { StartupError } from "../database/startup-error.ts";

// A crash under load leaves at most max_wal_size to replay, which takes seconds; this is for a slow disk.
const READY_TIMEOUT_MS = 120_000;
const RESTART_PAUSE_MS = 500;
// After `kill -9` of the postmaster its children need a moment to end. Until then a new postmaster is refused.
const START_ATTEMPTS = 20;

/** The settings that differ from PostgreSQL's defaults, with reasons. The durability settings keep their default: on. */
const SERVER_SETTINGS: Readonly<Record<string, string>> = {
  listen_addresses: "",
  max_connections: "120",
  shared_buffers: "256MB",
  // Few checkpoints, spread over time: after each one, the first write of every page logs the whole page.
  max_wal_size: "4GB",
  checkpoint_timeout: "15min",
  // The statements are short; compiling them would take longer than running them.
  jit: "off",
  max_parallel_workers_per_gather: "0",
  // The queue and the table of idempotency keys change all the time, so they are vacuumed early and in small steps.
  autovacuum_vacuum_scale_factor: "0.05",
  autovacuum_naptime: "15s",
  // No plan depends on fine statistics. The default samples four times as many rows, again and again as tables grow.
  default_statistics_target: "25",
  autovacuum_analyze_scale_factor: "0.3",
  // A DETAIL line quotes the row, and the text and number of a message must not be in a log.
  log_error_verbosity: "terse",
  log_min_error_statement: "panic",
  log_checkpoints: "off",
  log_line_prefix: "",
  timezone: "UTC",
  log_timezone: "UTC",
  unix_socket_permissions: "0700",
};

export type EmbeddedOptions = {
  dataDir: string;
  /** The name of the command, which other processes show when they find the directory locked. */
  command: string;
  say: (line: string) => void;
  onLog: (line: string) => void;
  /** The folder that the service archives to. Every other command continues the archive of the database, if it has one. */
  archive?: string | undefined;
  readyTimeoutMs?: number;
  /** Stops the server, also while it starts. */
  signal?: AbortSignal | undefined;
  /** Settings in place of those above. The tests run their shared server without durability. */
  settings?: Readonly<Record<string, string>>;
};

type ServerParts = Required<Pick<EmbeddedOptions, "onLog" | "settings" | "readyTimeoutMs">> & {
  programs: Programs;
  runAs: RunAs | undefined;
  cluster: string;
  sockets: string;
  lock: DirectoryLock;
  series: string | undefined;
};

export class EmbeddedPostgres {
  readonly target: DatabaseTarget;
  readonly #parts: ServerParts;
  #child: ChildProcess | undefined;
  #watcher: ChildProcess | undefined;
  #isStopping = false;
  #restarts = 0;
  #recentLines: string[] = [];

  private constructor(parts: ServerParts) {
    this.#parts = parts;
    this.target = embeddedTarget(parts.sockets);
  }

  /** Starts the server of a data directory, or returns the process that is using the directory. */
  static async start(options: EmbeddedOptions): Promise<EmbeddedPostgres | { owner: LockHolder }> {
    const { dataDir, command, say, onLog, settings = {}, readyTimeoutMs = READY_TIMEOUT_MS } = options;
    makeDataDir(dataDir);
    let lock: DirectoryLock | { owner: LockHolder };
    try {
      lock = await takeLock(dataDir, command);
    } catch (error) {
      throw explainDiskError(error, dataDir);
    }
    if ("owner" in lock) return lock;
    try {
      const runAs = chooseUser(clusterPath(dataDir));
      claimDataDir(dataDir, runAs, say);
      const programs = findPrograms(runAs, say);
      const cluster = findClusterFolder(dataDir, runAs, say);
      if (isAbsent(cluster)) initialize(programs, runAs, cluster, dataDir, say);
      checkMajor(cluster, programs);
      if (settings["restore_command"] === undefined) refuseUnfinishedRestore(cluster);
      await endOrphan(cluster);
      claimFolder(cluster, runAs, say);
      writeAuthentication(cluster, runAs);
      linkCluster(dataDir, cluster);
      const sockets = socketDir(dataDir);
      removeStaleLocks(cluster, sockets);
      if (sockets !== cluster) makeSocketDir(sockets, runAs);
      const series = command === "serve" ? chooseSeries(cluster, options.archive) : readSeries(cluster);
      const server = new EmbeddedPostgres({ programs, runAs, cluster, sockets, lock, onLog, settings, readyTimeoutMs, series });
      options.signal?.throwIfAborted();
      options.signal?.addEventListener("abort", () => void server.stop(), { once: true });
      await server.#startChild();
      options.signal?.throwIfAborted();
      await server.#ensureRoles();
      return server;
    } catch (error) {
      lock.release();
      throw explainDiskError(error, dataDir);
    }
  }

  get folder(): string {
    return this.#parts.cluster;
  }

  /** The folder of the socket. */
  get sockets(): string {
    return this.#parts.sockets;
  }

  /** The user of the server, if it is not that of this process. */
  get runAs(): RunAs | undefined {
    return this.#parts.runAs;
  }

  /** The folder in the archive to which the server archives its WAL. */
  get series(): string | undefined {
    return this.#parts.series;
  }

  /** The number of unexpected ends of the server. */
  get restarts(): number {
    return this.#restarts;
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    const child = this.#child;
    if (child !== undefined && !hasEnded(child)) {
      const exited = new Promise<true>((resolve) => child.once("exit", () => resolve(true)));
      child.kill("SIGINT");
      if ((await within(exited, FAST_STOP_MS)) === undefined) {
        child.kill("SIGQUIT");
        // The next server recovers from the log in any case, so a longer wait has no benefit.
        if ((await within(exited, IMMEDIATE_STOP_MS)) === undefined) child.unref();
      }
    }
    this.#watcher?.kill("SIGKILL");
    this.#parts.lock.release();
  }

  async #startChild(): Promise<void> {
    for (let attempt = 1; !this.#isStopping; attempt += 1) {
      const child = this.#spawn();
      this.#child = child;
      this.#watcher?.kill("SIGKILL");
      this.#watcher = watchOwner(child.pid ?? 0, this.#parts.cluster, this.#parts.runAs);
      const outcome = await Promise.race([ended(child), this.#isReady(child)]);
      if (this.#isStopping) return;
      if (outcome === "ready") {
        child.once("exit", () => this.#onExit());
        return;
      }
      const reason =
        this.#recentLines.findLast((line) => /FATAL|PANIC|could not/.test(line)) ?? this.#recentLines.at(-1) ?? "no reason given";
      const isTransient = /shared memory block|still in use|lock file/.test(reason);
      if (outcome === "timeout" || !isTransient || attempt === START_ATTEMPTS) {
        child.kill("SIGQUIT");
        throw new StartupError(`the embedded PostgreSQL did not start: ${reason.replace(/^(FATAL|PANIC|LOG):\s*/, "")}`);
      }
      await sleep(RESTART_PAUSE_MS);
    }
  }

  #spawn(): ChildProcess {
    const { cluster, series } = this.#parts;
    const settings = {
      ...SERVER_SETTINGS,
      ...(series === undefined ? {} : archiveSettings(cluster, series)),
      ...this.#parts.settings,
      unix_socket_directories: this.#parts.sockets,
      max_worker_processes: String(Math.max(8, availableParallelism())),
    };
    const child = spawn(
      this.#parts.programs.postgres,
      ["-D", cluster, ...Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`])],
      {
        ...identity(this.#parts.runAs),
        cwd: "/",
        env: { LC_ALL: "C", TZ: "UTC" },
        stdio: ["ignore", "ignore", "pipe"],
        // A separate process group: Ctrl-C at the terminal must reach this process first, and the database last.
        detached: true,
      },
    );
    createInterface({ input: child.stderr as NodeJS.ReadableStream }).on("line", (line) => {
      // A stop ends the sessions that are still open, which is no problem.
      if (this.#isStopping && /terminating connection due to administrator command/.test(line)) return;
      this.#recentLines = [...this.#recentLines.slice(-19), line];
      this.#parts.onLog(line);
    });
    return child;
  }

  async #ensureRoles(): Promise<void> {
    try {
      await ensureRoles(this.#parts.sockets, Number(this.#parts.settings["port"] ?? DEFAULT_PORT));
    } catch (error) {
      await this.stop();
      throw error;
    }
  }

  /** Waits until the server is ready. The postmaster writes its state into its pid file. */
  async #isReady(child: ChildProcess): Promise<"ready" | "timeout"> {
    const check = async (): Promise<"ready" | "timeout" | undefined> => {
      if (hasEnded(child)) return "timeout";
      const lines = readPidFile(this.#parts.cluster);
      return Number(lines[0]) === child.pid && lines[7]?.trim() === "ready" ? "ready" : undefined;
    };
    return (await poll(check, { timeoutMs: this.#parts.readyTimeoutMs, everyMs: 20 })) ?? "timeout";
  }

  #onExit(): void {
    if (this.#isStopping) return;
    this.#restarts += 1;
    this.#parts.onLog("FATAL:  the embedded PostgreSQL ended unexpectedly; starting it again");
    void this.#restart();
  }

  async #restart(): Promise<void> {
    while (!this.#isStopping) {
      try {
        await this.#startChild();
        return;
      } catch (error) {
        this.#parts.onLog(`FATAL:  ${(error as Error).message}`);
        await sleep(RESTART_PAUSE_MS * 10);
      }
    }
  }
}
export const embeddedTarget = (sockets: string): DatabaseTarget => ({
  socketDir: sockets,
  user: EMBEDDED_USER,
  database: EMBEDDED_DATABASE,
});
