/** One Godwit node as a process, or as a supervisor with its workers. The node is started again whenever its process ends, until it is stopped. */
import { spawn, type ChildProcess } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { TIMINGS, type Timings } from "../src/timings.ts";
import { cachedFolder } from "../test/support/cache.ts";
import { childProcesses, signalProcess } from "../test/support/child-processes.ts";
import { programPath } from "../test/support/programs.ts";

/** Short leases, so that a node that is frozen for some seconds loses its work to the other node. */
const SHORT: Timings = { ...TIMINGS, queueLeaseMs: 4_000, linkLeaseMs: 3_000, webhookLeaseMs: 8_000, webhookCallMs: 5_000 };

const RESTART_PAUSE_MS = 200;
const READY_POLL_MS = 100;

export type NodeOptions = { name: string; port: number; folder: string; env: Readonly<Record<string, string>>; workers: number };

// Of the kills of a node with several workers, every third one kills its supervisor, and the others one worker.
const SUPERVISOR_KILLS = 3;

/** The environment of every process of Godwit. The compile cache saves most of the time that a process takes to start. */
export const processEnv = (): Record<string, string> => ({
  PATH: process.env["PATH"] ?? "",
  NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"] ?? cachedFolder("compiled"),
});

export class ChaosNode {
  readonly name: string;
  readonly url: string;
  readonly #options: NodeOptions;
  #child: ChildProcess | undefined;
  #isStopping = false;
  #killFaults = 0;
  #hangs = 0;
  /** The number of processes that were started. */
  starts = 0;
  /** The number of processes that were killed or frozen, each of which may have been about to submit a message. */
  interruptions = 0;
  /** Those of them that were killed, also by their supervisor because they hung. */
  kills = 0;

  constructor(options: NodeOptions) {
    this.name = options.name;
    this.url = `http://127.0.0.1:${options.port}`;
    this.#options = options;
    process.once("exit", () => this.#signal("SIGKILL"));
    this.#start();
  }

  kill(): void {
    this.#killFaults += 1;
    const workers = this.#workers();
    const worker = workers[this.#killFaults % workers.length];
    const isWhole = worker === undefined || this.#killFaults % SUPERVISOR_KILLS === 0;
    this.#countKill(isWhole ? this.#options.workers : 1);
    if (isWhole) this.#signal("SIGKILL");
    else signalProcess(worker, "SIGKILL");
  }

  /** Freezes the processes that run now, which may be killed meanwhile. */
  async freeze(lasts: Promise<unknown>): Promise<void> {
    const child = this.#child;
    if (child === undefined) return;
    const workers = this.#workers();
    this.interruptions += this.#options.workers;
    signalChild(child, "SIGSTOP");
    try {
      await this.#stopped(workers, lasts);
    } finally {
      signalChild(child, "SIGCONT");
    }
  }

  /** Freezes one worker, which its supervisor may end meanwhile. */
  async hang(lasts: Promise<unknown>): Promise<void> {
    this.#hangs += 1;
    const workers = this.#workers();
    const worker = workers[this.#hangs % workers.length];
    if (worker === undefined) return;
    this.#countKill(1);
    await this.#stopped([worker], lasts);
  }

  #countKill(processes: number): void {
    this.kills += processes;
    this.interruptions += processes;
  }

  async #stopped(workers: readonly number[], lasts: Promise<unknown>): Promise<void> {
    for (const worker of workers) signalProcess(worker, "SIGSTOP");
    try {
      await lasts;
    } finally {
      for (const worker of workers) signalProcess(worker, "SIGCONT");
    }
  }

  /** The process ids of the workers. With one worker there is no supervisor, and the list is empty. */
  #workers(): number[] {
    return this.#options.workers === 1 ? [] : childProcesses(this.#child?.pid);
  }

  async isReady(): Promise<boolean> {
    try {
      const response = await fetch(`${this.url}/readyz`, { signal: AbortSignal.timeout(5_000) });
      await response.arrayBuffer();
      return response.ok;
    } catch {
      return false;
    }
  }

  async ready(signal: AbortSignal): Promise<void> {
    while (!(await this.isReady())) await sleep(READY_POLL_MS, undefined, { signal });
  }

  /** Kills the process. Nothing of it may outlive the run, so it gets no time to end. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    const child = this.#child;
    if (child === undefined || hasEnded(child)) return;
    const ended = new Promise((resolve) => child.once("exit", resolve));
    this.#signal("SIGKILL");
    await ended;
  }

  #start(): void {
    const { name, port, folder, env, workers } = this.#options;
    const log = openSync(join(folder, `${name}.log`), "a");
    this.#child = spawn(process.execPath, [programPath("serve-node"), JSON.stringify(SHORT)], {
      env: { ...processEnv(), ...env, GODWIT_PORT: String(port), GODWIT_WORKERS: String(workers), GODWIT_LOG: "json" },
      // The node ends when the pipe closes, also if this program is killed.
      stdio: ["pipe", log, log],
      // Ctrl-C at the terminal must reach only this program, which stops the node itself.
      detached: true,
    });
    closeSync(log);
    this.starts += 1;
    this.#child.once("exit", () => void this.#restart());
  }

  async #restart(): Promise<void> {
    await sleep(RESTART_PAUSE_MS);
    if (!this.#isStopping) this.#start();
  }

  #signal(signal: NodeJS.Signals): void {
    if (this.#child !== undefined) signalChild(this.#child, signal);
  }
}

const hasEnded = ({ exitCode, signalCode }: ChildProcess): boolean => exitCode !== null || signalCode !== null;

function signalChild(child: ChildProcess, signal: NodeJS.Signals): void {
  if (!hasEnded(child)) child.kill(signal);
}

// Below the range from which the kernel takes the ports of outgoing connections: a node must find its port free after each restart.
const FIRST_PORT = 20_000;
const PORTS = 12_000;

/** A port on which nothing listens. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = FIRST_PORT + Math.floor(Math.random() * PORTS);
    const isFree = await new Promise<boolean>((resolve) => {
      const socket = connect(port, "127.0.0.1");
      socket.once("connect", () => resolve(false)).once("error", () => resolve(true));
      socket.once("connect", () => socket.destroy());
    });
    if (isFree) return port;
  }
}
