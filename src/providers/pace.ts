/** A rate that is kept: each message has its turn, so long after the one before as that one's size asks for. */

export class Pace {
  readonly #msPerUnit: number;
  readonly #maxWaitMs: number;
  #nextAt = 0;
  readonly #waiting = new Set<() => void>();

  /** Nobody waits longer than `maxWaitMs`. */
  constructor(perSecond: number, maxWaitMs: number) {
    this.#msPerUnit = 1_000 / perSecond;
    this.#maxWaitMs = maxWaitMs;
  }

  /** How long until a turn could be had, where that is too long to wait for; 0 otherwise. */
  get excessMs(): number {
    const waitMs = this.#nextAt - performance.now();
    return waitMs > this.#maxWaitMs ? Math.ceil(waitMs) : 0;
  }

  /** Resolves when it is the caller's turn: true. False when `signal` is aborted before, or the pace is stopped. */
  async turn(units: number, signal: AbortSignal): Promise<boolean> {
    const now = performance.now();
    const at = Math.max(now, this.#nextAt);
    this.#nextAt = at + units * this.#msPerUnit;
    return at <= now || this.#until(at - now, signal);
  }

  /** Whoever waits is sent away. */
  stop(): void {
    for (const leave of this.#waiting) leave();
  }

  #until(waitMs: number, signal: AbortSignal): Promise<boolean> {
    return new Promise((resolve) => {
      const end = (isTurn: boolean): void => {
        clearTimeout(timer);
        signal.removeEventListener("abort", leave);
        this.#waiting.delete(leave);
        resolve(isTurn);
      };
      const leave = (): void => end(false);
      // Upwards: a timer takes whole milliseconds, and must not come before its time.
      const timer = setTimeout(() => end(true), Math.ceil(waitMs));
      this.#waiting.add(leave);
      signal.addEventListener("abort", leave);
    });
  }
}
