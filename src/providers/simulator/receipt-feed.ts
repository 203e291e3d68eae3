/** Hands receipts over, one batch at a time and in order, and again until they are taken: a carrier repeats what is not
 *  acknowledged. */
import { setTimeout as sleep } from "node:timers/promises";
import { backoffMs } from "../../lib/backoff.ts";
import { within } from "../../lib/wait.ts";
import type { Host, Receipt } from "../provider.ts";

// A batch costs one commit. This many keep up with thousands of receipts a second even when a commit is slow.
const MAX_BATCH = 100;
// A database that restarts is back within seconds: ask soon, then every second.
const FIRST_WAIT_MS = 50;
const MAX_WAIT_MS = 1_000;
// `Connection.close` has seconds, not minutes.
const CLOSE_LIMIT_MS = 5_000;

export class ReceiptFeed {
  readonly #host: Host;
  readonly #waiting: Receipt[] = [];
  readonly #stop = new AbortController();
  #isPassing = false;
  #passing: Promise<void> = Promise.resolve();

  constructor(host: Host) {
    this.#host = host;
  }

  /** Receipts that are not taken yet. */
  get waiting(): number {
    return this.#waiting.length;
  }

  pass(receipts: readonly Receipt[]): void {
    for (const receipt of receipts) this.#waiting.push(receipt);
    if (!this.#isPassing) this.#passing = this.#passAll();
  }

  /** Waits until everything is taken, within the limit. After that no receipt is handed over, and no timer is left. */
  async close(): Promise<void> {
    await within(this.#passing, CLOSE_LIMIT_MS);
    this.#stop.abort();
    if (this.#waiting.length > 0) this.#host.log.warn({ receipts: this.#waiting.length }, "simulated receipts dropped: nobody took them");
  }

  async #passAll(): Promise<void> {
    this.#isPassing = true;
    let failures = 0;
    while (this.#waiting.length > 0 && !this.#stop.signal.aborted) {
      failures = (await this.#passBatch()) ? 0 : failures + 1;
      if (failures > 0) await this.#pause(backoffMs(failures, FIRST_WAIT_MS, MAX_WAIT_MS));
    }
    this.#isPassing = false;
  }

  async #pause(waitMs: number): Promise<void> {
    await sleep(waitMs, undefined, { signal: this.#stop.signal }).catch(() => undefined);
  }

  async #passBatch(): Promise<boolean> {
    const batch = this.#waiting.slice(0, MAX_BATCH);
    try {
      await this.#host.receive(batch);
    } catch (error) {
      this.#host.log.warn({ receipts: batch.length, message: String(error) }, "simulated receipts not taken: they are passed again");
      return false;
    }
    this.#waiting.splice(0, batch.length);
    return true;
  }
}
