/** The handover of a message from the request that accepts it to the lane of this node that delivers it. */
import type { Change } from "./change.ts";
import type { Message } from "./message.ts";

/** A place in a lane of this node. `written` is the change to `sending`, where the lane can submit the message as soon as it is stored.
 *  The message is then stored as `sending`, which saves a second commit. */
export type Reservation = { written: Change | null };

export type Handover = {
  /** How long this node owns a message that it stores with a reservation. After that any node may claim the message. */
  readonly leaseMs: number;
  /** Reserves a place in the lane of this node; undefined where the message must wait in the queue. */
  reserve(lane: string, message: Message): Reservation | undefined;
  /** Frees a place whose message was not stored. */
  release(lane: string, reservation: Reservation): void;
  /** Frees a place whose message may or may not be stored. A message that is stored as `sending` returns to the queue, unsubmitted. */
  withdraw(lane: string, message: Message, reservation: Reservation): void;
  /** Hands over a stored message. With a reservation the lane takes it; without one the lanes of all nodes are notified. */
  stored(lane: string, message: Message, reservation?: Reservation): void;
};
