/** Items that are due later, for thousands of them a second: one timer for all items, and one call for all that are due in a tick. */

// A timer for each item would wake the process for each. A simulated carrier may be a few milliseconds early.
const TICK_MS = 5;
// The longest time that a timer of Node.js can wait; a longer one would fire at once.
const MAX_TIMER_MS = 2 ** 31 - 1;

const tickAt = (timeMs: number): number => Math.floor(timeMs / TICK_MS);

/** The clock of a wheel, in milliseconds. `after` runs a function later, in another turn of the event loop, and returns how to cancel that. */
export type Timers = { now: () => number; after: (ms: number, run: () => void) => () => void };

export const REAL_TIMERS: Timers = {
  now: () => performance.now(),
  after(ms, run) {
    if (ms <= 0) {
      const immediate = setImmediate(run);
      return () => clearImmediate(immediate);
    }
    const timer = setTimeout(run, Math.min(ms, MAX_TIMER_MS));
    return () => clearTimeout(timer);
  },
};

/** Resolves when the promise does, or after the limit. Leaves no timer. */
export async function waitFor(promise: Promise<unknown>, limitMs: number, timers: Timers): Promise<void> {
  const limit = Promise.withResolvers<void>();
  const cancel = timers.after(limitMs, limit.resolve);
  await Promise.race([promise, limit.promise]);
  cancel();
}

export class TimerWheel<Item> {
  readonly #buckets = new Map<number, Item[]>();
  readonly #onDue: (items: readonly Item[]) => void;
  readonly #timers: Timers;
  #armedFor = Infinity;
  #disarm = (): void => undefined;

  /** `onDue` gets the due items in the order of their times, and may add further items. */
  constructor(onDue: (items: readonly Item[]) => void, timers = REAL_TIMERS) {
    this.#onDue = onDue;
    this.#timers = timers;
  }

  /** An item that is due within this tick comes in the next turn of the event loop, never in the current one. */
  add(item: Item, afterMs: number): void {
    const tick = tickAt(this.#timers.now() + afterMs);
    const bucket = this.#buckets.get(tick);
    if (bucket !== undefined) {
      bucket.push(item);
      return;
    }
    this.#buckets.set(tick, [item]);
    if (tick < this.#armedFor) this.#arm(tick);
  }

  /** Removes and returns all items, due or not, in the order of their times. */
  drain(): Item[] {
    this.#arm(Infinity);
    return this.#take(Infinity);
  }

  #take(untilTick: number): Item[] {
    const ticks = Array.from(this.#buckets.keys()).filter((tick) => tick <= untilTick);
    return ticks
      .toSorted((a, b) => a - b)
      .flatMap((tick) => {
        const bucket = this.#buckets.get(tick) ?? [];
        this.#buckets.delete(tick);
        return bucket;
      });
  }

  #arm(tick: number): void {
    this.#disarm();
    this.#armedFor = tick;
    if (tick !== Infinity) this.#disarm = this.#timers.after(Math.ceil(tick * TICK_MS - this.#timers.now()), this.#fire);
  }

  readonly #fire = (): void => {
    const due = this.#take(tickAt(this.#timers.now()));
    let next = Infinity;
    for (const tick of this.#buckets.keys()) next = Math.min(next, tick);
    this.#arm(next);
    if (due.length > 0) this.#onDue(due);
  };
}
