/** Counts the parts of the last second, so that no second has more than the rate. A part is written after the commit of its message, which may take
 *  long, and several commits may end together. So a part reserves its place when it has its turn: the written parts of the last second and the
 *  reserved places together never exceed the rate. */

/** The reserved place of a part, until the part is written or will not be. Only the first call counts. */
export type Place = { write: (nowMs: number) => void; release: () => void };

const SECOND_MS = 1_000;

export class LastSecond {
  readonly #most: number;
  /** The times of the written parts, as a ring. */
  readonly #writtenAt: Float64Array;
  #oldest = 0;
  #written = 0;
  #reserved = 0;

  /** A rate with a fraction is rounded up: no second can have a part of a part. */
  constructor(perSecond: number) {
    this.#most = Math.ceil(perSecond);
    this.#writtenAt = new Float64Array(this.#most);
  }

  /** The time until there is room for so many parts; 0 if there is. */
  waitMs(nowMs: number, parts = 1): number {
    while (this.#written > 0 && nowMs - this.#timeOf(0) >= SECOND_MS) {
      this.#oldest = (this.#oldest + 1) % this.#most;
      this.#written -= 1;
    }
    const excess = this.#written + this.#reserved + this.#size(parts) - this.#most;
    if (excess <= 0) return 0;
    // Without written parts, there is room after a release, or a second after the next part is written.
    return excess > this.#written ? SECOND_MS : Math.max(1, Math.ceil(this.#timeOf(excess - 1) + SECOND_MS - nowMs));
  }

  /** Reserves the place of so many parts that are written together. There must be room for them. */
  reserve(parts = 1): Place {
    const size = this.#size(parts);
    this.#reserved += size;
    let isPending = true;
    const end = (written: number, nowMs: number): void => {
      if (!isPending) return;
      isPending = false;
      this.#reserved -= size;
      for (let count = 0; count < written; count += 1) this.#write(nowMs);
    };
    return { write: (nowMs) => end(size, nowMs), release: () => end(0, 0) };
  }

  #write(nowMs: number): void {
    this.#writtenAt[(this.#oldest + this.#written) % this.#most] = nowMs;
    this.#written += 1;
  }

  /** More parts than the rate have the whole second. */
  #size(parts: number): number {
    return Math.min(parts, this.#most);
  }

  #timeOf(index: number): number {
    return this.#writtenAt[(this.#oldest + index) % this.#most] ?? 0;
  }
}
