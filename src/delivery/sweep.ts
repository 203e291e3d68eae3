/** What time alone does: a message whose time to live passes in the queue, a receipt that never comes. */
import { idKey } from "../lib/id.ts";
import type { Advancer } from "../messages/advance.ts";
import { changeBy, type Signal } from "../messages/change.ts";
import type { Message } from "../messages/message.ts";
import { findLapsed } from "./queue.ts";
import { dropOldInbound, dropOldParked, findOverdue, forgetReferences } from "./receipt-queries.ts";
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
  const messages = await readOwned(db, await findLapsed(db, BATCH));
  // What is scheduled is released first; what is sending is with a carrier, and stays in the queue until that one has answered.
  const lapsed = messages.filter(({ status }) => status === "queued");
  await advanceAll(advancer, lapsed, lapsedSignal);
  return lapsed.length;
}

// A phone may be off for longer than a receipt is waited for. What its carrier says then is still the truth.
const LATE_MS = 7 * 24 * 3_600_000;

/** Messages that a carrier took and never spoke of again; returns how many names were done with. */
export async function expireUnanswered(db: Database, advancer: Advancer): Promise<number> {
  const overdue = await findOverdue(db, BATCH);
  const messages = new Map((await readOwned(db, overdue)).map((message) => [idKey(message.id), message]));
  const nowMs = advancer.now();
  const changes = overdue.flatMap(({ link, provider_message_id: providerMessageId, message_id: id }) => {
    const message = messages.get(idKey(id));
    // A message may have a name of ours besides its carrier's: that one decides.
    if (message?.status !== "sent" || (message.provider?.messageId ?? providerMessageId) !== providerMessageId) return [];
    const reference = { link, providerMessageId, expiresAtMs: nowMs + LATE_MS };
    return changeBy(message, { ...unanswered, reference }, nowMs) ?? [];
  });
  await Promise.all(changes.map((change) => advancer.submit(change)));
  // After the change, which keeps its own name: one forgotten before it would leave its message sent for ever.
  if (overdue.length > 0) await forgetReferences(db, overdue);
  return overdue.length;
}

export const forgetInbound = async (db: Database): Promise<number> => (await dropOldInbound(db, BATCH)).length;

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
