/** The pace at which a queue is scanned for rows that no node announced: regularly, and soon after a request. A scan of a long queue takes
 *  long, so the pauses grow with its duration. A scan that took longer than the one before may have waited for a lock, or its process was
 *  frozen, and the rows of a node that died must not wait for twenty times as long: the shorter of the last two scans counts. */
import type { Turn } from "../lib/background-job.ts";
import { pause } from "../lib/wait.ts";

// A regular scan takes at most a twentieth of the time, and scans that are requested all the time a quarter.
const REGULAR_PAUSES = 20;
const REQUESTED_PAUSES = 3;

export class PacedScan {
  readonly #scan: () => Promise<void>;
  readonly #pollMs: number;
  #lastMs = 0;
  /** Aborted to end the pause before the next scan. */
  #request = new AbortController();

  constructor(scan: () => Promise<void>, pollMs: number) {
    this.#scan = scan;
    this.#pollMs = pollMs;
  }

  /** Scans soon. A request during a scan, which may not see the new rows, is followed by another scan. */
  request(): void {
    this.#request.abort();
  }

  /** One scan and the pause after it, as a turn of a background job. */
  readonly turn: Turn = async (stopping) => {
    this.#request = new AbortController();
    const startedAt = performance.now();
    await this.#scan();
    const tookMs = performance.now() - startedAt;
    const paceMs = Math.min(tookMs, this.#lastMs);
    this.#lastMs = tookMs;
    const leastMs = paceMs * REQUESTED_PAUSES;
    await pause(leastMs, stopping);
    await pause(Math.max(this.#pollMs, paceMs * REGULAR_PAUSES) - leastMs, AbortSignal.any([stopping, this.#request.signal]));
    return 0;
  };
}
