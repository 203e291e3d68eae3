/** What an answer of a provider means for the message: the rules of tries, without doing anything. */
import type { Attempt } from "../events/timeline.ts";
import { encodeId } from "../lib/id.ts";
import { isoTime } from "../lib/time.ts";
import { backoffMs } from "../lib/backoff.ts";
import { uuidTimeMs } from "../lib/uuid.ts";
import { changeBy, noteOn, type Change, type Signal } from "../messages/change.ts";
import type { Message, MessageError } from "../messages/message.ts";
import { OUTCOME_UNKNOWN } from "../messages/states.ts";
import type { SendOutcome } from "../providers/provider.ts";
import type { Link } from "../routing/link.ts";
import { unreachable } from "../lib/assert.ts";

// Ten tries over about half an hour: what a carrier still refuses then is not a passing fault.
const MAX_ATTEMPTS = 10;
const FIRST_RETRY_MS = 1_000;
const MAX_RETRY_MS = 600_000;

export type SettleContext = { link: Link; receiptWaitMs: number; nowMs: number };

/** An attempt as the timeline shows it. */
const attemptOf = (message: Message, link: Link, facts: Partial<Attempt> & Pick<Attempt, "outcome">): Attempt => ({
  number: message.attempts,
  link: link.name,
  provider_message_id: null,
  provider_code: null,
  detail: null,
  retry_at: null,
  ...facts,
});

/** Queued → sending. It commits before bytes may leave. */
export const writtenSignal = (message: Message, link: Link): Signal => {
  const attempts = message.attempts + 1;
  return {
    status: "sending",
    attempts,
    provider: { name: link.provider, link: link.name, messageId: null },
    detail: { attempt: attemptOf({ ...message, attempts }, link, { outcome: "written" }) },
    // Whoever finds its lease run out finds it sending: bytes may have left.
    move: { kind: "stay" },
  };
};

/** Ttl passed before it was handed over. */
export const lapsedSignal: Signal = {
  status: "expired",
  error: {
    code: "ttl_expired",
    message: "The message was not handed to a carrier within its time to live.",
    permanent: false,
    provider_code: null,
  },
  detail: { reason: "ttl_seconds passed" },
  move: { kind: "leave" },
};

/** What an outcome does to a message that was sending: a change of its status, or a note on its timeline. */
export function settleChange(message: Message, outcome: SendOutcome, context: SettleContext): Change {
  if (outcome.kind === "unknown") return holdChange(message, outcome.detail, context);
  const signal = settleSignal(message, outcome, context);
  return changeBy(message, signal, context.nowMs) ?? lateNote(message, signal, context);
}

/** The message has gone on without this answer. What it says is kept, and so is the name the carrier gave. */
function lateNote(message: Message, signal: Signal, { nowMs }: SettleContext): Change {
  const note = noteOn(message, nowMs, { type: `message.${signal.status}`, isIgnored: true, detail: signal.detail, move: { kind: "stay" } });
  const { provider } = signal;
  return provider?.messageId === undefined || provider.messageId === null || message.provider?.messageId !== null
    ? { ...note, reference: signal.reference ?? null }
    : { ...note, after: { ...note.after, provider }, reference: signal.reference ?? null };
}

function settleSignal(message: Message, outcome: Exclude<SendOutcome, { kind: "unknown" }>, context: SettleContext): Signal {
  const { link, nowMs } = context;
  switch (outcome.kind) {
    case "accepted":
      return {
        status: "sent",
        provider: { name: link.provider, link: link.name, messageId: outcome.providerMessageId },
        detail: { attempt: attemptOf(message, link, { outcome: "accepted", provider_message_id: outcome.providerMessageId }) },
        move: { kind: "leave" },
        reference: { link: link.name, providerMessageId: outcome.providerMessageId, expiresAtMs: nowMs + context.receiptWaitMs },
      };
    case "refused":
      return refusedSignal(message, outcome, context);
    case "throttled": {
      // For the link: back to the front of the lane, which waits as a whole. For the recipient: only this message waits.
      const retryMs = outcome.retryAfterMs ?? backoffMs(message.attempts, FIRST_RETRY_MS, MAX_RETRY_MS);
      const due = outcome.scope === "link" ? { atMs: uuidTimeMs(message.id) } : { afterMs: Math.round(retryMs) };
      const attempt = attemptOf(message, link, {
        outcome: "throttled",
        provider_code: outcome.providerCode,
        retry_at: isoTime(nowMs + retryMs),
      });
      return { status: "queued", detail: { attempt }, move: { kind: "wait", state: "waiting", ...due } };
    }
    default:
      return unreachable(outcome);
  }
}

function refusedSignal(message: Message, outcome: Extract<SendOutcome, { kind: "refused" }>, { link, nowMs }: SettleContext): Signal {
  const { code, providerCode, isPermanent } = outcome;
  const refused = { outcome: "refused", provider_code: providerCode, detail: outcome.message } as const;
  if (isPermanent || message.attempts >= MAX_ATTEMPTS) {
    const error: MessageError = { code, message: outcome.message, permanent: isPermanent, provider_code: providerCode };
    return { status: "failed", error, detail: { attempt: attemptOf(message, link, refused) }, move: { kind: "leave" } };
  }
  const afterMs = backoffMs(message.attempts, FIRST_RETRY_MS, MAX_RETRY_MS);
  return {
    status: "queued",
    detail: { attempt: attemptOf(message, link, { ...refused, retry_at: isoTime(nowMs + afterMs) }) },
    move: { kind: "wait", state: "waiting", afterMs },
  };
}

/** Nobody knows whether it left: it is held, and a late answer or a receipt may tell. A carrier that gives our id back names
 *  the message by it. */
export const holdChange = (message: Message, detail: string, { link, nowMs, receiptWaitMs }: SettleContext): Change => ({
  ...noteOn(message, nowMs, {
    type: "attempt.unknown",
    isIgnored: false,
    detail: { attempt: attemptOf(message, link, { outcome: "unknown", detail }) },
    move: { kind: "wait", state: "held", afterMs: Math.round(link.onUnknown.holdMs) },
  }),
  reference: { link: link.name, providerMessageId: encodeId("msg", message.id), expiresAtMs: nowMs + receiptWaitMs },
});

/** Nothing was heard while it was held: what the link's policy says. */
export const afterHold = ({ onUnknown }: Link): Signal =>
  onUnknown.policy === "resend"
    ? { status: "queued", detail: { reason: "on_unknown: resend" }, move: { kind: "wait", state: "waiting", afterMs: 0 } }
    : {
        status: "failed",
        error: {
          code: OUTCOME_UNKNOWN,
          message: "The carrier never said whether it took the message; it was not sent again.",
          permanent: false,
          provider_code: null,
        },
        detail: { reason: "on_unknown: fail" },
        move: { kind: "leave" },
      };
