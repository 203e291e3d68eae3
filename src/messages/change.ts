/** A change of a message, decided and not yet made: what a signal makes of what is known of the message. */
import type { NewEntry } from "../events/queries.ts";
import type { Detail } from "../events/timeline.ts";
import { unreachable } from "../lib/assert.ts";
import { newId } from "../lib/id.ts";
import type { QueueMove } from "./queue-entry.ts";
import type { ProviderReference } from "./provider-reference.ts";
import { countedOf, type Counted } from "../usage/usage.ts";
import { messageRecord, type Message } from "./message.ts";
import { mayBecome, type Status } from "./states.ts";

/** One change of a message, decided on what was known of it: it holds only if that is still so. */
export type Change = {
  before: Message;
  after: Message;
  entry: NewEntry;
  move: QueueMove;
  reference: ProviderReference | null;
  counted: Counted;
  countedBefore: Counted;
};

/** What happened to a message. */
export type Signal = {
  status: Status;
  error?: Message["error"];
  provider?: Message["provider"];
  attempts?: number;
  sender?: string | null;
  refusals?: number;
  detail: Detail;
  move: QueueMove;
  reference?: ProviderReference | null;
};

/** The change a signal makes, or undefined where the table of states knows none. */
export function changeBy(before: Message, signal: Signal, nowMs: number): Change | undefined {
  if (!mayBecome(before, signal.status)) return undefined;
  // Later than the last change by a millisecond at least, so that a timeline has one order on any number of nodes.
  const atMs = Math.max(nowMs, before.updatedAtMs + 1);
  const after: Message = {
    ...before,
    ...stampsOf(before, signal.status, atMs),
    status: signal.status,
    sequence: before.sequence + 1,
    // An error once set is not erased.
    error: signal.error ?? before.error,
    provider: signal.provider ?? before.provider,
    attempts: signal.attempts ?? before.attempts,
    refusals: signal.refusals ?? before.refusals,
    sender: signal.sender === undefined ? before.sender : signal.sender,
    updatedAtMs: atMs,
  };
  return toChange(before, after, {
    type: `message.${signal.status}`,
    isEvent: true,
    isIgnored: false,
    detail: signal.detail,
    move: signal.move,
    reference: signal.reference ?? null,
  });
}

/** An entry of the timeline that moves nothing: a signal the table of states does not take, or a note about a try. */
export const noteOn = (
  message: Message,
  nowMs: number,
  note: { type: string; isIgnored: boolean; detail: Detail; move: QueueMove },
): Change =>
  toChange(message, { ...message, updatedAtMs: Math.max(nowMs, message.updatedAtMs + 1) }, { ...note, isEvent: false, reference: null });

type EntryFacts = {
  type: string;
  isEvent: boolean;
  isIgnored: boolean;
  detail: Detail;
  move: QueueMove;
  reference: ProviderReference | null;
};

const toChange = (before: Message, after: Message, { type, isEvent, isIgnored, detail, move, reference }: EntryFacts): Change => ({
  before,
  after,
  entry: {
    id: newId("evt", after.updatedAtMs),
    type,
    record: isEvent ? JSON.stringify(messageRecord(after)) : null,
    previousStatus: before.status,
    detail: JSON.stringify(detail),
    isIgnored,
  },
  move,
  reference,
  counted: countedOf(after),
  countedBefore: countedOf(before),
});

/** The times a status brings with it. What it implies and was never said is said now: what was read was delivered. */
function stampsOf(message: Message, status: Status, atMs: number): Partial<Message> {
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
