/** The messages of a lane that wait for its window, and the room that they leave. A message is reserved while it is being stored, then waits
 *  for the window, and is in the window from the first byte that may leave until the carrier responds. Its lease lasts
 *  until it is settled.
 *
 *  The lower priorities may fill only a part of the window, so that a verification code finds room beside any number of bulk messages. */
import type { Clock } from "../database/database-clock.ts";
import type { Database } from "../database/database.ts";
import { PRIORITIES, type Priority } from "../messages/message.ts";
import { idKey, type MessageId } from "../model/id.ts";
import type { EventOf } from "../model/log-events.ts";
import { setDueTimes, type Claimed } from "./queue.ts";

// Messages beyond the window: claimed before there is room in it, or responded to and not yet settled.
const MAX_BEYOND_WINDOW = 100;
// The part of the window, and of the lane, that each priority may fill.
const SHARE: Readonly<Record<Priority, number>> = { high: 1, normal: 0.9, bulk: 0.7 };

export type LaneLoadParts = {
  /** How many messages the carrier accepts before it responds. A connection may change it. */
  window: () => number;
  /** How many messages of the lane this node has leased. */
  owned: () => number;
};

export class LaneLoad {
  readonly #parts: LaneLoadParts;
  readonly #waiting: Record<Priority, Claimed[]> = { high: [], normal: [], bulk: [] };
  #reserved = 0;
  #inWindow = 0;

  constructor(parts: LaneLoadParts) {
    this.#parts = parts;
  }

  get isEmpty(): boolean {
    return this.#parts.owned() === 0 && this.#reserved === 0;
  }

  capacity(priority: Priority): number {
    const window = this.#parts.window();
    return Math.ceil((window + Math.min(window, MAX_BEYOND_WINDOW)) * SHARE[priority]);
  }

  room(priority: Priority): number {
    return this.capacity(priority) - this.#parts.owned() - this.#reserved;
  }

  reserve(): void {
    this.#reserved += 1;
  }

  unreserve(): void {
    this.#reserved -= 1;
  }

  /** Adds a message that waits for room in the window. */
  add(claimed: Claimed): void {
    this.#waiting[claimed.message.priority].push(claimed);
  }

  /** Removes the messages that only wait, and returns them. */
  removeWaiting(): Claimed[] {
    return PRIORITIES.flatMap((priority) => this.#waiting[priority].splice(0));
  }

  leaveWindow(): void {
    this.#inWindow -= 1;
  }

  /** Moves the most urgent waiting message that fits into the window, and returns it. */
  next(): Claimed | undefined {
    const window = this.#parts.window();
    const priority = PRIORITIES.find((each) => this.#waiting[each].length > 0 && this.#inWindow < Math.ceil(window * SHARE[each]));
    if (priority === undefined) return undefined;
    this.#inWindow += 1;
    return this.#waiting[priority].shift();
  }
}

/** A message, and the time at which its lease was last taken or renewed. */
type Lease = { id: MessageId; leasedAtMs: number };

export type LaneLeasesParts = {
  db: Database;
  clock: Clock;
  leaseMs: number;
  onError: (event: EventOf<"error">, message: string, error: unknown) => void;
};

/** The leases of the messages that this node owns in a lane. A lease is a due time in the future. It is renewed until the message is settled,
 *  or replaced by the time at which any node may claim the message. */
export class LaneLeases {
  readonly #parts: LaneLeasesParts;
  readonly #leases = new Map<string, Lease>();
  readonly #renewEveryMs: number;
  readonly #renewing: NodeJS.Timeout;
  /** Messages that return to the queue with the next statement, and that statement. */
  readonly #returning: { id: MessageId; dueAtMs: number }[] = [];
  #return: Promise<void> | undefined;

  constructor(parts: LaneLeasesParts) {
    this.#parts = parts;
    // Two renewals may fail before the lease ends.
    this.#renewEveryMs = parts.leaseMs / 3;
    this.#renewing = setInterval(() => void this.#renew(), this.#renewEveryMs);
  }

  /** The number of messages that this node owns. */
  get size(): number {
    return this.#leases.size;
  }

  has(id: MessageId): boolean {
    return this.#leases.has(idKey(id));
  }

  /** `ageMs`: how long ago the lease was taken. */
  own(id: MessageId, ageMs = 0): void {
    this.#leases.set(idKey(id), { id, leasedAtMs: performance.now() - ageMs });
  }

  disown(id: MessageId): void {
    this.#leases.delete(idKey(id));
  }

  /** Returns a message to the queue, due at this time. Many messages come back at once when a link closes, and share a statement. A message
   *  that cannot be returned is claimed again after its lease. */
  async putBack(id: MessageId, dueAtMs: number): Promise<void> {
    this.#returning.push({ id, dueAtMs });
    await (this.#return ??= this.#putBackAll());
  }

  stop(): void {
    clearInterval(this.#renewing);
  }

  async #putBackAll(): Promise<void> {
    await new Promise(setImmediate);
    this.#return = undefined;
    await setDueTimes(this.#parts.db, this.#returning.splice(0)).catch((error: unknown) =>
      this.#parts.onError("delivery.release_failed", "claimed messages could not be returned to the queue", error),
    );
  }

  async #renew(): Promise<void> {
    const nowMs = performance.now();
    const due = Array.from(this.#leases.values()).filter(({ leasedAtMs }) => leasedAtMs < nowMs - this.#renewEveryMs);
    if (due.length === 0) return;
    const dueAtMs = this.#parts.clock.now() + this.#parts.leaseMs;
    try {
      await setDueTimes(
        this.#parts.db,
        due.map(({ id }) => ({ id, dueAtMs })),
      );
      for (const lease of due) lease.leasedAtMs = nowMs;
    } catch (error) {
      this.#parts.onError("delivery.lease_renewal_failed", "the leases of messages in hand could not be renewed", error);
    }
  }
}
