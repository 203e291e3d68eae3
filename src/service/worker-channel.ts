/** The messages between the supervisor and its workers, and the side of a worker. */
import type { MetricObject, MetricValue, Registry } from "prom-client";
import type { Peers } from "../delivery/peer-lanes.ts";
import { within } from "../lib/wait.ts";
import { VERSION } from "../version.ts";

/** The values of one registry, as prom-client aggregates them. */
export type MetricValues = readonly (MetricObject & { values: MetricValue<string>[] })[];

export type ToWorker =
  /** Respond with `turned`. */
  | { kind: "turn" }
  /** Report that the service is not ready: it is about to stop. */
  | { kind: "drain" }
  | { kind: "stop" }
  | { kind: "collect"; id: number }
  /** `text` is null if the metrics could not be collected. */
  | { kind: "metrics"; id: number; text: string | null }
  /** The text of another worker, which is known by its process id; null if that worker has ended. */
  | { kind: "peer"; from: number; text: string | null; version?: string };

export type ToSupervisor =
  | { kind: "listening"; url: string }
  /** The event loop of this worker turns. */
  | { kind: "turned" }
  /** `values` is null if this worker could not read its metrics. */
  | { kind: "collected"; id: number; values: MetricValues | null }
  /** A worker was asked for the metrics of all. */
  | { kind: "metrics"; id: number }
  /** A text for another worker, or for all others. The supervisor does not look into it. */
  | { kind: "peer"; to: number | undefined; text: string; version: string };

/** The variable that makes a process a worker. Its value is the port that the other workers listen on, or empty for the first one. */
export const WORKER_PORT = "GODWIT_WORKER_PORT";

/** The port in the URL of a service. `URL` leaves out the usual port of a scheme, such as 443. */
export const portIn = (url: string): number => Number(/:(\d+)$/.exec(url)?.[1]);

// The supervisor waits less long for the workers.
const METRICS_TIMEOUT_MS = 6_000;

/** The worker's end of the channel. */
export class WorkerChannel implements Peers {
  readonly self = process.pid;
  #onText: (from: number, text: string | null) => void = () => undefined;
  #isDraining = false;
  #asked = 0;
  readonly #answers = new Map<number, (text: string | null) => void>();
  readonly #stopped = Promise.withResolvers<string>();
  #registry: Registry | undefined;

  constructor() {
    process.on("message", (message: ToWorker) => void this.#take(message));
    // Without its supervisor a worker would not be replaced, and an embedded database is gone as well.
    process.once("disconnect", () => this.#stopped.resolve("the supervisor is gone"));
  }

  /** Whether the service is about to stop, though this worker still works. */
  get isDraining(): boolean {
    return this.#isDraining;
  }

  /** Resolves with the reason when the supervisor wants this worker to stop. */
  get stopped(): Promise<string> {
    return this.#stopped.promise;
  }

  listening(url: string): void {
    this.#send({ kind: "listening", url });
  }

  /** The metrics of all workers as one text. */
  async readMetrics(): Promise<string> {
    const id = (this.#asked += 1);
    const answered = new Promise<string | null>((resolve) => this.#answers.set(id, resolve));
    this.#send({ kind: "metrics", id });
    const text = await within(answered, METRICS_TIMEOUT_MS);
    this.#answers.delete(id);
    if (typeof text !== "string") throw new Error("the supervisor could not collect the metrics");
    return text;
  }

  /** Reports this registry when the supervisor collects the metrics. */
  report(registry: Registry): void {
    this.#registry = registry;
  }

  send(text: string, to?: number): void {
    this.#send({ kind: "peer", to, text, version: VERSION });
  }

  hear(onText: (from: number, text: string | null) => void): void {
    this.#onText = onText;
  }

  /** Lets the process end. */
  close(): void {
    if (process.connected) process.disconnect();
  }

  async #take(message: ToWorker): Promise<void> {
    if (message.kind === "turn") this.#send({ kind: "turned" });
    else if (message.kind === "drain") this.#isDraining = true;
    else if (message.kind === "stop") this.#stopped.resolve("the supervisor stops this worker");
    else if (message.kind === "metrics") this.#answers.get(message.id)?.(message.text);
    else if (message.kind === "peer") {
      // A worker that is replaced after an upgrade of the files on disk may be of another version.
      if (message.text === null || message.version === VERSION) this.#onText(message.from, message.text);
    } else {
      const values = await this.#registry?.getMetricsAsJSON().catch(() => undefined);
      this.#send({ kind: "collected", id: message.id, values: (values as unknown as MetricValues | undefined) ?? null });
    }
  }

  #send(message: ToSupervisor): void {
    // The channel may close at any time, and the worker stops then.
    if (process.connected) process.send?.(message, undefined, {}, () => undefined);
  }
}
