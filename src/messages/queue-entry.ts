/** A place in the queue: the lane a message waits in, for what, and until when. */

/** Lower goes first. */
export const PRIORITY_RANK = { high: 0, normal: 1, bulk: 2 } as const;

/** The lane of messages that wait for their time. No link can have this name. */
export const SCHEDULED_LANE = "@scheduled";

/** A held row is of a message of which nobody knows whether it left. Every other one waits, or is in someone's hands. */
export const QUEUE_STATE = { waiting: 0, held: 1 } as const;
export type QueueState = keyof typeof QUEUE_STATE;

/** Where a new message waits: in the lane of its link, due at once, or already in the hands of this process for as long as a
 *  lease lasts; or in the lane of the scheduled ones until its time. */
export type QueueEntry = {
  lane: string;
  dueAtMs: number | null;
  leaseMs: number;
  /** What the carrier is to be given in place of what the record shows, sealed. It goes with the row. */
  sealedContent: string | null;
};

/** What a change of a message does to its place in the queue. */
export type QueueMove =
  | { kind: "stay" }
  | { kind: "leave" }
  /** Due after so long, at that time, or without either when it was due before. The rest only where it changes. */
  | { kind: "wait"; state: QueueState; afterMs?: number; atMs?: number; lane?: string; priority?: number; expiresAtMs?: number };
