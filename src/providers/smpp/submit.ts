/** Submits one message, its parts one after the other. So a message whose first part is refused has left nothing behind, and parts reach
 *  the carrier in order. Other messages fill the window meanwhile. */
import { backoffMs } from "../../lib/backoff.ts";
import { pause } from "../../lib/wait.ts";
import { WITHDRAWN, type Begin, type Receipt, type SendOutcome } from "../provider.ts";
import { STATUS, type Pdu, type ShortMessage } from "./pdu.ts";
import type { RequestOutcome } from "./pending-requests.ts";
import { isThrottling, statusCode, toRefusal, type Refused } from "./status.ts";
import type { Admission, PartOutcome, SubmitQueue } from "./submit-queue.ts";

export type Submission = {
  /** Our id of the message. */
  reference: string;
  parts: readonly ShortMessage[];
  queue: SubmitQueue;
  responseMs: number;
  signal: AbortSignal;
  /** Called when the first part is admitted. */
  begin: Begin;
  /** Called with every carrier id. */
  onCarrierId: (id: string) => void;
  /** Called with the receipts that a late response stands for. */
  onLateReceipts: (receipts: readonly Receipt[]) => void;
};

// The waits of a part after the first, when the carrier cannot accept it for the moment.
const FIRST_RETRY_MS = 200;
const MAX_RETRY_MS = 5_000;
// The wait when the link is not bound: within this time it mostly is again.
const UNBOUND_WAIT_MS = 1_000;

/** `isAdmitted`: the part was admitted, so its message has started. */
type PartStep = { kind: "id"; id: string } | { kind: "retry" } | { kind: "end"; outcome: SendOutcome; isAdmitted: boolean };

export async function submit(submission: Submission): Promise<SendOutcome> {
  const { queue, parts } = submission;
  const ids: string[] = [];
  for (let attempts = 1; ids.length < parts.length;) {
    const step = await submitPart(submission, ids);
    if (step.kind === "end") {
      // A message that has not started has no unfinished parts.
      if (step.isAdmitted || ids.length > 0) queue.finish(parts.length - ids.length);
      return step.outcome;
    }
    if (step.kind === "id") {
      queue.finish(1);
      ids.push(step.id);
      attempts = 1;
      continue;
    }
    await pause(backoffMs(attempts, FIRST_RETRY_MS, MAX_RETRY_MS), submission.signal);
    attempts += 1;
  }
  const [providerMessageId = "", ...furtherPartIds] = ids;
  return { kind: "accepted", providerMessageId, ...(furtherPartIds.length > 0 ? { furtherPartIds } : {}) };
}

/** Submits the first part that has no id yet. */
async function submitPart(submission: Submission, ids: readonly string[]): Promise<PartStep> {
  const { parts, queue, signal } = submission;
  const short = parts[ids.length];
  const admission = await queue.admit(signal, ids.length > 0 ? "started" : parts.length);
  if (admission.kind !== "admitted" || short === undefined) return partNotSent(admission, ids, submission);
  if (ids.length === 0 && !(await submission.begin())) {
    queue.release(admission.atMs, "other");
    return end(WITHDRAWN);
  }
  const outcome = await sendPart(submission, admission, short, ids);
  queue.release(admission.atMs, partOutcome(outcome));
  if (outcome.kind === "unsent") return partNotSent({ kind: "unbound" }, ids, submission, true);
  if (outcome.kind !== "response") return end({ kind: "unknown", detail: withPartCount(outcome.detail, ids, parts) });
  return nextStep(outcome.pdu, ids, submission);
}

async function sendPart(
  submission: Submission,
  admission: Admission & { kind: "admitted" },
  short: ShortMessage,
  ids: readonly string[],
): Promise<RequestOutcome> {
  const { signal, responseMs: limitMs } = submission;
  if (signal.aborted || !submission.queue.hasLease) return { kind: "unsent" };
  const onLateResponse = (pdu: Pdu): void => reportLateResponse(pdu, ids, submission);
  return admission.session.request({ command: "submit_sm", short }, { limitMs, signal, onLateResponse });
}

