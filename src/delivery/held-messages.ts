/** The messages of a restored database that may have been handed over after the backup: those that waited in the queue or were being sent. */
import type { Advancer } from "../messages/advance.ts";
import { changeBy, endSignal, type Signal } from "../messages/change.ts";
import type { Message } from "../messages/message.ts";
import type { Status } from "../messages/states.ts";
import { OUTCOME_UNKNOWN } from "../messages/states.ts";
import { toId, type MessageId } from "../model/id.ts";
import { firstUuidAt } from "../lib/uuid.ts";
import type { Database, Queryable } from "../database/database.ts";
import { readRows } from "./queries.ts";
import { countQueuedBefore, findQueuedBefore } from "./queue.ts";

const BATCH = 500;

const restoredSignal = endSignal(
  "failed",
  {
    code: OUTCOME_UNKNOWN,
    message:
      "The operator ended the message during a hold. It may have been handed to its carrier before: the database may be a restored one.",
    permanent: false,
  },
  "ended during a hold",
);

export type HeldCounts = Partial<Record<Extract<Status, "scheduled" | "queued" | "sending">, number>>;

/** Counts the messages of the queue from before a time, by status. */
export const countHeld = async (db: Queryable, beforeMs: number): Promise<HeldCounts> =>
  Object.fromEntries(
    (await countQueuedBefore(db, toId("msg", firstUuidAt(beforeMs)), beforeMs)).map(({ status, count }) => [status, count]),
  );

/** Ends the messages from before a time as failed with an unknown outcome. A message whose `send_at` is later has not left, and stays. Calls
 *  `onEnded` with their number so far, and returns it. */
export async function endHeld(db: Database, advancer: Advancer, beforeMs: number, onEnded: (count: number) => void): Promise<number> {
  let ended = 0;
  let after: MessageId | undefined;
  for (;;) {
    const rows = await findQueuedBefore(db, toId("msg", firstUuidAt(beforeMs)), after, BATCH);
    after = rows.at(-1)?.message_id;
    if (after === undefined) return ended;
    const mayHaveLeft = (await readRows(db, rows)).filter(({ sendAtMs }) => sendAtMs === null || sendAtMs <= beforeMs);
    const written = await Promise.all(mayHaveLeft.map((message) => endOne(advancer, message)));
    ended += written.filter(Boolean).length;
    onEnded(ended);
  }
}

/** A scheduled message becomes queued first, as at its time. */
async function endOne(advancer: Advancer, message: Message): Promise<boolean> {
  const nowMs = advancer.now();
  const queued = message.status === "scheduled" ? changeBy(message, queuedSignal(nowMs), nowMs) : undefined;
  if (queued !== undefined && !(await advancer.submit(queued))) return false;
  const change = changeBy(queued?.after ?? message, restoredSignal, advancer.now());
  return change !== undefined && (await advancer.submit(change)) !== false;
}

const queuedSignal = (nowMs: number): Signal => ({
  status: "queued",
  detail: { reason: "send_at has come" },
  move: { kind: "wait", state: "waiting", atMs: nowMs, lane: "" },
});
