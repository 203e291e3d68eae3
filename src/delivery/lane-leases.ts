/** The leases of the messages that this node owns in a lane. A lease is a due time in the future. It is renewed until the message is settled,
 *  or replaced by the time at which any node may claim the message. */
import type { Clock } from "../database/database-clock.ts";
import type { Database } from "../database/database.ts";
import { idKey, type MessageId } from "../model/id.ts";
import type { EventOf } from "../model/log-events.ts";
import { setDueTimes } from "./queue.ts";

/** A message, and the time at which its lease was last taken or renewed. */
type Lease = { id: MessageId; leasedAtMs: number };

export type LaneLeasesParts = {
  db: Database;
  clock: Clock;
  leaseMs: number;
  onError: (event: EventOf<"error">, message: string, error: unknown) => void;
};

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

  own(id: MessageId): void {
    this.#leases.set(idKey(id), { id, leasedAtMs: performance.now() });
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
