/** The rules of attempts: decides how the outcome of an attempt changes the message. Pure functions; `attempt.ts` stores the changes. */
import type { ConsentRefusal } from "../consent/refusal.ts";
import type { Detail } from "../events/detail.ts";
import { assert, unreachable } from "../lib/assert.ts";
import { backoffMs } from "../lib/backoff.ts";
import { encodeId } from "../model/id.ts";
import { ERASED } from "../model/phone-number.ts";
import { isoTime } from "../lib/time.ts";
import { uuidTimeMs } from "../lib/uuid.ts";
import type { Link } from "../links/link.ts";
import {
  changeBy,
  endSignal,
  noteOn,
  type Change,
  type Chosen,
  type ProviderReference,
  type Signal,
  type StoredParts,
} from "../messages/change.ts";
import { eraseChange } from "../messages/erased.ts";
import type { Message, MessageError } from "../messages/message.ts";
import { OUTCOME_UNKNOWN } from "../messages/states.ts";
import type { AcceptedParts, SendOutcome } from "../providers/provider.ts";

// Ten refusals take four to nine minutes. A fault that lasts longer is not temporary.
const MAX_REFUSALS = 10;
const FIRST_RETRY_MS = 1_000;
const MAX_RETRY_MS = 600_000;

// The longest pause that a carrier can request. A mistake of the carrier must not stop a link for days.
const MAX_THROTTLE_MS = 3_600_000;

/** The pause that a carrier requests, limited to the maximum; null if it requests none. */
export const throttleMs = (retryAfterMs: number | null): number | null =>
  retryAfterMs !== null && Number.isFinite(retryAfterMs) && retryAfterMs > 0 ? Math.min(Math.ceil(retryAfterMs), MAX_THROTTLE_MS) : null;

export type SettleContext = {
  link: Link;
  receiptWaitMs: number;
  nowMs: number;
  /** The next link of the route and the sender there, if the route has another link. */
  next?: (message: Message) => { link: Link; chosen: Chosen } | undefined;
};

/** The attempt as an entry of the timeline. */
const attemptEntry = (
  { attempts }: { attempts: number },
  link: Pick<Link, "name">,
  facts: Omit<NonNullable<Detail["attempt"]>, "number" | "link">,
) => ({
  number: attempts,
  link: link.name,
  ...facts,
});

/** The time to live passed before the message was submitted. */
export const ttlExpiredSignal = endSignal(
  "expired",
  { code: "ttl_expired", message: "The message was not submitted to a carrier within its time to live.", permanent: false },
  "ttl_seconds passed",
);

/** An opt-out, or the end of a service window, that came after the message was accepted. */
export const consentSignal = (code: ConsentRefusal): Signal =>
  endSignal("failed", { code, message: UNWILLING[code], permanent: true }, "our own check at send time");

const UNWILLING: Readonly<Record<ConsentRefusal, string>> = {
  recipient_opted_out: "The recipient opted out before the message was submitted to a carrier.",
  service_window_closed: "The 24-hour service window of the recipient had closed before the message was submitted to a carrier.",
};

/** The content was sealed with a secret key that this service no longer has. */
export const unreadableSignal = endSignal(
  "failed",
  { code: "content_unreadable", message: "The text was encrypted with a secret key that is no longer known.", permanent: true },
  "the server's secret key was changed",
);

/** The file of the message was deleted before the message was sent. */
export const mediaMissingSignal = endSignal(
  "failed",
  { code: "media_missing", message: "The file of the message was deleted before the message was sent.", permanent: true },
  "the file of the message is gone",
);

/** Decides the effect of an outcome: a change of the status, or a note on the timeline. `attempt` is the number of the attempt that had the
 *  outcome. A later attempt may be in progress already; then only an acceptance of the earlier one changes the message. */
export function settleChange(message: Message, outcome: SendOutcome, context: SettleContext, attempt = message.attempts): Change {
  const change = decideChange(message, outcome, context, attempt);
  return message.recipient === ERASED ? eraseChange(change) : change;
}

