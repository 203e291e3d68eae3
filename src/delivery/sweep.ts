/** Sweeps: expires messages whose time to live passes in the queue and messages without a receipt, and deletes old receipts and ids. */
import { idKey } from "../lib/id.ts";
import type { Advancer } from "../messages/advance.ts";
import { changeBy, type Signal } from "../messages/change.ts";
import type { Message } from "../messages/message.ts";
import type { Database } from "../storage/database.ts";
import { readMessages } from "./queries.ts";
import { findExpired } from "./queue.ts";
import { deleteOldInbound, deleteOldParkedReceipts, findExpiredReferences, deleteExpiredReferences } from "./receipt-queries.ts";
import { ttlExpiredSignal } from "./settle.ts";

const BATCH = 500;

const noReceiptSignal: Signal = {
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

/** Expires queued messages whose time to live has passed. Returns their number. */
export async function expireQueued(db: Database, advancer: Advancer): Promise<number> {
  const messages = await readOwned(db, await findExpired(db, advancer.now(), BATCH));
  // A scheduled message is released first. A `sending` message stays in the queue until its carrier responds.
  const queued = messages.filter(({ status }) => status === "queued");
  await advanceAll(advancer, queued, ttlExpiredSignal);
  return queued.length;
}

// A phone may be off for longer than the wait for a receipt. A receipt that arrives after that is still applied.
const LATE_MS = 7 * 24 * 3_600_000;

/** Expires messages that a carrier accepted and for which no receipt arrived. Returns the number of expired references. */
export async function expireWithoutReceipt(db: Database, advancer: Advancer): Promise<number> {
  const expired = await findExpiredReferences(db, BATCH);
  const messages = new Map((await readOwned(db, expired)).map((message) => [idKey(message.id), message]));
  const nowMs = advancer.now();
  const changes = expired.flatMap(({ link, provider_message_id: providerMessageId, message_id: id }) => {
    const message = messages.get(idKey(id));
    // A message may be referenced by our own id as well as by its carrier id. The carrier id decides.
    if (message?.status !== "sent" || (message.provider?.messageId ?? providerMessageId) !== providerMessageId) return [];
    const reference = { link, providerMessageId, expiresAtMs: nowMs + LATE_MS };
    return changeBy(message, { ...noReceiptSignal, reference }, nowMs) ?? [];
  });
  await Promise.all(changes.map((change) => advancer.submit(change)));
  // Deleted after the change, which renews its own reference. A reference deleted before it could leave its message `sent` forever.
  if (expired.length > 0) await deleteExpiredReferences(db, expired);
  return expired.length;
}

export const deleteOldInboundIds = async (db: Database): Promise<number> => (await deleteOldInbound(db, BATCH)).length;

export const deleteOldParked = async (db: Database): Promise<number> => (await deleteOldParkedReceipts(db, BATCH)).length;

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
