/** The rate in parts a second, as a token bucket. The rate is cut when the carrier throttles, and grows again step by step. */

// Carriers count by the second: a bucket with the tokens of a second would allow twice the rate in one second.
const BURST_SECONDS = 0.1;
const CUT = 0.5;
const LEAST_PER_SECOND = 1;
// The share of the full rate that is regained each second: from half the rate to the full rate in ten seconds.
const STEP = 0.05;
// A link without a limit has none again when the cut rate has grown to this multiple of the throttled rate.
const FORGOTTEN_AT = 2;

export class Rate {
  readonly #limit: number | null;
  /** The current rate; null: no limit. */
  #perSecond: number | null;
  #ceiling: number;
  #tokens = 1;
  #at: number;
  /** `#count` has the parts of the current second, `#before` those of the second before. */
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

  /** Takes a token for a part. Returns 0, or the time to wait if there is no token. */
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

  /** Refills the bucket, and raises a cut rate. */
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
