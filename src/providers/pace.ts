/** Keeps a rate: gives each message a turn, after a pause in proportion to the size of the message before. A message that is about to begin takes a
 *  place in the last second, because the time from its turn to its bytes varies. */
import { pause } from "../lib/wait.ts";
import { LastSecond, type Place } from "./last-second.ts";

export class Pace {
  readonly #msPerUnit: number;
  readonly #maxWaitMs: number;
  #nextAt = 0;
  readonly #lastSecond: LastSecond;
  /** The place of the message before. */
  #lastPlace: Promise<unknown> = Promise.resolve();
  readonly #stopped = new AbortController();

  /** `maxWaitMs` is the longest wait that a caller accepts: see `excessMs`. */
  constructor(perSecond: number, maxWaitMs: number) {
    this.#msPerUnit = 1_000 / perSecond;
    this.#maxWaitMs = maxWaitMs;
    this.#lastSecond = new LastSecond(perSecond);
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
    if (at <= now) return true;
    const ended = AbortSignal.any([signal, this.#stopped.signal]);
    // Rounded up: a timer has whole milliseconds, and must not fire too early.
    await pause(Math.ceil(at - now), ended);
    return !ended.aborted;
  }

  /** Resolves with a place in the order of the calls, or with undefined when `signal` is aborted or the pace is stopped before. */
  waitPlace(units: number, signal: AbortSignal): Promise<Place | undefined> {
    const place = this.#lastPlace.then(() => this.#takePlace(units, AbortSignal.any([signal, this.#stopped.signal])));
    this.#lastPlace = place;
    return place;
  }

  async #takePlace(units: number, ended: AbortSignal): Promise<Place | undefined> {
    for (;;) {
      if (ended.aborted) return undefined;
      const waitMs = this.#lastSecond.waitMs(performance.now(), units);
      if (waitMs === 0) return this.#lastSecond.reserve(units);
      await pause(waitMs, ended);
    }
  }

  /** Ends all waits, without a turn. */
  stop(): void {
    this.#stopped.abort();
  }
}
