/** The pace of a lane's claims: whether a claim is worth a statement now, and how many messages of each priority it may take. The pace has
 *  no timer and no clock: the lane passes the time. */
import type { Priority } from "../messages/message.ts";

/** The state of the lane that a claim depends on. */
export type LaneState = {
  /** How many more messages fit into the lane, by priority. */
  room: Readonly<Record<Priority, number>>;
  /** How many bulk messages fit into the lane when it is empty. */
  bulkCapacity: number;
  /** Changes of messages that wait to be stored, of all lanes. */
  pending: number;
};

/** A claim that the lane may make now. */
export type PlannedClaim = {
  /** The limits by rank of priority: high, normal, bulk. The first is the limit of all three together. */
  most: readonly [number, number, number];
  /** After how many milliseconds bulk messages may be claimed, if this claim leaves them out; otherwise null. */
  bulkAfterMs: number | null;
};

// A claim costs a statement, so it is made for this many messages or more, or for half of a small lane.
const WORTHWHILE = 32;
// A claim is small, so that its messages are submitted soon and a more urgent message does not wait long for the next claim.
const MAX_CLAIM = 50;
// While this many changes wait to be stored, the lane claims nothing: a claimed message would only wait behind them for its change to
// `sending`.
const MAX_PENDING = 64;
// New messages can keep the database that busy all the time. The queue then still has a turn: this many messages, this often.
const TURN_ROWS = 16;
const TURN_MS = 100;
// Bulk messages are claimed in small steps for this long after a more urgent message. At full speed beside urgent messages they
// tripled the 99th percentile of the latency of a verification code, on two cores.
const CALM_MS = 1_000;
const BULK_STEP = 16;
const BULK_STEP_MS = 25;

export class LanePace {
  #urgentAtMs = -Infinity;
  #claimedAtMs = -Infinity;
  #nextBulkAtMs = -Infinity;

  /** A message was accepted or claimed that must not wait for bulk messages. */
  sawUrgent(nowMs: number): void {
    this.#urgentAtMs = nowMs;
  }

  began(nowMs: number): void {
    this.#claimedAtMs = nowMs;
  }

  /** `isWoken`: a claim is wanted as soon as one message fits. */
  plan({ room, bulkCapacity, pending }: LaneState, isWoken: boolean, nowMs: number): PlannedClaim | undefined {
    const total = Math.min(MAX_CLAIM, room.high, this.#allowance(pending, nowMs));
    const isWorthwhile = room.bulk >= Math.min(WORTHWHILE, bulkCapacity / 2);
    if (total <= 0 || !(isWoken || isWorthwhile)) return undefined;
    const most = (priority: Priority): number => Math.max(0, Math.min(total, room[priority]));
    const bulk = this.#nextBulk(nowMs);
    return { most: [total, most("normal"), Math.min(most("bulk"), bulk.most)], bulkAfterMs: bulk.afterMs };
  }

  #allowance(pending: number, nowMs: number): number {
    const isTurnOfQueue = nowMs - this.#claimedAtMs > TURN_MS;
    return Math.max(MAX_PENDING - pending, isTurnOfQueue ? TURN_ROWS : 0);
  }

  #nextBulk(nowMs: number): { most: number; afterMs: number | null } {
    if (nowMs - this.#urgentAtMs > CALM_MS) return { most: MAX_CLAIM, afterMs: null };
    if (nowMs < this.#nextBulkAtMs) return { most: 0, afterMs: this.#nextBulkAtMs - nowMs };
    this.#nextBulkAtMs = nowMs + BULK_STEP_MS;
    return { most: BULK_STEP, afterMs: null };
  }
}
