/** What an answer of a provider means for the message: the rules of tries, without doing anything. */
import type { Detail } from "../events/timeline.ts";
import { encodeId } from "../lib/id.ts";
import { isoTime } from "../lib/time.ts";
import { backoffMs } from "../lib/backoff.ts";
import { uuidTimeMs } from "../lib/uuid.ts";
import { changeBy, noteOn, type Change, type Signal } from "../messages/change.ts";
import type { ConsentRefusal } from "../consent/refusal.ts";
import type { Message, MessageError } from "../messages/message.ts";
import { OUTCOME_UNKNOWN } from "../messages/states.ts";
import type { SendOutcome } from "../providers/provider.ts";
import type { Link } from "../links/link.ts";
import { unreachable } from "../lib/assert.ts";

// Ten refusals over about half an hour: what a carrier still refuses then is not a passing fault.
const MAX_REFUSALS = 10;
const FIRST_RETRY_MS = 1_000;
const MAX_RETRY_MS = 600_000;

// A carrier that asks for a longer wait is asked again after this: a slip of its own must not stop a link for days.
const MAX_THROTTLE_MS = 3_600_000;

/** How long a carrier wants us to wait, within reason; null where it does not say, or says that we need not. */
export const throttleMs = (retryAfterMs: number | null): number | null =>
  retryAfterMs !== null && Number.isFinite(retryAfterMs) && retryAfterMs > 0 ? Math.min(Math.ceil(retryAfterMs), MAX_THROTTLE_MS) : null;

export type SettleContext = {
  link: Link;
  receiptWaitMs: number;
  nowMs: number;
  /** The link to try next, and who the message comes from there, where its route has another. */
  next?: (message: Message) => { link: Link; sender: string | null } | undefined;
};

/** An attempt as the timeline keeps it. */
const attemptOf = (
  { attempts }: { attempts: number },
  link: Pick<Link, "name">,
  facts: Omit<NonNullable<Detail["attempt"]>, "number" | "link">,
) => ({
  number: attempts,
  link: link.name,
  ...facts,
});

