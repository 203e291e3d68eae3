/** Submits one message, its parts one after the other. So a message whose first part is refused has left nothing behind, and parts reach
 *  the carrier in order. Other messages fill the window meanwhile. */
import { backoffMs } from "../../lib/backoff.ts";
import { pause } from "../../lib/wait.ts";
import { LATE_RESPONSE, throttled, WITHDRAWN, type AcceptedParts, type Begin, type Receipt, type SendOutcome } from "../provider.ts";
import { STATUS, type Pdu, type ShortMessage } from "./pdu.ts";
import type { RequestOutcome } from "./session.ts";
import { statusCode, type Refused, type Statuses } from "./status.ts";
import type { Admission, PartOutcome, SubmitQueue } from "./submit-queue.ts";

export type Submission = {
  /** Our id of the message. */
  reference: string;
  parts: readonly ShortMessage[];
  /** The number in the parts that ties them together. */
  partsReference: number;
  /** The carrier ids of the first parts, if the carrier has accepted them in an earlier attempt. */
  acceptedIds: readonly string[];
  queue: SubmitQueue;
  responseMs: number;
  signal: AbortSignal;
  /** Returns the signal of the next part. */
  renew: () => AbortSignal;
  /** Called when the first part is admitted. */
  begin: Begin;
  statuses: Statuses;
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

/** A message on its way. `ids` are the carrier ids of the accepted parts, in order. */
class Run {
  readonly submission: Submission;
  readonly ids: string[];
  signal: AbortSignal;

  constructor(submission: Submission) {
    this.submission = submission;
    this.ids = [...submission.acceptedIds];
    this.signal = submission.signal;
  }

  /** Whether the carrier has accepted a part in this attempt. Then the others should follow it, however long that takes. */
  get isStarted(): boolean {
    return this.ids.length > this.submission.acceptedIds.length;
  }

  get missing(): number {
    return this.submission.parts.length - this.ids.length;
  }

  /** The accepted parts, if others are missing. */
  get acceptedParts(): { acceptedParts?: AcceptedParts } {
    const { parts, partsReference } = this.submission;
    if (this.ids.length === 0) return {};
    return { acceptedParts: { ids: [...this.ids], total: parts.length, reference: partsReference } };
  }

  unknown(detail: string): SendOutcome {
    const { parts } = this.submission;
    const counted = parts.length === 1 ? detail : `${detail}; ${this.ids.length} of ${parts.length} parts were accepted`;
    return { kind: "unknown", detail: counted, ...this.acceptedParts };
  }
}

export async function submit(submission: Submission): Promise<SendOutcome> {
  const { queue } = submission;
  const run = new Run(submission);
  for (let attempts = 1; run.missing > 0;) {
    const step = await submitPart(run);
    if (step.kind === "end") {
      // A message that has not started has no unfinished parts.
      if (step.isAdmitted || run.isStarted) queue.finish(run.missing);
      return step.outcome;
    }
    if (step.kind === "id") {
      queue.finish(1);
      run.ids.push(step.id);
      if (run.missing > 0) run.signal = submission.renew();
      attempts = 1;
      continue;
    }
    await pause(backoffMs(attempts, FIRST_RETRY_MS, MAX_RETRY_MS), run.signal);
    attempts += 1;
  }
  const [providerMessageId = "", ...furtherPartIds] = run.ids;
  return { kind: "accepted", providerMessageId, ...(furtherPartIds.length > 0 ? { furtherPartIds } : {}) };
}

/** Submits the first part that has no id yet. */
async function submitPart(run: Run): Promise<PartStep> {
  const { parts, queue, begin, statuses, responseMs: limitMs } = run.submission;
  const short = parts[run.ids.length];
  const admission = await queue.admit(run.signal, run.isStarted ? "started" : run.missing);
  if (admission.kind !== "admitted" || short === undefined) return partNotSent(admission, run);
  if (!run.isStarted && !(await begin())) {
    queue.release(admission, "other");
    return end(WITHDRAWN);
  }
  const { signal } = run;
  const limits = { limitMs, signal, onLateResponse: (pdu: Pdu): void => reportLateResponse(pdu, run) };
  const isUnsent = signal.aborted || !queue.hasLease;
  if (!isUnsent) admission.place?.write(performance.now());
  const outcome: RequestOutcome = isUnsent ? { kind: "unsent" } : await admission.session.request({ command: "submit_sm", short }, limits);
  queue.release(admission, partOutcome(outcome, statuses));
  if (outcome.kind === "unsent") return partNotSent({ kind: "unbound" }, run, true);
  if (outcome.kind !== "response") return end(run.unknown(outcome.detail));
  return nextStep(outcome.pdu, run);
}

const end = (outcome: SendOutcome, isAdmitted = true): PartStep => ({ kind: "end", outcome, isAdmitted });

/** The status of a response. A generic_nack replaces a response and never means success. */
const commandStatus = (pdu: Pdu): number => (pdu.command === "generic_nack" && pdu.status === STATUS.ok ? STATUS.unknownError : pdu.status);

function partOutcome(outcome: RequestOutcome, statuses: Statuses): PartOutcome {
  if (outcome.kind !== "response") return "other";
  const status = commandStatus(outcome.pdu);
  return status === STATUS.ok ? "accepted" : statuses.classOf(status) === "throttle" ? "throttled" : "other";
}

function nextStep(pdu: Pdu, run: Run): PartStep {
  const { queue, statuses } = run.submission;
  const status = commandStatus(pdu);
  if (status === STATUS.ok) {
    const id = carrierId(pdu, run);
    return id === undefined ? end(run.unknown(`answered with ${pdu.command}`)) : { kind: "id", id };
  }
  const isThrottled = statuses.classOf(status) === "throttle";
  const refused = statuses.toRefusal(status);
  if (run.isStarted && (isThrottled || !refused.isPermanent)) return { kind: "retry" };
  if (isThrottled) return end(throttled(queue.pauseMs, statusCode(status)));
  return end(run.ids.length === 0 ? refused : refusedAfterParts(refused, run));
}

/** The carrier id of an accepted part. A part without one gets an id of ours, which no receipt will match. */
function carrierId(pdu: Pdu, { ids, submission }: Run): string | undefined {
  if (pdu.command !== "submit_sm_resp") return undefined;
  return pdu.id.trim() === "" ? `unnamed ${submission.reference} ${ids.length + 1}` : pdu.id.trim();
}

/** The step after a part of which nothing was written. */
function partNotSent(admission: Admission, run: Run, isAdmitted = false): PartStep {
  const { queue } = run.submission;
  if (run.isStarted) {
    const isFinal = run.signal.aborted || admission.kind === "closed";
    return isFinal ? end(run.unknown("the rest was not sent in time")) : { kind: "retry" };
  }
  return end(throttled(queue.pauseMs > 0 ? queue.pauseMs : UNBOUND_WAIT_MS, null), isAdmitted);
}

const refusedAfterParts = (refused: Refused, { ids, submission, acceptedParts }: Run): Refused => ({
  ...refused,
  message: `${refused.message}: part ${ids.length + 1} of ${submission.parts.length}, after the previous parts were accepted`,
  ...acceptedParts,
});

/** Reports a response that comes after the attempt has ended as a receipt. It has our reference, since the carrier id is not stored.
 *  The response to a part before the last reports nothing, since the other parts were not sent. */
function reportLateResponse(pdu: Pdu, run: Run): void {
  const { reference, statuses, onLateReceipts } = run.submission;
  const status = commandStatus(pdu);
  const raw = { [LATE_RESPONSE]: statusCode(status) };
  if (status === STATUS.ok) {
    const id = carrierId(pdu, run);
    if (id === undefined || run.missing > 1) return;
    const ids = [...run.ids, id];
    const named = ids.length === 1 ? { providerMessageId: id } : { providerMessageId: null, partIds: ids };
    return onLateReceipts([{ ...named, reference, status: "sent", error: null, raw: { ...raw, id } }]);
  }
  const { code, message, providerCode, isPermanent } = statuses.toRefusal(status);
  if (isPermanent)
    onLateReceipts([{ providerMessageId: null, reference, status: "failed", error: { code, message, providerCode, isPermanent }, raw }]);
}
