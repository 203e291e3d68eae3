/** The entry of a message in the delivery queue: its lane, its state and its due time. */

/** A message with a lower rank is submitted first. */
export const PRIORITY_RANK = { high: 0, normal: 1, bulk: 2 } as const;

/** The lane of scheduled messages. No link can have this name. */
export const SCHEDULED_LANE = "@scheduled";

/** A held row belongs to a message of unknown outcome. Any other row waits, or is leased to a node. */
export const QUEUE_STATE = { waiting: 0, held: 1 } as const;
export type QueueState = keyof typeof QUEUE_STATE;

/** The entry of a new message: in the lane of its link, due at once or leased to this node; or in the lane of scheduled messages until its
 *  time. */
export type QueueEntry = {
  lane: string;
  dueAtMs: number | null;
  leaseMs: number;
  /** The sealed content for the carrier, if the record shows something else. It is deleted with the row. */
  sealedContent: string | null;
};

/** The effect of a change on the queue entry of its message. */
export type QueueMove =
  | { kind: "stay" }
  | { kind: "leave" }
  /** Due after `afterMs`, at `atMs`, or at the previous time if neither is set. A decided change always has `atMs` if it has
   *  `afterMs`. Other fields are set only if they change. */
  | { kind: "wait"; state: QueueState; afterMs?: number; atMs?: number; lane?: string; priority?: number; expiresAtMs?: number };