/** Queued → sending. It commits before bytes may leave. */
export const sendingSignal = (message: Message, link: Link): Signal => {
  const attempts = message.attempts + 1;
  return {
    status: "sending",
    attempts,
    provider: { name: link.provider, link: link.name, messageId: null },
    detail: { attempt: attemptOf({ attempts }, link, { outcome: "written" }) },
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

/** An opt-out, or the end of a service window, that came after the message was accepted. */
export const consentSignal = (code: ConsentRefusal): Signal => ({
  status: "failed",
  error: { code, message: UNWILLING[code], permanent: true, provider_code: null },
  detail: { reason: "our own check at send time" },
  move: { kind: "leave" },
});

const UNWILLING: Readonly<Record<ConsentRefusal, string>> = {
  recipient_opted_out: "The recipient opted out before the message was handed to a carrier.",
  service_window_closed: "The recipient's 24 hours for free text had passed when the message was to be handed to a carrier.",
};

/** It lies sealed by a secret key that this service no longer has. */
export const unreadableSignal: Signal = {
  status: "failed",
  error: {
    code: "content_unreadable",
    message: "The text was sealed by a secret key that is no longer known.",
    permanent: true,
    provider_code: null,
  },
  detail: { reason: "the server's secret key was changed" },
  move: { kind: "leave" },
};

/** What an outcome does to a message that was sending: a change of its status, or a note on its timeline. `attempt` is the try
 *  that it speaks of. By now the next one may be under way, and then only a yes to an earlier one changes anything. */
export function settleChange(message: Message, outcome: SendOutcome, context: SettleContext, attempt = message.attempts): Change {
  const isLast = attempt === message.attempts;
  const tried = { ...message, attempts: attempt };
  if (outcome.kind === "unknown") {
    const isOpen = isLast && message.status === "sending";
    return isOpen ? holdChange(message, outcome.detail, context) : unknownNote(message, tried, outcome.detail, context);
  }
  const signal = settleSignal(tried, outcome, context);
  const change = isLast || outcome.kind === "accepted" ? changeBy(message, signal, context.nowMs) : undefined;
  return change ?? lateNote(message, signal, context);
}

/** The message has gone on: what is not known of an earlier try holds up nothing. */
const unknownNote = (message: Message, tried: Message, detail: string, { link, nowMs }: SettleContext): Change =>
  noteOn(message, nowMs, {
    type: "attempt.unknown",
    isIgnored: true,
    detail: { attempt: attemptOf(tried, link, { outcome: "unknown", detail }) },
    move: { kind: "stay" },
  });

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
        reference: {
          link: link.name,
          providerMessageId: outcome.providerMessageId,
          expiresAtMs: nowMs + context.receiptWaitMs,
          ...partsOf(outcome),
        },
      };
    case "refused":
      return refusedSignal(message, outcome, context);
    case "throttled": {
      // For the link: back to the front of the lane, which waits as a whole. For the recipient: only this message waits.
      const retryMs = throttleMs(outcome.retryAfterMs) ?? backoffMs(message.attempts, FIRST_RETRY_MS, MAX_RETRY_MS);
      const due = outcome.scope === "link" ? { atMs: uuidTimeMs(message.id) } : { afterMs: retryMs };
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

/** Parts are told apart by their names. A carrier that gives one name to several speaks of the message as a whole. */
function partsOf({ providerMessageId, furtherPartIds = [] }: Extract<SendOutcome, { kind: "accepted" }>): {
  furtherPartIds?: readonly string[];
} {
  const names = [providerMessageId, ...furtherPartIds];
  const areDistinct = new Set(names).size === names.length && names.every((name) => name !== "" && !name.includes("\n"));
  return furtherPartIds.length > 0 && areDistinct ? { furtherPartIds } : {};
}

function refusedSignal(message: Message, outcome: Extract<SendOutcome, { kind: "refused" }>, { link, nowMs, next }: SettleContext): Signal {
  const { code, providerCode, isPermanent } = outcome;
  const refused = { outcome: "refused", provider_code: providerCode, detail: outcome.message } as const;
  const refusals = message.refusals + 1;
  if (isPermanent || refusals >= MAX_REFUSALS) {
    const error: MessageError = { code, message: outcome.message, permanent: isPermanent, provider_code: providerCode };
    return { status: "failed", error, detail: { attempt: attemptOf(message, link, refused) }, move: { kind: "leave" } };
  }
  const afterMs = backoffMs(refusals, FIRST_RETRY_MS, MAX_RETRY_MS);
  const other = next?.(message);
  return {
    status: "queued",
    detail: {
      attempt: attemptOf(message, link, { ...refused, retry_at: isoTime(nowMs + afterMs) }),
      ...(other === undefined ? {} : { reason: `${other.link.name} takes it next` }),
    },
    refusals,
    ...(other === undefined ? {} : { sender: other.sender }),
    move: { kind: "wait", state: "waiting", afterMs, ...(other === undefined ? {} : { lane: other.link.name }) },
  };
}

export type HoldContext = Pick<SettleContext, "nowMs" | "receiptWaitMs"> & { link: Pick<Link, "name" | "onUnknown"> };

/** Nobody knows whether it left: it is held, and a late answer or a receipt may tell. A carrier that gives our id back names
 *  the message by it. */
export const holdChange = (message: Message, detail: string, { link, nowMs, receiptWaitMs }: HoldContext): Change => ({
  ...noteOn({ ...message, hasUnknown: true }, nowMs, {
    type: "attempt.unknown",
    isIgnored: false,
    detail: { attempt: attemptOf(message, link, { outcome: "unknown", detail }) },
    move: { kind: "wait", state: "held", afterMs: Math.round(link.onUnknown.holdMs) },
  }),
  reference: { link: link.name, providerMessageId: encodeId("msg", message.id), expiresAtMs: nowMs + receiptWaitMs },
});

/** Nothing was heard while it was held: what the link's policy says. */
export const afterHold = ({ onUnknown }: Pick<Link, "onUnknown">): Signal =>
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
