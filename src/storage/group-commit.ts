/** Group commit: items that arrive together share one transaction, and each keeps its own outcome.
 *
 *  An idle service runs an item at once. A busy one collects what arrives while a batch is at the database, so batches
 *  grow with the load and the cost of a commit is shared, without a timer that would slow a single request. */
import { assert } from "../lib/assert.ts";

export type GroupCommitOptions<Item, Outcome> = {
  /** One transaction for all items; outcomes in their order. */
  run: (items: readonly Item[]) => Promise<readonly Outcome[]>;
  /** The error is about some row: its neighbours are run without it. */
  isItemFault: (error: unknown) => boolean;
  maxBatch: number;
  /** Items that may wait besides those at the database. */
  maxWaiting: number;
  /** Batches at the database at the same time. */
  maxConcurrent: number;
  /** A further batch goes beside a running one only when it is worth a transaction of its own, */
  minConcurrentBatch: number;
  /** or when it has waited so long that the running one must be stuck. */
  maxWaitMs: number;
};

type Waiting<Item, Outcome> = { item: Item; resolve: (outcome: Outcome) => void; reject: (error: unknown) => void };

/** The queue is full; nothing was done. */
export class Overloaded extends Error {
  override name = "Overloaded";
}

export class GroupCommit<Item, Outcome> {
  readonly #options: GroupCommitOptions<Item, Outcome>;
  readonly #waiting: Waiting<Item, Outcome>[] = [];
  #running = 0;
  #atDatabase = 0;
  #isScheduled = false;
  #isImpatient = false;
  #patience: NodeJS.Timeout | undefined;

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

  /** At the end of this turn of the event loop, so that requests read in one go share a batch. */
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
      const batch = this.#waiting.splice(0, this.#options.maxBatch);
      this.#isImpatient = false;
      clearTimeout(this.#patience);
      this.#patience = undefined;
      this.#running += 1;
      this.#atDatabase += batch.length;
      void this.#runBatch(batch).finally(() => {
        this.#running -= 1;
        this.#atDatabase -= batch.length;
        this.#schedule();
      });
    }
    this.#watchWaiting();
  }

  #mayRun(): boolean {
    const { maxConcurrent, minConcurrentBatch } = this.#options;
    if (this.#waiting.length === 0) return false;
    return this.#running === 0 || (this.#running < maxConcurrent && (this.#isImpatient || this.#waiting.length >= minConcurrentBatch));
  }

  #watchWaiting(): void {
    if (this.#waiting.length === 0 || this.#patience !== undefined) return;
    this.#patience = setTimeout(() => {
      this.#patience = undefined;
      this.#isImpatient = true;
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
