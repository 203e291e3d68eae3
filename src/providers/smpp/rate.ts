/** Parts a second, as a bucket of tokens. When the carrier says that it is too much, the rate is cut to a part of what it was,
 *  and grows again step by step. */

// Carriers count by the second: a bucket that holds a second's worth would let twice the rate through in one.
const BURST_SECONDS = 0.1;
const CUT = 0.5;
const LEAST_PER_SECOND = 1;
// A step a second: from half the rate back to all of it in ten.
const STEP = 0.05;
// Of a link without a limit: the cut rate is forgotten when it has grown to so many times what was too much.
const FORGOTTEN_AT = 2;

export class Rate {
  readonly #limit: number | null;
  /** Now in force; null: none. */
  #perSecond: number | null;
  #ceiling: number;
  #tokens = 1;
  #at: number;
  /** What went through in the second before this one, and in this one. */
  #second = 0;
  #before = 0;
  #count = 0;

  constructor(perSecond: number | null, nowMs: number) {
    this.#limit = perSecond;
    this.#perSecond = perSecond;
    this.#ceiling = perSecond ?? 0;
    this.#at = nowMs;
  }

  get perSecond(): number | null {
    return this.#perSecond;
  }

  /** How long the next part has to wait; 0 when it was let through. */
  take(nowMs: number): number {
    this.#grow(nowMs);
    if (this.#perSecond !== null) {
      if (this.#tokens < 1) return Math.max(1, Math.ceil(((1 - this.#tokens) * 1_000) / this.#perSecond));
      this.#tokens -= 1;
    }
    this.#tally(nowMs);
    return 0;
  }

  cut(nowMs: number): void {
    this.#grow(nowMs);
    this.#tally(nowMs, 0);
    const now = this.#perSecond ?? Math.max(this.#before, this.#count, LEAST_PER_SECOND);
    if (this.#limit === null && this.#perSecond === null) this.#ceiling = now * FORGOTTEN_AT;
    this.#perSecond = Math.max(Math.min(LEAST_PER_SECOND, this.#ceiling), now * CUT);
    this.#tokens = Math.min(this.#tokens, 1);
  }

  /** Refills the bucket, and raises the rate where it was cut. */
  #grow(nowMs: number): void {
    const seconds = Math.max(0, nowMs - this.#at) / 1_000;
    this.#at = nowMs;
    if (this.#perSecond === null) return;
    this.#tokens = Math.min(Math.max(1, this.#perSecond * BURST_SECONDS), this.#tokens + seconds * this.#perSecond);
    if (this.#perSecond < this.#ceiling) this.#perSecond = Math.min(this.#ceiling, this.#perSecond + seconds * this.#ceiling * STEP);
    if (this.#limit === null && this.#perSecond >= this.#ceiling) this.#perSecond = null;
  }

  #tally(nowMs: number, more = 1): void {
    const second = Math.floor(nowMs / 1_000);
    if (second !== this.#second) {
      this.#before = second === this.#second + 1 ? this.#count : 0;
      this.#count = 0;
      this.#second = second;
    }
    this.#count += more;
  }
}
