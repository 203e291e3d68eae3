/** Hands over what a carrier has to say, one batch at a time and in order, and again until it is taken: a carrier repeats what is
 *  not acknowledged. */
import { backoffMs } from "../../lib/backoff.ts";
import { pause, within } from "../../lib/wait.ts";
import { errorFields, type Log } from "../../lib/log.ts";

// A batch costs one commit. This many keep up with thousands of receipts a second even when a commit is slow.
const MAX_BATCH = 100;
// A database that restarts is back within seconds: ask soon, then every second.
const FIRST_WAIT_MS = 50;
const MAX_WAIT_MS = 1_000;
// `Connection.close` has seconds, not minutes.
const CLOSE_LIMIT_MS = 5_000;

export class Feed<Item> {
  readonly #what: string;
  readonly #log: Log;
  readonly #hand: (items: readonly Item[]) => Promise<void>;
  readonly #waiting: Item[] = [];
  readonly #stop = new AbortController();
  #isPassing = false;
  #passing: Promise<void> = Promise.resolve();

  /** `what` is handed over, for the log. */
  constructor(what: string, log: Log, hand: (items: readonly Item[]) => Promise<void>) {
    this.#what = what;
    this.#log = log;
    this.#hand = hand;
  }

  /** What is not taken yet. */
  get waiting(): number {
    return this.#waiting.length;
  }

  /** Resolves when what was passed so far is taken, or given up. */
  get taken(): Promise<void> {
    return this.#passing;
  }

  pass(items: readonly Item[]): void {
    for (const item of items) this.#waiting.push(item);
    if (!this.#isPassing) this.#passing = this.#passAll();
  }

  /** Waits until everything is taken, within the limit. After that nothing is handed over, and no timer is left. */
  async close(): Promise<void> {
    await within(this.#passing, CLOSE_LIMIT_MS);
    this.#stop.abort();
    if (this.#waiting.length > 0)
      this.#log.warn(
        { event: "simulator.reports_dropped", [this.#what]: this.#waiting.length },
        "the simulated carrier dropped reports that were not stored",
      );
  }

  async #passAll(): Promise<void> {
    this.#isPassing = true;
    let failures = 0;
    while (this.#waiting.length > 0 && !this.#stop.signal.aborted) {
      failures = (await this.#passBatch()) ? 0 : failures + 1;
      if (failures > 0) await pause(backoffMs(failures, FIRST_WAIT_MS, MAX_WAIT_MS), this.#stop.signal);
    }
    this.#isPassing = false;
  }

  async #passBatch(): Promise<boolean> {
    const batch = this.#waiting.slice(0, MAX_BATCH);
    try {
      await this.#hand(batch);
    } catch (error) {
      this.#log.warn(
        { event: "providers.receive_failed", provider: "simulator", [this.#what]: batch.length, ...errorFields(error) },
        "a report of the simulated carrier was not stored: the carrier sends it again",
      );
      return false;
    }
    this.#waiting.splice(0, batch.length);
    return true;
  }
}
