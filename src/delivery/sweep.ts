/** What time alone does: a message whose time to live passes in the queue, a receipt that never comes. */
import type { Advancer } from "../messages/advance.ts";
import { changeBy, type Signal } from "../messages/change.ts";
import type { Message } from "../messages/message.ts";
import { findLapsed } from "../queue/queries.ts";
import { dropOldParked, findOverdue, forgetReferences } from "../receipts/queries.ts";
import type { Database } from "../storage/database.ts";
import { readMessages } from "./queries.ts";
import { lapsedSignal } from "./settle.ts";

const BATCH = 500;

const unanswered: Signal = {
  status: "expired",
  error: {
    code: "no_receipt",
    message: "The carrier took the message and never said what became of it.",
    permanent: false,
    provider_code: null,
  },
  detail: { reason: "no receipt came in time" },
  move: { kind: "stay" },
};

/** Messages that waited too long to be handed over; returns how many there were. */
export async function expireLapsed(db: Database, advancer: Advancer): Promise<number> {
  const rows = await findLapsed(db, BATCH);
  const messages = await readOwned(db, rows);
  await advanceAll(
    advancer,
    // What is scheduled has its time to live still before it.
    messages.filter(({ status }) => status === "queued"),
    lapsedSignal,
  );
  return rows.length;
}

/** Messages that a carrier took and never spoke of again; returns how many names were done with. */
export async function expireUnanswered(db: Database, advancer: Advancer): Promise<number> {
  const overdue = await findOverdue(db, BATCH);
  const messages = await readOwned(db, overdue);
  await advanceAll(
    advancer,
    messages.filter(({ status }) => status === "sent"),
    unanswered,
  );
  // After the change: a name forgotten before it would leave its message sent for ever.
  if (overdue.length > 0) await forgetReferences(db, overdue);
  return overdue.length;
}

export const forgetParkedForGood = async (db: Database): Promise<number> => (await dropOldParked(db, BATCH)).length;

type OwnedRow = { account_id: Message["accountId"]; environment: Message["environment"]; message_id: Message["id"] };

const readOwned = async (db: Database, rows: readonly OwnedRow[]): Promise<Message[]> =>
  rows.length === 0
    ? []
    : readMessages(
        db,
        rows.map((row) => ({ accountId: row.account_id, environment: row.environment, id: row.message_id })),
      );

async function advanceAll(advancer: Advancer, messages: readonly Message[], signal: Signal): Promise<void> {
  const nowMs = advancer.now();
  const changes = messages.map((message) => changeBy(message, signal, nowMs)).filter((change) => change !== undefined);
  await Promise.all(changes.map((change) => advancer.submit(change)));
}
