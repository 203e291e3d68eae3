/** Timers whose time passes only when a test lets it pass. */
import { setImmediate as turn } from "node:timers/promises";
import type { Timers } from "../../src/providers/simulator/timer-wheel.ts";

export class ManualTimers implements Timers {
  #nowMs = 0;
  readonly #waiting = new Set<{ atMs: number; run: () => void }>();

  readonly now = (): number => this.#nowMs;

  readonly after = (ms: number, run: () => void): (() => void) => {
    const timer = { atMs: this.#nowMs + Math.max(0, ms), run };
    this.#waiting.add(timer);
    return () => void this.#waiting.delete(timer);
  };

  /** Lets time pass from one timer to the next until the promise settles. */
  async until<T>(promise: Promise<T>): Promise<T> {
    let isSettled = false;
    const settle = (): void => void (isSettled = true);
    promise.then(settle, settle);
    for (;;) {
      await turn();
      if (isSettled) return promise;
      this.#runNext();
    }
  }

  #runNext(): void {
    const [next] = [...this.#waiting].toSorted((one, other) => one.atMs - other.atMs);
    if (next === undefined) return;
    this.#waiting.delete(next);
    this.#nowMs = Math.max(this.#nowMs, next.atMs);
    next.run();
  }
}
