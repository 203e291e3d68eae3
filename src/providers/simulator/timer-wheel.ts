/** Items that are due later, for thousands of them a second: one timer for all items, and one call for all that are due in a tick. */

// A timer for each item would wake the process for each. A simulated carrier may be a few milliseconds early.
const TICK_MS = 5;
// The longest time that a timer of Node.js can wait; a longer one would fire at once.
const MAX_TIMER_MS = 2 ** 31 - 1;

const tickAt = (timeMs: number): number => Math.floor(timeMs / TICK_MS);

export class TimerWheel<Item> {
  readonly #buckets = new Map<number, Item[]>();
  readonly #onDue: (items: readonly Item[]) => void;
  #armedFor = Infinity;
  #timer: NodeJS.Timeout | undefined;
  #immediate: NodeJS.Immediate | undefined;

  /** `onDue` gets the due items in the order of their times, and may add further items. */
  constructor(onDue: (items: readonly Item[]) => void) {
    this.#onDue = onDue;
  }

  /** An item that is due within this tick comes in the next turn of the event loop, never in the current one. */
  add(item: Item, afterMs: number): void {
    const tick = tickAt(performance.now() + afterMs);
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
    clearTimeout(this.#timer);
    clearImmediate(this.#immediate);
    this.#armedFor = tick;
    if (tick === Infinity) return;
    const waitMs = Math.ceil(tick * TICK_MS - performance.now());
    if (waitMs <= 0) this.#immediate = setImmediate(this.#fire);
    else this.#timer = setTimeout(this.#fire, Math.min(waitMs, MAX_TIMER_MS));
  }

  readonly #fire = (): void => {
    const due = this.#take(tickAt(performance.now()));
    let next = Infinity;
    for (const tick of this.#buckets.keys()) next = Math.min(next, tick);
    this.#arm(next);
    if (due.length > 0) this.#onDue(due);
  };
}
