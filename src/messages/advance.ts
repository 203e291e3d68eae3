/** The only writer of a status. A change is decided on one version of a message, and is written only if the message still has that version.
 *  Status, times, sequence, timeline, queue and usage are written together, and many changes share one commit. */
import { handOver, type CommittedEvent, type WebhookHandover } from "../events/handover.ts";
import type { WakeWebhooks } from "../events/publish.ts";
import { existingEntries } from "../events/queries.ts";
import type { Clock } from "../database/database-clock.ts";
import { ConnectionLost, isRowRefused, type Database, type Queryable, type Tx } from "../database/database.ts";
import { findOut } from "../database/find-out.ts";
import { GroupCommit, LOCK_TIMEOUT_MS } from "../database/group-commit.ts";
import { isLockRefused } from "../database/short-locks.ts";
import { moment, type Moment } from "../lib/time.ts";
import type { Log } from "../model/log.ts";
import { writeChanges } from "./advance-statement.ts";
import type { Change } from "./change.ts";
import { logOutcome } from "./log-outcome.ts";
import { messageRecord, type Message } from "./message.ts";

/** Writes the changes that still apply, in the transaction of `db`. Returns for each whether it was written. */
export async function advance(db: Queryable, changes: readonly Change[]): Promise<boolean[]> {
  const { done } = await writeChanges(db, changes);
  return changes.map((_, index) => done.has(index));
}

/** Writes changes of messages that the transaction has locked, which therefore still apply. */
export async function advanceLocked(tx: Tx, changes: readonly Change[]): Promise<void> {
  if (!(await advance(tx, changes)).every(Boolean)) throw new Error("a locked message changed");
}

const MAX_BATCH = 100;
// A process that dies between the commit of `sending` and the bytes leaves messages of unknown outcome. Batches of this size always would take a
// quarter more processor time (docs/decisions/0066-batches-of-sending.md).
const FIRST_BATCH = 4;
// Lanes and receipts have limits of their own. This limit is above their sum.
const MAX_WAITING = 20_000;
// Nearly as many as keep a lane from claiming more. The number falls with every commit, and rises again.
const MANY_PENDING = 48;
const BUSY_MS = 250;

// Outcomes and receipts of SMS wait for the next `sending`, or for each other. A receipt of WhatsApp must not: on another node, a `read` could
// overtake a `delivered` that rests.
const REST = {
  restMs: 10,
  restUpTo: 64,
  mayRest: ({ after: { channel, status } }: Change) => channel === "sms" && (status === "sent" || status === "delivered"),
};

// Two batches of each kind run at the same time.
const LAST_CHANGES = 8;

/** `watch` receives every change of a status, for the metrics. */
export type AdvancerParts = {
  db: Database;
  clock: Clock;
  wakeWebhooks: WakeWebhooks;
  /** Undefined in a process that does not deliver webhooks. */
  webhookHandover?: WebhookHandover | undefined;
  watch: { advanced(after: Message): void };
  /** Undefined in a command, which prints what it does. */
  log?: Log | undefined;
};

/** Writes changes by group commit: changes that arrive together share a transaction. */
export class Advancer {
  readonly #parts: AdvancerParts;
  readonly #urgent: GroupCommit<Change, Moment | false>;
  readonly #others: GroupCommit<Change, Moment | false>;
  #busyAtMs = Number.NEGATIVE_INFINITY;
  /** One change of each of the last batches. Batches that overlap commit in any order. */
  readonly #lastChanges: Change[] = [];

