/** Runs several workers: complete nodes in processes of their own that share one port and one embedded PostgreSQL. The system gives each
 *  connection to one of them. The supervisor serves no request itself. */
import { fork, type ChildProcess } from "node:child_process";
import { readFileSync } from "node:fs";
import { AggregatorRegistry, Registry, type Counter } from "prom-client";
import { environmentVariables } from "../config.ts";
import type { Log } from "../model/log.ts";
import { metricsIn } from "../lib/metrics.ts";
import { within } from "../lib/wait.ts";
import { StartupError } from "../database/startup-error.ts";
import { portIn, WORKER_PORT, type MetricValues, type ToSupervisor, type ToWorker } from "./worker-channel.ts";

export type SupervisorParts = { workers: number; log: Log };

// The pause before a worker is started again doubles with each further death up to the longest.
const PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 30_000;
// A worker that dies so often, with its pauses within about five minutes, will not recover by itself.
const MAX_DEATHS = 15;
// Deaths are forgotten after a worker has run for so long.
const STEADY_MS = 60_000;
// All workers together, and the embedded PostgreSQL after them, stay within the forty seconds that the service manager gives. Those that are
// left after the first time stop at the same time.
const IN_TURN_MS = 8_000;
const STOP_MS = 20_000;
const COLLECT_MS = 4_000;
// A stalled worker cannot close its socket, and gets its part of the connections until its process ends. The supervisor counts its own turns,
// not time: nothing runs on a machine that is suspended.
const TURN_MS = 500;
// A signal has stopped the worker. No slow machine looks like this.
const STOPPED_TURNS = 3;
// The cause of a silence may be a slow machine, a debugger, or a heap that is written to a file.
const SILENT_TURNS = 15;

type Collection = { values: MetricValues[]; awaited: Set<ChildProcess>; done: () => void };

export class Supervisor {
  readonly registry = new Registry();
  readonly #parts: SupervisorParts;
  readonly #failed = Promise.withResolvers<string>();
  readonly #listening = Promise.withResolvers<string>();
  readonly #collections = new Map<number, Collection>();
  readonly #restarts: Counter;
  readonly #stalls: Counter;
  readonly #workers = new Set<ChildProcess>();
  /** The workers that listen, each with the turns of the supervisor since it was asked for a turn of its own and has not responded. */
  readonly #ready = new Map<ChildProcess, number>();
  /** The port, from the moment when the first worker listens. */
  #port: number | undefined;
  #hasStarted = false;
  #deaths = 0;
  #collected = 0;
  #isDraining = false;
  #isStopping = false;