function decideChange(message: Message, outcome: SendOutcome, context: SettleContext, attempt: number): Change {
  const isLast = attempt === message.attempts;
  const attempted = { ...message, attempts: attempt };
  assert(outcome.kind !== "withdrawn", "a message that was withdrawn has no outcome");
  if (outcome.kind === "unknown") {
    const isOpen = isLast && message.status === "sending";
    return isOpen ? holdChange(message, outcome, context) : unknownNote(message, attempted, outcome.detail, context);
  }
  const signal = settleSignal(attempted, outcome, context);
  const change = isLast || outcome.kind === "accepted" ? changeBy(message, signal, context.nowMs) : undefined;
  return change ?? lateNote(message, signal, context);
}

/** The unknown outcome of an earlier attempt. The message has changed since, and is not held for it. */
const unknownNote = (message: Message, attempted: Message, detail: string, { link, nowMs }: SettleContext): Change =>
  noteOn(message, nowMs, {
    type: "attempt.unknown",
    isIgnored: true,
    detail: { attempt: attemptEntry(attempted, link, { outcome: "unknown", detail }) },
    move: { kind: "stay" },
  });

/** A response that arrived after the message had changed without it. The timeline keeps the response, and the carrier id is stored. */
function lateNote(message: Message, signal: Signal, { nowMs }: SettleContext): Change {
  const note = noteOn(message, nowMs, { type: `message.${signal.status}`, isIgnored: true, detail: signal.detail, move: { kind: "stay" } });
  const { provider } = signal;
  return provider?.messageId === undefined || provider.messageId === null || message.provider?.messageId !== null
    ? { ...note, reference: signal.reference ?? null }
    : { ...note, after: { ...note.after, provider }, reference: signal.reference ?? null };
}

