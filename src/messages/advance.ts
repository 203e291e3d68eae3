/** The only writer of a status. A change is decided on what is known of a message, and holds only if that is still so when
 *  it is written: status, time fields, sequence, timeline, queue and counts together, many changes in one commit. */
import { existingEntries } from "../events/queries.ts";
import type { Clock } from "../storage/database-clock.ts";
import { ConnectionLost, isRowRefused, type Database, type Queryable } from "../storage/database.ts";
import { findOut } from "../storage/find-out.ts";
import { GroupCommit } from "../storage/group-commit.ts";
import type { Change } from "./change.ts";
import type { Message } from "./message.ts";
import { writeChanges } from "./advance-statement.ts";

/** Writes the changes that still hold, all in the transaction of `db`; tells for each whether it did. */
export async function advance(db: Queryable, changes: readonly Change[]): Promise<boolean[]> {
  const { done } = await writeChanges(db, changes);
  return changes.map((_, index) => done.has(index));
}

const MAX_BATCH = 100;
// Lanes and receipts are bounded by themselves; this is their sum and more.
const MAX_WAITING = 20_000;

/** Told of every change of a status. */
export type AdvanceWatch = { advanced(after: Message): void };

export type AdvancerParts = { db: Database; clock: Clock; wakeWebhooks: () => void; watch: AdvanceWatch };

/** Advances by group commit: what comes together shares a transaction. */
export class Advancer {
  readonly #db: Database;
  readonly #clock: Clock;
  readonly #wakeWebhooks: () => void;
  readonly #watch: AdvanceWatch;
  readonly #urgent: GroupCommit<Change, boolean>;
  readonly #others: GroupCommit<Change, boolean>;

  constructor({ db, clock, wakeWebhooks, watch }: AdvancerParts) {
    this.#db = db;
    this.#clock = clock;
    this.#wakeWebhooks = wakeWebhooks;
    this.#watch = watch;
    const options = { run: (changes: readonly Change[]) => this.#commit(changes), isItemFault: isRowRefused, maxWaiting: MAX_WAITING };
    this.#urgent = new GroupCommit({ ...options, maxBatch: 50, maxConcurrent: 2, minConcurrentBatch: 10, maxWaitMs: 10 });
    this.#others = new GroupCommit({ ...options, maxBatch: MAX_BATCH, maxConcurrent: 2, minConcurrentBatch: 32, maxWaitMs: 50 });
  }

  /** Changes that wait or are at the database. */
  get pending(): number {
    return this.#others.pending + this.#urgent.pending;
  }

  now(): number {
    return this.#clock.now();
  }

  /** Whether the change was made: false when the message is no longer what it was decided on. */
  submit(change: Change): Promise<boolean> {
    // A verification code does not wait for the changes of a campaign.
    return (change.before.priority === "high" ? this.#urgent : this.#others).submit(change);
  }

  async #commit(changes: readonly Change[]): Promise<boolean[]> {
    // In one order everywhere: two batches that meet wait for each other, and never in a circle.
    const order = changes.map((_, index) => index).toSorted((a, b) => compareIds(changes[a], changes[b]));
    const sorted = order.map((index) => changes[index] as Change);
    let done: ReadonlySet<number>;
    try {
      const written = await writeChanges(this.#db, sorted);
      ({ done } = written);
      if (written.hasDeliveries) this.#wakeWebhooks();
    } catch (error) {
      if (!(error instanceof ConnectionLost)) throw error;
      const found = await findOut(this.#db, error, () => existingEntries(this.#db, sorted.map(toOwned)));
      if (found === undefined) throw error;
      done = new Set(found.map(({ ordinal }) => ordinal - 1));
      this.#wakeWebhooks();
    }
    const outcomes: boolean[] = [];
    order.forEach((index, place) => {
      const isDone = done.has(place);
      outcomes[index] = isDone;
      const { before, after } = changes[index] as Change;
      if (isDone && after.sequence > before.sequence) this.#watch.advanced(after);
    });
    return outcomes;
  }
}

const toOwned = ({ before: { accountId, environment }, entry }: Change) => ({ accountId, environment, entry });
const compareIds = (a: Change | undefined, b: Change | undefined): number => (a && b ? Buffer.compare(a.before.id, b.before.id) : 0);