const end = (outcome: SendOutcome, isAdmitted = true): PartStep => ({ kind: "end", outcome, isAdmitted });

/** The status of a response. A generic_nack replaces a response and never means success. */
const commandStatus = (pdu: Pdu): number => (pdu.command === "generic_nack" && pdu.status === STATUS.ok ? STATUS.unknownError : pdu.status);

function partOutcome(outcome: RequestOutcome): PartOutcome {
  if (outcome.kind !== "response") return "other";
  const status = commandStatus(outcome.pdu);
  return status === STATUS.ok ? "accepted" : isThrottling(status) ? "throttled" : "other";
}

function nextStep(pdu: Pdu, ids: readonly string[], submission: Submission): PartStep {
  const { parts, queue } = submission;
  const status = commandStatus(pdu);
  if (status === STATUS.ok) {
    const id = carrierId(pdu, ids.length, submission);
    return id === undefined
      ? end({ kind: "unknown", detail: withPartCount(`answered with ${pdu.command}`, ids, parts) })
      : { kind: "id", id };
  }
  // When a part has left, the others should follow it, however long that takes.
  if (isThrottling(status))
    return ids.length > 0
      ? { kind: "retry" }
      : end({ kind: "throttled", scope: "link", retryAfterMs: queue.pauseMs, providerCode: statusCode(status) });
  const refused = toRefusal(status);
  if (ids.length === 0) return end(refused);
  return refused.isPermanent ? end(refusedAfterParts(refused, ids, parts)) : { kind: "retry" };
}

/** The carrier id of an accepted part. A part without one gets an id of ours, which no receipt will match. */
function carrierId(pdu: Pdu, index: number, { reference, onCarrierId }: Submission): string | undefined {
  if (pdu.command !== "submit_sm_resp") return undefined;
  const id = pdu.id.trim() === "" ? `unnamed ${reference} ${index + 1}` : pdu.id.trim();
  onCarrierId(id);
  return id;
}

/** The step after a part of which nothing was written. */
function partNotSent(admission: Admission, ids: readonly string[], { parts, signal, queue }: Submission, isAdmitted = false): PartStep {
  if (ids.length > 0) {
    const isFinal = signal.aborted || admission.kind === "closed";
    return isFinal ? end({ kind: "unknown", detail: withPartCount("the rest was not sent in time", ids, parts) }) : { kind: "retry" };
  }
  const retryAfterMs = queue.pauseMs > 0 ? queue.pauseMs : UNBOUND_WAIT_MS;
  return end({ kind: "throttled", scope: "link", retryAfterMs, providerCode: null }, isAdmitted);
}

const withPartCount = (detail: string, ids: readonly string[], parts: readonly ShortMessage[]): string =>
  parts.length === 1 ? detail : `${detail}; ${ids.length} of ${parts.length} parts were accepted`;

const refusedAfterParts = (refused: Refused, ids: readonly string[], parts: readonly ShortMessage[]): Refused => ({
  ...refused,
  message: `${refused.message}: part ${ids.length + 1} of ${parts.length}, when those before it had been accepted`,
});

/** Reports a response that comes after the attempt has ended as receipts. These have our reference, since the carrier id is not stored.
 *  The response to a part before the last reports nothing, since the other parts were not sent. */
function reportLateResponse(pdu: Pdu, ids: readonly string[], submission: Submission): void {
  const { reference, parts, onLateReceipts } = submission;
  const status = commandStatus(pdu);
  const raw = { answer: statusCode(status) };
  const isLast = ids.length === parts.length - 1;
  if (status === STATUS.ok) {
    const id = carrierId(pdu, ids.length, submission);
    if (id === undefined || !isLast) return;
    onLateReceipts(
      [...ids, id].map((each) => ({ providerMessageId: each, reference, status: "sent", error: null, raw: { ...raw, id: each } })),
    );
    return;
  }
  const { code, message, providerCode, isPermanent } = toRefusal(status);
  if (isPermanent && !isThrottling(status))
    onLateReceipts([{ providerMessageId: null, reference, status: "failed", error: { code, message, providerCode, isPermanent }, raw }]);
}
