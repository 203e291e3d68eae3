/** Group commit: items that arrive together share one transaction, and each has its own outcome.
 *
 *  An idle service runs an item at once. A busy one collects the items that arrive while a batch is at the database. So batches grow with
 *  the load and share the cost of a commit. Items without a client that waits also rest for a few milliseconds after a batch, while that makes
 *  batches larger. */
import { assert } from "../lib/assert.ts";
import { ConcurrencyLimit } from "../lib/concurrency-limit.ts";

// Others lock a row for milliseconds. One that is locked for longer, by a node that was suspended in the middle of a change or by a slow
// transaction, must not delay the other items of its batch.
export const LOCK_TIMEOUT_MS = 250;
// Items that run one by one after a batch that met a lock. Only few of them meet it again.
const MAX_SINGLE = 4;
// A batch takes milliseconds. The process, or the database, was suspended or starved.
const PAUSE_MS = 1_000;
// A client that waits for each outcome before its next item pays for one rest in so many batches.
const MAX_RESTLESS = 64;
// Connections that wait for locks until the time limit of their statements.
const MAX_BLOCKED = 2;

export type GroupCommitOptions<Item, Outcome> = {
  /** Runs one transaction for all items and returns the outcomes in their order. It fails soon if it meets a lock, unless `mayWait`. */
  run: (items: readonly Item[], mayWait: boolean) => Promise<readonly Outcome[]>;
  /** Whether the error concerns one item. The other items are then run without it. */
  isItemFault: (error: unknown) => boolean;
  /** Whether another transaction has locked what an item needs. That item then waits by itself, and the others go on. */
  isBlocked?: (error: unknown) => boolean;
  maxBatch: number;
  /** The size of the first batch, for items whose outcome a process that dies takes with it. A batch may have twice as many as the largest one
   *  before it, and no more than this after a failure or a pause: a process that dies while it starts or recovers takes few. */
  firstBatch?: number;
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
   *  of several workers, whose batches would be small otherwise, and for items without a client that waits: larger ones cost less than the wait. */
  restMs?: number | undefined;
  /** For items without a client that waits: rests may be as long as `restMs` until so many items wait. A rest that brought no more items than the last
   *  batch had is not repeated at once. */
  restUpTo?: number | undefined;
  /** Whether an item may rest; without it, all may. One that may not takes those that rest with it. */
  mayRest?: (item: Item) => boolean;
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
  /** The limit of the next batch. */
  #most: number;
  #waitTimer: NodeJS.Timeout | undefined;
  /** The size of the next batch that does not wait for more items. */
  #enough = 0;
  /** Whether one of the waiting items may not rest. */
  #hasUrgent = false;
  #restTimer: NodeJS.Timeout | undefined;
  /** The size of the last batch, and whether items rested before it for as long as they may. */
  #lastSize = 0;
  #isRestLong = false;
  /** The batches from one long rest to the next, and those that are left. */
  #longRestEvery = 1;
  #untilLongRest = 1;
  readonly #blocked = new ConcurrencyLimit(MAX_BLOCKED);

  constructor(options: GroupCommitOptions<Item, Outcome>) {
    this.#options = options;
    this.#most = options.firstBatch ?? options.maxBatch;
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
      this.#hasUrgent ||= this.#options.mayRest?.(item) === false;
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
        this.#rest(batch.length);
        this.#schedule();
      });
    }
    this.#watchWaiting();
  }

  #rest(size: number): void {
    const { restMs, restUpTo } = this.#options;
    if (restMs === undefined) return;
    clearTimeout(this.#restTimer);
    this.#enough = restUpTo === undefined ? size : this.#enoughAfter(size, restUpTo);
    this.#restTimer = setTimeout(() => {
      this.#enough = 0;
      this.#flush();
    }, restMs);
  }

  /** Items rest until they are as many as the last batch had, and from time to time longer, for company. Clients in a closed loop bring none: they
   *  send no more items before they have an outcome. */
  #enoughAfter(size: number, upTo: number): number {
    if (this.#isRestLong) {
      this.#longRestEvery = size > this.#lastSize ? 1 : Math.min(MAX_RESTLESS, 2 * this.#longRestEvery);
      this.#untilLongRest = this.#longRestEvery;
    }
    this.#lastSize = size;
    this.#untilLongRest -= 1;
    this.#isRestLong = this.#untilLongRest <= 0;
    return this.#isRestLong ? upTo : Math.min(size, upTo);
  }

  #takeBatch(): Waiting<Item, Outcome>[] {
    const batch = this.#takeFirst();
    const { mayRest } = this.#options;
    this.#hasUrgent = mayRest !== undefined && this.#waiting.some(({ item }) => !mayRest(item));
    return batch;
  }

  #takeFirst(): Waiting<Item, Outcome>[] {
    const { ownerOf } = this.#options;
    if (ownerOf === undefined || this.#waiting.length <= this.#most) return this.#waiting.splice(0, this.#most);
    const batch = new Set(inTurns(this.#waiting, ({ item }) => ownerOf(item)).slice(0, this.#most));
    this.#waiting = this.#waiting.filter((each) => !batch.has(each));
    return [...batch];
  }

  #mayRun(): boolean {
    const { maxConcurrent, minConcurrentBatch } = this.#options;
    if (this.#waiting.length === 0) return false;
    if (this.#running === 0) return this.#hasUrgent || this.#waiting.length >= this.#enough;
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

  async #runBatch(batch: readonly Waiting<Item, Outcome>[], mayWait = false): Promise<void> {
    const { run, isItemFault, isBlocked = () => false } = this.#options;
    const startedAt = performance.now();
    try {
      const outcomes = await run(
        batch.map(({ item }) => item),
        mayWait,
      );
      assert(outcomes.length === batch.length, "a batch has one outcome for each item");
      this.#adapt(performance.now() - startedAt > PAUSE_MS ? 0 : batch.length);
      this.#atDatabase -= batch.length;
      batch.forEach(({ resolve }, index) => resolve(outcomes[index] as Outcome));
    } catch (error) {
      this.#adapt(0);
      if (!mayWait && isBlocked(error)) await this.#runSingly(batch);
      else if (batch.length > 1 && isItemFault(error)) {
        const middle = batch.length >> 1;
        await this.#runBatch(batch.slice(0, middle));
        await this.#runBatch(batch.slice(middle));
      } else {
        this.#atDatabase -= batch.length;
        for (const { reject } of batch) reject(error);
      }
    }
  }

  /** Sets the limit of the next batch after one of this size; 0: one that failed, or took long. */
  #adapt(size: number): void {
    const { maxBatch, firstBatch = maxBatch } = this.#options;
    this.#most = size === 0 ? firstBatch : Math.min(maxBatch, Math.max(this.#most, 2 * size));
  }

  /** Runs each item of a batch that met a lock in a transaction of its own. An item that had one already waits for the lock beside the
   *  batches that follow. */
  async #runSingly(batch: readonly Waiting<Item, Outcome>[]): Promise<void> {
    if (batch.length === 1) void this.#blocked.run(() => this.#runBatch(batch, true));
    else {
      const singles = new ConcurrencyLimit(MAX_SINGLE);
      await Promise.all(batch.map((each) => singles.run(() => this.#runBatch([each]))));
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
