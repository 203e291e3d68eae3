/** Reports of the simulated carrier. Passes them to the host one batch at a time and in order, and repeats a batch until the host has
 *  stored it, since a carrier repeats an unacknowledged report. */
import { backoffMs } from "../../lib/backoff.ts";
import { errorFields, type Log } from "../../model/log.ts";
import { waitFor, type Timers } from "./timer-wheel.ts";

// A batch costs one commit. Batches of this size keep up with thousands of receipts a second even when a commit is slow.
const MAX_BATCH = 100;
// A database that restarts is available again within seconds: retry soon, then every second.
const FIRST_WAIT_MS = 50;
const MAX_WAIT_MS = 1_000;

export type ReportQueueParts<Item> = {
  /** The name of the items in the log. */
  name: string;
  log: Log;
  timers: Timers;
  store: (items: readonly Item[]) => Promise<void>;
};

export class ReportQueue<Item> {
  readonly #parts: ReportQueueParts<Item>;
  readonly #waiting: Item[] = [];
  readonly #stopped = Promise.withResolvers<void>();
  #isStopped = false;
  #isPassing = false;
  #passing: Promise<void> = Promise.resolve();

  constructor(parts: ReportQueueParts<Item>) {
    this.#parts = parts;
  }

  /** The number of items that are not stored yet. */
  get size(): number {
    return this.#waiting.length;
  }

  /** Resolves when all items added so far are stored or dropped. */
  get drained(): Promise<void> {
    return this.#passing;
  }

  add(items: readonly Item[]): void {
    for (const item of items) this.#waiting.push(item);
    if (!this.#isPassing) this.#passing = this.#passAll();
  }

  /** Waits until everything is stored, within the limit. Afterwards nothing is passed to the host, and no timer is left. */
  async close(limitMs: number): Promise<void> {
    await waitFor(this.#passing, limitMs, this.#parts.timers);
    this.#isStopped = true;
    this.#stopped.resolve();
    if (this.#waiting.length > 0)
      this.#parts.log.warn(
        { event: "simulator.reports_dropped", [this.#parts.name]: this.#waiting.length },
        "the simulated carrier dropped reports that were not stored",
      );
  }

  async #passAll(): Promise<void> {
    this.#isPassing = true;
    let failures = 0;
    while (this.#waiting.length > 0 && !this.#isStopped) {
      failures = (await this.#passBatch()) ? 0 : failures + 1;
      if (failures > 0) await waitFor(this.#stopped.promise, backoffMs(failures, FIRST_WAIT_MS, MAX_WAIT_MS), this.#parts.timers);
    }
    this.#isPassing = false;
  }

  async #passBatch(): Promise<boolean> {
    const batch = this.#waiting.slice(0, MAX_BATCH);
    try {
      await this.#parts.store(batch);
    } catch (error) {
      this.#parts.log.warn(
        { event: "providers.receive_failed", provider: "simulator", [this.#parts.name]: batch.length, ...errorFields(error) },
        "a report of the simulated carrier was not stored: the carrier sends it again",
      );
      return false;
    }
    this.#waiting.splice(0, batch.length);
    return true;
  }
}
