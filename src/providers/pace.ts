/** Keeps a rate: gives each message a turn, after a pause in proportion to the size of the message before. */

export class Pace {
  readonly #msPerUnit: number;
  readonly #maxWaitMs: number;
  #nextAt = 0;
  readonly #waiting = new Set<() => void>();

  /** `maxWaitMs` is the longest wait that a caller accepts: see `excessMs`. */
  constructor(perSecond: number, maxWaitMs: number) {
    this.#msPerUnit = 1_000 / perSecond;
    this.#maxWaitMs = maxWaitMs;
  }

  /** The wait for the next turn, if it is longer than `maxWaitMs`; 0 otherwise. */
  get excessMs(): number {
    const waitMs = this.#nextAt - performance.now();
    return waitMs > this.#maxWaitMs ? Math.ceil(waitMs) : 0;
  }

  /** Resolves with true at the caller's turn, or with false when `signal` is aborted or the pace is stopped before. */
  async waitTurn(units: number, signal: AbortSignal): Promise<boolean> {
    const now = performance.now();
    const at = Math.max(now, this.#nextAt);
    this.#nextAt = at + units * this.#msPerUnit;
    return at <= now || this.#until(at - now, signal);
  }

  /** Ends all waits, without a turn. */
  stop(): void {
    for (const cancel of this.#waiting) cancel();
  }

  #until(waitMs: number, signal: AbortSignal): Promise<boolean> {
    return new Promise((resolve) => {
      const end = (isTurn: boolean): void => {
        clearTimeout(timer);
        signal.removeEventListener("abort", cancel);
        this.#waiting.delete(cancel);
        resolve(isTurn);
      };
      const cancel = (): void => end(false);
      // Rounded up: a timer has whole milliseconds, and must not fire too early.
      const timer = setTimeout(() => end(true), Math.ceil(waitMs));
      this.#waiting.add(cancel);
      signal.addEventListener("abort", cancel);
    });
  }
}