  constructor(parts: SupervisorParts) {
    this.#parts = parts;
    const { counter, gauge } = metricsIn(this.registry);
    this.#restarts = counter("godwit_worker_restarts_total", "How often a worker ended unexpectedly and was started again.");
    this.#stalls = counter("godwit_worker_stalls_total", "How often a worker was ended because its event loop did not turn.");
    gauge("godwit_workers", "Workers that listen.", () => this.#ready.size);
  }

  /** Starts the workers. Resolves with the URL when all of them listen. */
  start(): Promise<string> {
    // The first worker finds out whether the port is free, and which one it is if the configuration leaves it open.
    this.#fork();
    setInterval(() => this.#watch(), TURN_MS).unref();
    return Promise.race([this.#listening.promise, this.#failed.promise.then((reason) => Promise.reject(new StartupError(reason)))]);
  }

  #fork(): void {
    const [, program = "", ...args] = process.argv;
    const worker = fork(program, args, { env: { ...environmentVariables(), [WORKER_PORT]: String(this.#port ?? "") } });
    this.#workers.add(worker);
    worker.on("message", (message: ToSupervisor) => void this.#take(worker, message));
    worker.once("exit", (code, signal) => this.#ended(worker, signal ?? `exit code ${code}`));
    // The system could not start the process.
    worker.once("error", (error) => this.#ended(worker, error.message));
  }

  /** Resolves when workers die again and again. */
  get failed(): Promise<string> {
    return this.#failed.promise;
  }

  /** Each worker reads the certificate and the configuration file again. */
  reload(): void {
    for (const worker of this.#ready.keys()) worker.kill("SIGHUP");
  }

  /** Fails readiness, and asks clients to leave, while the workers serve. */
  drain(): void {
    this.#isDraining = true;
    for (const worker of this.#workers) tell(worker, { kind: "drain" });
  }

  /** Stops the workers one after the other: the others take over its links and its queue. The service is not ready from the start of it. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    this.drain();
    const deadline = performance.now() + IN_TURN_MS;
    const stopping = [...this.#workers].map(async (worker, index, all) => {
      // Each waits for the one before it, but not longer than the deadline.
      const before = all[index - 1];
      if (before !== undefined) await within(ended(before), Math.max(0, deadline - performance.now()));
      tell(worker, { kind: "stop" });
      if ((await within(ended(worker), STOP_MS)) === undefined) worker.kill("SIGKILL");
      await ended(worker);
    });
    await Promise.all(stopping);
  }

  /** The metrics of all workers and of this process as one text. A worker that does not answer in time is left out. */
  async readMetrics(): Promise<string> {
    const id = (this.#collected += 1);
    const { promise, resolve } = Promise.withResolvers<void>();
    const collection: Collection = { values: [], awaited: new Set(this.#workers), done: resolve };
    this.#collections.set(id, collection);
    for (const worker of collection.awaited) tell(worker, { kind: "collect", id });
    if (collection.awaited.size > 0) await within(promise, COLLECT_MS);
    this.#collections.delete(id);
    const all = AggregatorRegistry.aggregate(collection.values);
    return `${await all.metrics()}\n${await this.registry.metrics()}`;
  }

  async #take(worker: ChildProcess, message: ToSupervisor): Promise<void> {
    if (message.kind === "listening") {
      this.#ready.set(worker, 0);
      if (this.#isDraining) tell(worker, { kind: "drain" });
      setTimeout(() => {
        if (this.#ready.has(worker)) this.#deaths = 0;
      }, STEADY_MS).unref();
      this.#port ??= portIn(message.url);
      const missing = this.#hasStarted ? 0 : this.#parts.workers - this.#workers.size;
      for (let index = 0; index < missing; index += 1) this.#fork();
      if (this.#ready.size < this.#parts.workers) return;
      this.#hasStarted = true;
      this.#listening.resolve(message.url);
    } else if (message.kind === "turned") {
      if (this.#ready.has(worker)) this.#ready.set(worker, 0);
    } else if (message.kind === "metrics") {
      const text = await this.readMetrics().catch(() => null);
      tell(worker, { kind: "metrics", id: message.id, text });
    } else if (message.kind === "peer") this.#forward(worker, message);
    else this.#answered(worker, message.id, message.values);
  }

  /** Asks each worker for a turn of its event loop, and ends one that has not responded for too long. */
  #watch(): void {
    for (const [worker, turns] of this.#ready) {
      if (turns === 0) tell(worker, { kind: "turn" });
      this.#ready.set(worker, turns + 1);
      const isStopped = turns >= STOPPED_TURNS && isStoppedBySignal(worker);
      if (!isStopped && turns !== SILENT_TURNS) continue;
      const fields = { event: "service.worker_stalled", pid: worker.pid, state: isStopped ? "stopped" : "silent" } as const;
      this.#parts.log.error(fields, "the event loop of a worker does not turn, and the worker is ended");
      this.#stalls.inc();
      worker.kill("SIGKILL");
    }
  }

  #forward({ pid: from = 0 }: ChildProcess, { to, text, version }: Extract<ToSupervisor, { kind: "peer" }>): void {
    for (const worker of this.#workers)
      if (worker.pid === to || (to === undefined && worker.pid !== from)) tell(worker, { kind: "peer", from, text, version });
  }

  #answered(worker: ChildProcess, id: number, values: MetricValues | null): void {
    const collection = this.#collections.get(id);
    if (collection === undefined || !collection.awaited.delete(worker)) return;
    if (values !== null) collection.values.push(values);
    if (collection.awaited.size === 0) collection.done();
  }

  #ended(worker: ChildProcess, how: string): void {
    if (!this.#workers.delete(worker)) return;
    const hasListened = this.#ready.delete(worker);
    for (const id of this.#collections.keys()) this.#answered(worker, id, null);
    for (const other of this.#workers) tell(other, { kind: "peer", from: worker.pid ?? 0, text: null });
    if (this.#isStopping) return;
    const { log } = this.#parts;
    log.error({ event: "service.worker_ended", pid: worker.pid, how }, "a worker ended and is started again");
    this.#deaths += 1;
    this.#restarts.inc();
    // A worker that cannot start at all has said why, and another attempt would fail as well.
    if (!this.#hasStarted) return this.#failed.resolve("a worker could not start");
    if (this.#deaths > MAX_DEATHS) return this.#failed.resolve("workers end again and again");
    const pause = hasListened && this.#deaths === 1 ? 0 : Math.min(LONGEST_PAUSE_MS, PAUSE_MS * 2 ** (this.#deaths - 1));
    setTimeout(() => {
      if (!this.#isStopping) this.#fork();
    }, pause);
  }
}

const tell = (worker: ChildProcess, message: ToWorker): void => {
  // It may end at any time, which the exit reports.
  if (worker.connected) worker.send(message, () => undefined);
};

/** Linux shows the state as `T`; that of a process under a debugger is `t`. Other systems show none here. */
function isStoppedBySignal({ pid }: ChildProcess): boolean {
  try {
    return /^State:\s+T/m.test(readFileSync(`/proc/${pid}/status`, "latin1"));
  } catch {
    return false;
  }
}

const ended = (worker: ChildProcess): Promise<true> =>
  new Promise((resolve) => {
    if (worker.exitCode !== null || worker.signalCode !== null) resolve(true);
    else worker.once("exit", () => resolve(true));
  });
