/** The handover of a message from the request that accepts it to the lane that delivers it: of this process, or of the worker of this machine
 *  that has its link. */
import type { Message } from "./message.ts";

/** A place in a lane that is reserved for one message. */
export type LanePlace = {
  /** Frees the place: its message was not stored, or may not be. A message that is stored all the same is due after its lease. */
  release(): void;
  /** Gives the place to its message, which is stored. */
  take(message: Message): void;
};

export type Handover = {
  /** The lease of a message that is stored with a reservation. After that any node may claim the message. */
  readonly leaseMs: number;
  /** Reserves a place in the lane. Undefined if the message must wait in the queue. */
  reserve(lane: string, message: Message): LanePlace | undefined;
  /** Notifies the lanes of all nodes that stored messages wait in the queue. */
  queued(lane: string, messages: readonly Message[]): void;
  /** How many messages of an account this node may accept at a time, while others of its messages wait for this node and not for their carriers.
   *  `account`: its id as a key. */
  roomFor(account: string): number;
};
