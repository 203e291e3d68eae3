/** Decides how a signal changes a message. `advance.ts` writes the change. */
import { recordToStore } from "../database/stored-record.ts";
import type { NewEntry } from "../events/queries.ts";
import { detailToStore, type Detail } from "../events/detail.ts";
import { unreachable } from "../lib/assert.ts";
import { newIdAfter } from "../model/id.ts";
import type { Message, MessageError } from "./message.ts";
import type { QueueMove } from "./queue-entry.ts";
import { mayBecome, type Status } from "./states.ts";

/** The id that a carrier gives to a message or part. It is unique only within its link. */
export type CarrierId = { link: string; providerMessageId: string };

/** A carrier id of a message, and the time until which the carrier may report about the message with it. */
export type ProviderReference = CarrierId & {
  expiresAtMs: number;
  /** The parts that the carrier has accepted, for a message in several parts. */
  parts?: StoredParts;
};

/** The carrier ids of a message's first parts, the number of all its parts, and the number that ties them together. The latter is
 *  null if the carrier has accepted all parts. */
export type StoredParts = { ids: readonly string[]; total: number; reference: number | null };

/** One change of a message, decided on the version `before`. It is written only if the message still has that version. */
export type Change = {
  before: Message;
  after: Message;
  entry: NewEntry;
  move: QueueMove;
  reference: ProviderReference | null;
};

/** The sender of a message on its link, and why it has both. */
export type Chosen = Pick<Message, "sender" | "senderReason" | "linkReason">;

/** An observation that may cause a transition, and its effects on the message. */
export type Signal = {
  status: Status;
  error?: Message["error"];
  provider?: Message["provider"];
  attempts?: number;
  /** The sender and the reasons, if the message gets another link. */
  chosen?: Chosen;
  refusals?: number;
  detail: Detail;
  move: QueueMove;
  reference?: ProviderReference | null;
};

/** The signal that ends a message for a reason of this service, and not of a carrier. */
export const endSignal = (status: "failed" | "expired", error: Omit<MessageError, "provider_code">, reason: string): Signal => ({
  status,
  error: { ...error, provider_code: null },
  detail: { reason },
  move: { kind: "leave" },
});

/** Returns the change that a signal causes, or undefined if the table of states does not permit the transition. */
export function changeBy(before: Message, signal: Signal, nowMs: number): Change | undefined {
  if (!mayBecome(before, signal.status)) return undefined;
  // At least one millisecond after the last change, so that the order of a timeline does not depend on the clocks of the nodes.
  const atMs = Math.max(nowMs, before.updatedAtMs + 1);
  const after: Message = {
    ...before,
    ...statusTimes(before, signal.status, atMs),
    status: signal.status,
    sequence: before.sequence + 1,
    // A later signal does not remove the error of an earlier one.
    error: signal.error ?? before.error,
    provider: signal.provider ?? before.provider,
    attempts: signal.attempts ?? before.attempts,
    refusals: signal.refusals ?? before.refusals,
    ...signal.chosen,
    updatedAtMs: atMs,
  };
  return toChange(before, after, {
    nowMs,
    type: `message.${signal.status}`,
    isEvent: true,
    isIgnored: false,
    detail: signal.detail,
    move: signal.move,
    reference: signal.reference ?? null,
  });
}

/** Returns an entry of the timeline without a transition: an ignored signal, or a note about an attempt. */
export const noteOn = (message: Message, nowMs: number, note: Pick<EntryFacts, "type" | "isIgnored" | "detail" | "move">): Change =>
  toChange(
    message,
    { ...message, updatedAtMs: Math.max(nowMs, message.updatedAtMs + 1) },
    { ...note, nowMs, isEvent: false, reference: null },
  );

type EntryFacts = Pick<NewEntry, "type" | "isIgnored"> &
  Pick<Change, "move" | "reference"> & { nowMs: number; isEvent: boolean; detail: Detail };

/** The time at which the message is due again, by the clock of the decision. */
const dueMove = (move: QueueMove, nowMs: number): QueueMove =>
  move.kind === "wait" && move.afterMs !== undefined ? { ...move, atMs: nowMs + move.afterMs } : move;

function toChange(before: Message, after: Message, { nowMs, type, isEvent, isIgnored, detail, move, reference }: EntryFacts): Change {
  const id = newIdAfter("evt", before.updatedAtMs, nowMs);
  const record = isEvent ? recordToStore(after, id) : null;
  return {
    before,
    after,
    entry: {
      id,
      type,
      record,
      previousStatus: before.status,
      detail: detailToStore(detail, record, after),
      isIgnored,
    },
    move: dueMove(move, nowMs),
    reference,
  };
}

/** The times that a status sets. A status also sets the times of the statuses that it implies: a message that was read was delivered. */
function statusTimes(message: Message, status: Status, atMs: number): Partial<Message> {
  const sentAtMs = message.sentAtMs ?? atMs;
  const deliveredAtMs = message.deliveredAtMs ?? atMs;
  switch (status) {
    case "sent":
      return { sentAtMs };
    case "delivered":
      return { sentAtMs, deliveredAtMs };
    case "read":
      return { sentAtMs, deliveredAtMs, readAtMs: message.readAtMs ?? atMs };
    case "undelivered":
    case "failed":
    case "expired":
      return { failedAtMs: message.failedAtMs ?? atMs };
    case "canceled":
      return { canceledAtMs: atMs };
    case "scheduled":
    case "queued":
    case "sending":
    case "received":
      return {};
    default:
      return unreachable(status);
  }
}
