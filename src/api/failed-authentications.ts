/** Delays the responses to a peer that keeps failing to authenticate. Requests with a valid credential are never delayed, so a peer that
 *  many clients share, such as a proxy, does not suffer from one of them. */
import { peerOf } from "../lib/addresses.ts";
import { BoundedMap } from "../lib/bounded-map.ts";
import { pause } from "../lib/wait.ts";

// A deployment with a wrong key makes some requests before somebody notices, and should not wait for each response.
const FREE_FAILURES = 20;
const FORGIVEN_PER_SECOND = 1;
// A delayed response keeps its connection, and each peer has few.
const MAX_DELAY_MS = 2_000;
const MAX_PEERS = 10_000;

type Failures = { count: number; atMs: number };

export class FailedAuthentications {
  readonly #peers = new BoundedMap<string, Failures>(MAX_PEERS);
  readonly #delayMs: number;
  readonly #now: () => number;

  /** `delayMs` is added for each failure beyond the free ones. `now` is a monotonic clock. */
  constructor(delayMs: number, now: () => number = () => performance.now()) {
    this.#delayMs = delayMs;
    this.#now = now;
  }

  /** Counts a failure of the address, and waits for as long as its response is delayed, or until the service stops. */
  async delay(address: string, stopping: AbortSignal): Promise<void> {
    const delayMs = this.delayMs(peerOf(address));
    if (delayMs > 0) await pause(delayMs, stopping);
  }

  /** Counts a failure of the peer, and returns how long its response has to wait. */
  delayMs(peer: string): number {
    const nowMs = this.#now();
    const before = this.#peers.get(peer);
    const remaining = before === undefined ? 0 : Math.max(0, before.count - ((nowMs - before.atMs) / 1_000) * FORGIVEN_PER_SECOND);
    const count = remaining + 1;
    this.#peers.renew(peer, { count, atMs: nowMs });
    return Math.min(MAX_DELAY_MS, Math.max(0, count - FREE_FAILURES) * this.#delayMs);
  }
}