  constructor(parts: AdvancerParts) {
    this.#parts = parts;
    parts.db.history.addWitness((db) => this.#hasLastChanges(db));
    const options = {
      run: (changes: readonly Change[], mayWait: boolean) => this.#commit(changes, mayWait ? 0 : LOCK_TIMEOUT_MS),
      isItemFault: isRowRefused,
      isBlocked: isLockRefused,
      maxWaiting: MAX_WAITING,
      firstBatch: FIRST_BATCH,
    };
    this.#urgent = new GroupCommit({ ...options, maxBatch: 50, maxConcurrent: 2, minConcurrentBatch: 10, maxWaitMs: 10 });
    this.#others = new GroupCommit({ ...options, ...REST, maxBatch: MAX_BATCH, maxConcurrent: 2, minConcurrentBatch: 32, maxWaitMs: 50 });
  }

  /** Whether many changes wait now, or did a moment ago: messages then wait for the database, and not for their carriers. */
  get isBusy(): boolean {
    return this.pending >= MANY_PENDING || performance.now() - this.#busyAtMs < BUSY_MS;
  }

  /** The number of changes that wait or are being written. */
  get pending(): number {
    return this.#others.pending + this.#urgent.pending;
  }

  now(): number {
    return this.#parts.clock.now();
  }

  /** Resolves to the moment at which the statement that wrote the change began. False means that the message has changed since the decision. */
  submit(change: Change): Promise<Moment | false> {
    if (this.pending >= MANY_PENDING) this.#busyAtMs = performance.now();
    // A verification code does not wait for the changes of a campaign.
    return (change.before.priority === "high" ? this.#urgent : this.#others).submit(change);
  }

  async #commit(changes: readonly Change[], lockTimeoutMs: number): Promise<(Moment | false)[]> {
    const { db, wakeWebhooks, webhookHandover, watch, log } = this.#parts;
    // All batches lock messages in the order of their ids, so two batches cannot deadlock.
    const order = changes.map((_, index) => index).toSorted((a, b) => compareIds(changes[a], changes[b]));
    const sorted = order.map((index) => changes[index] as Change);
    let done: ReadonlySet<number>;
    const startedAt = moment();
    try {
      const offer = webhookHandover?.offer(sorted.map(({ before }) => before));
      const written = await writeChanges(db, sorted, lockTimeoutMs, offer);
      ({ done } = written);
      if (webhookHandover !== undefined) handOver(webhookHandover, offer, written, sorted, eventOf);
      if (written.deliveries.length > 0) wakeWebhooks(written.deliveries);
    } catch (error) {
      if (!(error instanceof ConnectionLost)) throw error;
      const found = await findOut(db, error, () => existingEntries(db, sorted.map(toOwned)));
      if (found === undefined) throw error;
      done = new Set(found.map(({ ordinal }) => ordinal - 1));
      wakeWebhooks();
    }
    const outcomes: (Moment | false)[] = [];
    order.forEach((index, position) => {
      const isDone = done.has(position);
      outcomes[index] = isDone && startedAt;
      if (!isDone) return;
      const change = changes[index] as Change;
      if (change.after.sequence > change.before.sequence) watch.advanced(change.after);
      if (log !== undefined) logOutcome(log, change);
    });
    const last = order.findLast((_, position) => done.has(position));
    if (last !== undefined && this.#lastChanges.push(changes[last] as Change) > LAST_CHANGES) this.#lastChanges.shift();
    return outcomes;
  }

  /** A server without one of these changes was recovered to a time before them: their messages may be sent a second time. */
  async #hasLastChanges(db: Queryable): Promise<boolean> {
    const found = this.#lastChanges.length === 0 ? [] : await existingEntries(db, this.#lastChanges.map(toOwned));
    return found.length === this.#lastChanges.length;
  }
}

const eventOf = ({ before, after, entry }: Change): CommittedEvent => ({
  id: entry.id,
  environment: after.environment,
  type: entry.type,
  sequence: after.sequence,
  record: JSON.stringify(messageRecord(after)),
  previous_status: entry.previousStatus,
  fallback_message_id: null,
  trace: before.trace,
});

/** Whether the change is stored: its entry is in the timeline. */
export const isWritten = async (db: Queryable, change: Change): Promise<boolean> =>
  (await existingEntries(db, [toOwned(change)])).length > 0;

const toOwned = ({ before: { accountId, environment }, entry }: Change) => ({ accountId, environment, entry });
const compareIds = (a: Change | undefined, b: Change | undefined): number => (a && b ? Buffer.compare(a.before.id, b.before.id) : 0);