function settleSignal(message: Message, outcome: Exclude<SendOutcome, { kind: "unknown" | "withdrawn" }>, context: SettleContext): Signal {
  const { link, nowMs } = context;
  switch (outcome.kind) {
    case "accepted":
      return {
        status: "sent",
        provider: { name: link.provider, link: link.name, messageId: outcome.isOurs === true ? null : outcome.providerMessageId },
        detail: { attempt: attemptEntry(message, link, acceptedAttempt(outcome)) },
        move: { kind: "leave" },
        reference: {
          link: link.name,
          providerMessageId: outcome.providerMessageId,
          expiresAtMs: nowMs + context.receiptWaitMs,
          ...allParts(outcome),
        },
      };
    case "refused":
      return refusedSignal(message, outcome, context);
    case "throttled": {
      // Throttling of the link returns the message to the front of the lane, which pauses as a whole. Throttling of the recipient
      // delays only this message.
      const retryMs = throttleMs(outcome.retryAfterMs) ?? backoffMs(message.attempts, FIRST_RETRY_MS, MAX_RETRY_MS);
      const due = outcome.scope === "link" ? { atMs: Math.min(uuidTimeMs(message.id), nowMs) } : { afterMs: retryMs };
      const attempt = attemptEntry(message, link, {
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

/** The timeline shows an id only if it is the carrier's. */
const acceptedAttempt = ({ providerMessageId, isOurs }: Extract<SendOutcome, { kind: "accepted" }>) =>
  ({ outcome: "accepted", ...(isOurs === true ? {} : { provider_message_id: providerMessageId }) }) as const;

const areDistinct = (ids: readonly string[]): boolean =>
  new Set(ids).size === ids.length && ids.every((id) => id !== "" && !id.includes("\n"));

/** The carrier ids of the parts, if every part has its own. A carrier that gives one id to several parts reports about the message as
 *  a whole. */
function allParts({ providerMessageId, furtherPartIds = [] }: Extract<SendOutcome, { kind: "accepted" }>): { parts?: StoredParts } {
  const ids = [providerMessageId, ...furtherPartIds];
  return furtherPartIds.length > 0 && areDistinct(ids) ? { parts: { ids, total: ids.length, reference: null } } : {};
}

/** The parts that a carrier has accepted although the attempt failed. */
const firstParts = ({ acceptedParts }: { acceptedParts?: AcceptedParts | undefined }): { parts?: StoredParts } =>
  acceptedParts !== undefined && acceptedParts.ids.length > 0 && areDistinct(acceptedParts.ids) ? { parts: acceptedParts } : {};

type Refused = Extract<SendOutcome, { kind: "refused" }>;

function refusedSignal(message: Message, outcome: Refused, context: SettleContext): Signal {
  const { link, nowMs, next } = context;
  const { code, providerCode, isPermanent } = outcome;
  const refused = { outcome: "refused", provider_code: providerCode, detail: outcome.message } as const;
  const refusals = message.refusals + 1;
  if (isPermanent || refusals >= MAX_REFUSALS) {
    const error: MessageError = { code, message: outcome.message, permanent: isPermanent, provider_code: providerCode };
    const attempt = attemptEntry(message, link, refused);
    return { status: "failed", error, detail: { attempt }, move: { kind: "leave" }, reference: partsReference(outcome, context) };
  }
  const afterMs = backoffMs(refusals, FIRST_RETRY_MS, MAX_RETRY_MS);
  const other = next?.(message);
  return {
    status: "queued",
    detail: {
      attempt: attemptEntry(message, link, { ...refused, retry_at: isoTime(nowMs + afterMs) }),
      ...(other === undefined ? {} : { reason: `${other.link.name} takes it next` }),
    },
    refusals,
    ...(other === undefined ? {} : { chosen: other.chosen }),
    move: { kind: "wait", state: "waiting", afterMs, ...(other === undefined ? {} : { lane: other.link.name }) },
  };
}

/** The reference of a message whose first parts only the carrier has accepted: by the id of the first part. */
function partsReference(outcome: Refused, { link, nowMs, receiptWaitMs }: SettleContext): ProviderReference | null {
  const { parts } = firstParts(outcome);
  const [providerMessageId] = parts?.ids ?? [];
  if (parts === undefined || providerMessageId === undefined) return null;
  return { link: link.name, providerMessageId, expiresAtMs: nowMs + receiptWaitMs, parts };
}

/** The outcome of an attempt whose process ended before the response. */
export const PROCESS_ENDED = { detail: "the process that submitted it ended before the response arrived" } as const;

export type HoldContext = Pick<SettleContext, "nowMs" | "receiptWaitMs"> & { link: Pick<Link, "name" | "onUnknown"> };

/** Holds a message of unknown outcome: a late response or a receipt may still report the outcome. Some carriers return our message id in
 *  their receipts, so it is stored as a carrier id. */
export const holdChange = (
  message: Message,
  { detail, ...accepted }: Pick<Extract<SendOutcome, { kind: "unknown" }>, "detail" | "acceptedParts">,
  { link, nowMs, receiptWaitMs }: HoldContext,
): Change => ({
  ...noteOn({ ...message, hasUnknown: true }, nowMs, {
    type: "attempt.unknown",
    isIgnored: false,
    detail: { attempt: attemptEntry(message, link, { outcome: "unknown", detail }) },
    move: { kind: "wait", state: "held", afterMs: Math.round(link.onUnknown.holdMs) },
  }),
  reference: {
    link: link.name,
    providerMessageId: encodeId("msg", message.id),
    expiresAtMs: nowMs + receiptWaitMs,
    ...firstParts(accepted),
  },
});

/** The end of a hold without a response or receipt. The policy of the link decides. */
export const afterHold = ({ onUnknown }: Pick<Link, "onUnknown">): Signal =>
  onUnknown.policy === "resend"
    ? { status: "queued", detail: { reason: "on_unknown: resend" }, move: { kind: "wait", state: "waiting", afterMs: 0 } }
    : endSignal(
        "failed",
        {
          code: OUTCOME_UNKNOWN,
          message: "The carrier did not confirm whether it accepted the message. The message was not sent again.",
          permanent: false,
        },
        "on_unknown: fail",
      );

/** The error that the state of a link shows; null for an accepted message. */
export function errorOf(outcome: SendOutcome): string | null {
  switch (outcome.kind) {
    case "accepted":
    case "withdrawn":
      return null;
    case "unknown":
      return "outcome_unknown";
    case "throttled":
      return `throttled${outcome.providerCode === null ? "" : ` (${outcome.providerCode})`}`;
    case "refused":
      return outcome.code;
    default:
      return unreachable(outcome);
  }
}
