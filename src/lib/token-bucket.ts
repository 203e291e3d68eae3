/** A rate with a burst: the bucket fills with time, and each use takes from it. */
export class TokenBucket {
  readonly #perSecond: number;
  readonly #burst: number;
  #level: number;
  #atMs = performance.now();

  constructor({ perSecond, burst }: { perSecond: number; burst: number }) {
    this.#perSecond = perSecond;
    this.#burst = burst;
    this.#level = burst;
  }

  /** Takes from the bucket unless it is empty. Returns whether it did. One call may take more than is left, which the next calls repay. */
  take(count = 1, nowMs = performance.now()): boolean {
    this.#level = Math.min(this.#burst, this.#level + (Math.max(0, nowMs - this.#atMs) / 1_000) * this.#perSecond);
    this.#atMs = nowMs;
    if (this.#level <= 0) return false;
    this.#level -= count;
    return true;
  }
}
