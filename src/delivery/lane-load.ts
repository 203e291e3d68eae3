/** The messages of a lane that wait for its window, and the room that they leave. A message is reserved while it is being stored, then waits
 *  for the window, and is in the window from the first byte that may leave until the carrier responds. Its lease (`lane-leases.ts`) lasts
 *  until it is settled.
 *
 *  The lower priorities may fill only a part of the window, so that a verification code finds room beside any number of bulk messages. */
import { PRIORITIES, type Priority } from "../messages/message.ts";
import type { Claimed } from "./queue.ts";

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
    const priority = PRIORITIES.find((each) => this.#waiting[each].length > 0 && this.#fitsWindow(each));
    if (priority === undefined) return undefined;
    this.#inWindow += 1;
    return this.#waiting[priority].shift();
  }

  #fitsWindow(priority: Priority): boolean {
    return this.#inWindow < Math.ceil(this.#parts.window() * SHARE[priority]);
  }
}
