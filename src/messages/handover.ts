/** How an accepted message gets from the request that brought it to the one that delivers it. */
import type { Message } from "./message.ts";

export type Handover = {
  /** How long a message belongs to the process that has it in hand; then anybody may take it. */
  readonly leaseMs: number;
  /** Keeps a place in the lane of this process, where there is one. */
  reserve(lane: string, message: Message): boolean;
  /** A place that was kept is not needed: the message was not stored. */
  release(lane: string): void;
  /** The message is stored, and goes to the place kept for it; or waits in the queue, and whoever works there should look. */
  stored(lane: string, message: Message, isReserved: boolean): void;
};
