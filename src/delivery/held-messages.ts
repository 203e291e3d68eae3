/** The messages of a restored database that may have been handed over after the backup: those that waited in the queue or were being sent. */
import type { Advancer } from "../messages/advance.ts";
import { changeBy, type Signal } from "../messages/change.ts";
import type { Status } from "../messages/states.ts";
import { OUTCOME_UNKNOWN } from "../messages/states.ts";
import { newId, type MessageId } from "../lib/id.ts";
import type { Database, Queryable } from "../storage/database.ts";
import { readMessages } from "./queries.ts";
import { countQueuedBefore, findQueuedBefore } from "./queue.ts";

const BATCH = 500;

const restoredSignal: Signal = {
  status: "failed",
  error: {
    code: OUTCOME_UNKNOWN,
    message:
      "The database was restored from a backup, and the message may have been handed to its carrier after the backup. It was not sent again.",
    permanent: false,
    provider_code: null,
  },
  detail: { reason: "restored from a backup" },
  move: { kind: "leave" },
};

export type HeldCounts = Partial<Record<Extract<Status, "scheduled" | "queued" | "sending">, number>>;

/** Counts the messages of the queue from before a time, by status. */
export const countHeld = async (db: Queryable, beforeMs: number): Promise<HeldCounts> =>
  Object.fromEntries((await countQueuedBefore(db, firstIdOf(beforeMs))).map(({ status, count }) => [status, count]));

/** Ends the queued and sending messages from before a time as failed with an unknown outcome. A scheduled message stays: its time has not come.
 *  Calls `onEnded` with their number so far, and returns it. */
export async function endHeld(db: Database, advancer: Advancer, beforeMs: number, onEnded: (count: number) => void): Promise<number> {
  let ended = 0;
  let after: MessageId | undefined;
  for (;;) {
    const rows = await findQueuedBefore(db, firstIdOf(beforeMs), after, BATCH);
    after = rows.at(-1)?.message_id;
    if (after === undefined) return ended;
    const messages = await readMessages(
      db,
      rows.map((row) => ({ accountId: row.account_id, environment: row.environment, id: row.message_id })),
    );
    const changes = messages.map((message) => changeBy(message, restoredSignal, advancer.now())).filter((change) => change !== undefined);
    const written = await Promise.all(changes.map((change) => advancer.submit(change)));
    ended += written.filter(Boolean).length;
    onEnded(ended);
  }
}

/** An id that is not greater than those of the messages from this time on. */
function firstIdOf(timeMs: number): MessageId {
  const id = newId("msg", timeMs);
  // The first six bytes are the time.
  id.fill(0, 6);
  return id;
}
