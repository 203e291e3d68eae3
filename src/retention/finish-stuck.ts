/** Finishes messages that no other part of the service finishes any more, so that their week can be dropped. A message ends within 40 days
 *  after it was accepted; one that is still open long after its retention is stuck, by a fault or by rows that were changed by hand. */
import type { Log } from "../model/log.ts";
import type { Database } from "../database/database.ts";
import type { Week } from "../database/partitions.ts";
import { advance } from "../messages/advance.ts";
import { changeBy, type Change, type Signal } from "../messages/change.ts";
import { logOutcome } from "../messages/log-outcome.ts";
import type { Message } from "../messages/message.ts";
import { OUTCOME_UNKNOWN, type Status } from "../messages/states.ts";
import { deleteQueueRows, readUnfinished } from "./queries.ts";

const PAGE = 200;

/** How each status ends. A scheduled message is canceled, since it was never to be sent later than this. */
const ENDS: Readonly<Partial<Record<Status, Pick<Signal, "status"> & { code: string | null }>>> = {
  scheduled: { status: "canceled", code: null },
  queued: { status: "expired", code: "ttl_expired" },
  sending: { status: "failed", code: OUTCOME_UNKNOWN },
  sent: { status: "expired", code: "no_receipt" },
};

const MESSAGE = "The message was still open long after its retention had ended.";

/** Finishes the open messages of a week, and deletes what the queue has of the week. Returns how many messages were finished. */
export async function finishStuck(db: Database, week: Week, { nowMs, log }: { nowMs: number; log: Log }): Promise<number> {
  let finished = 0;
  for (;;) {
    const page = await readUnfinished(db, week, PAGE);
    const changes = page.flatMap((message) => endOf(message, nowMs) ?? []);
    const done = await advance(db, changes);
    changes.forEach((change, index) => done[index] === true && logOutcome(log, change));
    const count = done.filter(Boolean).length;
    finished += count;
    // Messages that change at this moment are not stuck. The next turn looks again.
    if (page.length < PAGE || count === 0) break;
  }
  await deleteQueueRows(db, week);
  if (finished > 0)
    log.warn({ event: "retention.stuck_finished", messages: finished }, "messages that were open long after their retention were finished");
  return finished;
}

function endOf(message: Message, nowMs: number): Change | undefined {
  const end = ENDS[message.status];
  if (end === undefined) return undefined;
  const error = end.code === null ? {} : { error: { code: end.code, message: MESSAGE, permanent: false, provider_code: null } };
  return changeBy(message, { status: end.status, ...error, detail: { reason: "its retention has ended" }, move: { kind: "leave" } }, nowMs);
}
