/** Sweeps: expires messages whose time to live passes in the queue, and messages without a receipt. */
import { idKey } from "../model/id.ts";
import type { Advancer } from "../messages/advance.ts";
import { changeBy, endSignal, type Change, type Signal } from "../messages/change.ts";
import type { Message } from "../messages/message.ts";
import { mayBecome } from "../messages/states.ts";
import type { Database } from "../database/database.ts";
import { readRows } from "./queries.ts";
import { findExpired } from "./queue.ts";
import {
  deleteExpiredReferences,
  findExpiredReferences,
  findReported,
  keepExpiredReferences,
  LATE_MS,
  type ExpiredReference,
} from "./receipt-queries.ts";
import { ttlExpiredSignal } from "./settle.ts";

const BATCH = 500;

const noReceipt = endSignal(
  "expired",
  { code: "no_receipt", message: "The carrier accepted the message, and no delivery receipt arrived in time.", permanent: false },
  "no receipt arrived in time",
);

const unconfirmed = endSignal(
  "expired",
  {
    code: "delivery_unconfirmed",
    message: "The carrier passed the message on, and did not report in time whether it was delivered.",
    permanent: false,
  },
  "the last report of the carrier does not say whether the message was delivered",
);

/** Expires queued messages whose time to live has passed at `dueMs`. Returns their number. */
export async function expireQueued(db: Database, advancer: Advancer, dueMs: number): Promise<number> {
  const messages = await readRows(db, await findExpired(db, dueMs, BATCH));
  // A scheduled message is released first. A `sending` message stays in the queue until its carrier responds.
  const queued = messages.filter(({ status }) => status === "queued");
  const nowMs = advancer.now();
  const changes = queued.map((message) => changeBy(message, ttlExpiredSignal, nowMs)).filter((change) => change !== undefined);
  await Promise.all(changes.map((change) => advancer.submit(change)));
  return queued.length;
}

/** Expires messages that a carrier accepted and for which no receipt arrived. Returns the number of expired references. */
export async function expireWithoutReceipt(db: Database, advancer: Advancer): Promise<number> {
  const nowMs = advancer.now();
  const expired = await findExpiredReferences(db, nowMs, BATCH);
  const messages = new Map((await readRows(db, expired)).map((message) => [idKey(message.id), message]));
  const waiting = [...messages.values()].filter(({ status }) => status === "sent");
  const reported = await findReported(
    db,
    waiting.map(({ id }) => id),
  );
  const decided = expired.map((reference) => {
    const key = idKey(reference.message_id);
    return { reference, ...decide(reference, messages.get(key), reported.has(key) ? unconfirmed : noReceipt, nowMs) };
  });
  // A change renews its own reference. If it is not written, the message has changed, and the next sweep decides again.
  await Promise.all(decided.flatMap(({ change }) => (change === undefined ? [] : [advancer.submit(change)])));
  const referencesTo = (step: Step): ExpiredReference[] => decided.filter((each) => each.step === step).map(({ reference }) => reference);
  const [kept, deleted] = [referencesTo("keep"), referencesTo("delete")];
  if (kept.length > 0) await keepExpiredReferences(db, kept, nowMs);
  if (deleted.length > 0) await deleteExpiredReferences(db, deleted, nowMs);
  return expired.length;
}

type Step = "change" | "keep" | "delete";

/** Decides about an expired reference. A message that changed after the expiry has a late receipt, and others may follow. */
function decide(reference: ExpiredReference, message: Message | undefined, end: Signal, nowMs: number): { step: Step; change?: Change } {
  if (message === undefined) return { step: "delete" };
  const change = noReceiptChange(reference, message, end, nowMs);
  if (change !== undefined) return { step: "change", change };
  const isLate = message.updatedAtMs >= reference.expires_at.getTime();
  return { step: isLate && mayBecome(message, "read") ? "keep" : "delete" };
}

function noReceiptChange(
  { link, provider_message_id: providerMessageId }: ExpiredReference,
  message: Message,
  end: Signal,
  nowMs: number,
): Change | undefined {
  // A message may be referenced by our own id as well as by its carrier id. The carrier id decides.
  if (message.status !== "sent" || (message.provider?.messageId ?? providerMessageId) !== providerMessageId) return undefined;
  const reference = { link, providerMessageId, expiresAtMs: nowMs + LATE_MS };
  // The message has left the queue before.
  return changeBy(message, { ...end, move: { kind: "stay" }, reference }, nowMs);
}
