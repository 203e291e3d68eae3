/** Group commit: items that arrive together share one transaction, and each has its own outcome.
 *
 *  An idle service runs an item at once. A busy one collects the items that arrive while a batch is at the database. So batches grow with
 *  the load and share the cost of a commit, without a timer that would delay a single request. */
import { assert } from "../lib/assert.ts";

export type GroupCommitOptions<Item, Outcome> = {
  /** Runs one transaction for all items and returns the outcomes in their order. */
  run: (items: readonly Item[]) => Promise<readonly Outcome[]>;
  /** Whether the error concerns one item. The other items are then run without it. */
  isItemFault: (error: unknown) => boolean;
  maxBatch: number;
  /** The owner of an item. If more items wait than a batch holds, the owners take turns. */
  ownerOf?: (item: Item) => string;
  /** The limit of waiting items, without those at the database. */
  maxWaiting: number;
  /** The limit of batches at the database at the same time. */
  maxConcurrent: number;
  /** The minimum size of a batch that runs beside another one. */
  minConcurrentBatch: number;
  /** The wait after which a smaller batch runs beside another one, which must be stuck. */
  maxWaitMs: number;
  /** How long items wait after a batch has ended, until they are as many as it had: its clients send their next requests meanwhile. For one
   *  of several workers, whose batches would be small otherwise: larger ones cost less than the wait. */
  restMs?: number | undefined;
};

type Waiting<Item, Outcome> = { item: Item; resolve: (outcome: Outcome) => void; reject: (error: unknown) => void };

/** The queue is full. Nothing was done. */
export class Overloaded extends Error {
  override name = "Overloaded";
}

export class GroupCommit<Item, Outcome> {
  readonly #options: GroupCommitOptions<Item, Outcome>;
  #waiting: Waiting<Item, Outcome>[] = [];
  #running = 0;
  #atDatabase = 0;
  #isScheduled = false;
  #hasWaitedLong = false;
  #waitTimer: NodeJS.Timeout | undefined;
  /** The size of the next batch that does not wait for more items. */
  #enough = 0;
  #restTimer: NodeJS.Timeout | undefined;

  constructor(options: GroupCommitOptions<Item, Outcome>) {
    this.#options = options;
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  /** Items that wait or are at the database. */
  get pending(): number {
    return this.#waiting.length + this.#atDatabase;
  }

  submit(item: Item): Promise<Outcome> {
    if (this.#waiting.length >= this.#options.maxWaiting) return Promise.reject(new Overloaded("too many writes wait for the database"));
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, resolve, reject });
      this.#schedule();
    });
  }

  /** Flushes at the end of this turn of the event loop, so that requests that are read together share a batch. */
  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.#flush();
    });
  }

  #flush(): void {
    while (this.#mayRun()) {
      const batch = this.#takeBatch();
      this.#hasWaitedLong = false;
      clearTimeout(this.#waitTimer);
      this.#waitTimer = undefined;
      this.#running += 1;
      this.#atDatabase += batch.length;
      void this.#runBatch(batch).finally(() => {
        this.#running -= 1;
        this.#atDatabase -= batch.length;
        this.#rest(batch.length);
        this.#schedule();
      });
    }
    this.#watchWaiting();
  }

  #rest(size: number): void {
    const { restMs } = this.#options;
    if (restMs === undefined) return;
    clearTimeout(this.#restTimer);
    this.#enough = size;
    this.#restTimer = setTimeout(() => {
      this.#enough = 0;
      this.#flush();
    }, restMs);
  }

  #takeBatch(): Waiting<Item, Outcome>[] {
    const { maxBatch, ownerOf } = this.#options;
    if (ownerOf === undefined || this.#waiting.length <= maxBatch) return this.#waiting.splice(0, maxBatch);
    const batch = new Set(inTurns(this.#waiting, ({ item }) => ownerOf(item)).slice(0, maxBatch));
    this.#waiting = this.#waiting.filter((each) => !batch.has(each));
    return [...batch];
  }

  #mayRun(): boolean {
    const { maxConcurrent, minConcurrentBatch } = this.#options;
    if (this.#waiting.length === 0) return false;
    if (this.#running === 0) return this.#waiting.length >= this.#enough;
    return this.#running < maxConcurrent && (this.#hasWaitedLong || this.#waiting.length >= minConcurrentBatch);
  }

  #watchWaiting(): void {
    if (this.#waiting.length === 0 || this.#waitTimer !== undefined) return;
    this.#waitTimer = setTimeout(() => {
      this.#waitTimer = undefined;
      this.#hasWaitedLong = true;
      this.#flush();
    }, this.#options.maxWaitMs);
  }

  async #runBatch(batch: readonly Waiting<Item, Outcome>[]): Promise<void> {
    try {
      const outcomes = await this.#options.run(batch.map(({ item }) => item));
      assert(outcomes.length === batch.length, "a batch has one outcome for each item");
      batch.forEach(({ resolve }, index) => resolve(outcomes[index] as Outcome));
    } catch (error) {
      if (batch.length > 1 && this.#options.isItemFault(error)) {
        const middle = batch.length >> 1;
        await this.#runBatch(batch.slice(0, middle));
        await this.#runBatch(batch.slice(middle));
      } else {
        for (const { reject } of batch) reject(error);
      }
    }
  }
}

/** Orders items so that the first items of all owners precede their second ones, and so on. */
function inTurns<T>(items: readonly T[], ownerOf: (item: T) => string): T[] {
  const counts = new Map<string, number>();
  const rounds: T[][] = [];
  for (const item of items) {
    const owner = ownerOf(item);
    const round = counts.get(owner) ?? 0;
    counts.set(owner, round + 1);
    (rounds[round] ??= []).push(item);
  }
  return rounds.flat();
}
