/** The handover of a message from the request that accepts it to the lane of this node that delivers it. */
import type { Message } from "./message.ts";

export type Handover = {
  /** How long this node owns a message that it stores with a reservation. After that any node may claim the message. */
  readonly leaseMs: number;
  /** Reserves a place in the lane of this node; false if the message must wait in the queue. */
  reserve(lane: string, message: Message): boolean;
  /** Frees a place whose message was not stored, or may not be. A message that is stored all the same is due after its lease. */
  release(lane: string): void;
  /** Gives a stored message the place that was reserved for it. */
  take(lane: string, message: Message): void;
  /** Notifies the lanes of all nodes that stored messages wait in the queue. */
  queued(lane: string, messages: readonly Message[]): void;
  /** How many messages of an account this node may accept at a time, while others of its messages wait for this node and not for their carriers.
   *  `account`: its id as a key. */
  roomFor(account: string): number;
};
