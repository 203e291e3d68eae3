/** How an accepted message gets from the request that brought it to the one that delivers it. */
import type { Change } from "./change.ts";
import type { Message } from "./message.ts";

/** A place in the lane of this process. Where the message can go to its carrier the moment it is stored, it is stored as one that
 *  does: the step to `sending` is part of its birth, and a commit of its own is saved. */
export type Reservation = { written: Change | null };

export type Handover = {
  /** How long a message belongs to the process that has it in hand; then anybody may take it. */
  readonly leaseMs: number;
  /** Keeps a place in the lane of this process, where there is one. */
  reserve(lane: string, message: Message): Reservation | undefined;
  /** A place that was kept is not needed: the message was not stored. */
  release(lane: string, reservation: Reservation): void;
  /** Nobody knows whether the message was stored; where it was, it is on record as going to its carrier, and does not. */
  withdraw(lane: string, message: Message, reservation: Reservation): void;
  /** The message is stored, and goes to the place kept for it; or waits in the queue, and whoever works there should look. */
  stored(lane: string, message: Message, reservation?: Reservation): void;
};
