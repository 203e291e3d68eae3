/** The messages of a lane and the room that they leave. A message is reserved while it is being stored, then waits for the window,
 *  and is in the window from the first byte that may leave until the carrier responds. Its lease lasts until it is settled.
 *
 *  The lower priorities may fill only a part of the window, so that a verification code finds room beside any number of bulk messages. */
import { idKey, type MessageId } from "../model/id.ts";
import { PRIORITIES, type Message, type Priority } from "../messages/message.ts";
import type { Claimed } from "./queue.ts";

/** A message that this node owns, and the time at which its lease was last taken or renewed. */
type Lease = { id: MessageId; leasedAtMs: number };

// Messages beyond the window: claimed before there is room in it, or responded to and not yet settled.
const MAX_BEYOND_WINDOW = 100;
// The part of the window, and of the lane, that each priority may fill.
const SHARE: Readonly<Record<Priority, number>> = { high: 1, normal: 0.9, bulk: 0.7 };

export class LaneLoad {
  readonly #window: () => number;
  readonly #leases = new Map<string, Lease>();
  readonly #waiting: Record<Priority, Claimed[]> = { high: [], normal: [], bulk: [] };
  #reserved = 0;
  #inWindow = 0;

  /** `window`: how many messages the carrier accepts before it responds. A connection may change it. */
  constructor(window: () => number) {
    this.#window = window;
  }

  /** The messages that this node owns. */
  get size(): number {
    return this.#leases.size;
  }

  get isEmpty(): boolean {
    return this.#leases.size === 0 && this.#reserved === 0;
  }

  capacity(priority: Priority): number {
    const window = this.#window();
    return Math.ceil((window + Math.min(window, MAX_BEYOND_WINDOW)) * SHARE[priority]);
  }

  room(priority: Priority): number {
    return this.capacity(priority) - this.#leases.size - this.#reserved;
  }

  reserve(): void {
    this.#reserved += 1;
  }

  unreserve(): void {
    this.#reserved -= 1;
  }

  own(id: MessageId, nowMs: number): void {
    this.#leases.set(idKey(id), { id, leasedAtMs: nowMs });
  }

  disown(id: MessageId): void {
    this.#leases.delete(idKey(id));
  }

  /** Adds a message that waits for room in the window. */
  add(claimed: Claimed, nowMs: number): void {
    this.own(claimed.message.id, nowMs);
    this.#waiting[claimed.message.priority].push(claimed);
  }

  /** Removes the messages that only wait, and returns them. */
  removeWaiting(): Message[] {
    const messages = PRIORITIES.flatMap((priority) => this.#waiting[priority].splice(0)).map(({ message }) => message);
    for (const { id } of messages) this.disown(id);
    return messages;
  }

  leaveWindow(): void {
    this.#inWindow -= 1;
  }

  /** Moves the most urgent waiting message into the window, where it fits, and returns it. */
  next(): Claimed | undefined {
    const priority = PRIORITIES.find((each) => this.#waiting[each].length > 0 && this.#fitsWindow(each));
    if (priority === undefined) return undefined;
    this.#inWindow += 1;
    return this.#waiting[priority].shift();
  }

  /** The leases that were last renewed before this time. */
  leasedBefore(timeMs: number): Lease[] {
    return Array.from(this.#leases.values()).filter(({ leasedAtMs }) => leasedAtMs < timeMs);
  }

  #fitsWindow(priority: Priority): boolean {
    return this.#inWindow < Math.ceil(this.#window() * SHARE[priority]);
  }
}
