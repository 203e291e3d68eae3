/** One message: its parts, one after the other. So a message whose first part is refused has left nothing behind, and parts reach
 *  the carrier in their order; the window is filled by other messages meanwhile. */
import { backoffMs } from "../../lib/backoff.ts";
import { pause } from "../../lib/wait.ts";
import type { Receipt, SendOutcome } from "../provider.ts";
import type { Entry, Gate, Verdict } from "./gate.ts";
import { STATUS, type Pdu, type Short } from "./pdu.ts";
import type { Answer } from "./requests.ts";
import { isThrottle, refusedBy, statusCode, type Refused } from "./status.ts";

export type Submission = {
  /** Our id of the message. */
  reference: string;
  parts: readonly Short[];
  gate: Gate;
  responseMs: number;
  signal: AbortSignal;
  /** Every id that the carrier gives. */
  named: (id: string) => void;
  /** What an answer says that came too late. */
  late: (receipts: readonly Receipt[]) => void;
};

// Of parts after the first, when the carrier cannot take one just now.
const FIRST_AGAIN_MS = 200;
const MAX_AGAIN_MS = 5_000;
// Where no pause is known: a connection mostly is back by then.
const UNBOUND_WAIT_MS = 1_000;

type Step = { kind: "id"; id: string } | { kind: "again" } | { kind: "end"; outcome: SendOutcome; hasEntered: boolean };

export async function submit(submission: Submission): Promise<SendOutcome> {
  const { gate, parts } = submission;
  const ids: string[] = [];
  for (let tries = 1; ids.length < parts.length;) {
    const step = await submitPart(submission, ids);
    if (step.kind === "end") {
      // Of what has not begun nothing is owed.
      if (step.hasEntered || ids.length > 0) gate.paid(parts.length - ids.length);
      return step.outcome;
    }
    if (step.kind === "id") {
      gate.paid(1);
      ids.push(step.id);
      tries = 1;
      continue;
    }
    await pause(backoffMs(tries, FIRST_AGAIN_MS, MAX_AGAIN_MS), submission.signal);
    tries += 1;
  }
  const [providerMessageId = "", ...furtherPartIds] = ids;
  return { kind: "accepted", providerMessageId, ...(furtherPartIds.length > 0 ? { furtherPartIds } : {}) };
}

/** The part after those that have ids. */
async function submitPart(submission: Submission, ids: readonly string[]): Promise<Step> {
  const { parts, gate, signal } = submission;
  const short = parts[ids.length];
  const entry = await gate.enter(signal, ids.length > 0 ? "begun" : parts.length);
  if (entry.kind !== "entered" || short === undefined) return notLeft(entry, ids, submission);
  const answer = await ask(submission, entry, short, ids);
  gate.leave(entry.atMs, verdictOf(answer));
  if (answer.kind === "unsent") return notLeft({ kind: "unbound" }, ids, submission, true);
  if (answer.kind !== "answer") return end({ kind: "unknown", detail: inPart(answer.detail, ids, parts) });
  return stepBy(answer.pdu, ids, submission);
}

async function ask(submission: Submission, entry: Entry & { kind: "entered" }, short: Short, ids: readonly string[]): Promise<Answer> {
  const { signal, responseMs: limitMs } = submission;
  if (signal.aborted) return { kind: "unsent" };
  const late = (pdu: Pdu): void => tellLate(pdu, ids, submission);
  return entry.session.request({ command: "submit_sm", short }, { limitMs, signal, late });
}

const end = (outcome: SendOutcome, hasEntered = true): Step => ({ kind: "end", outcome, hasEntered });

/** A generic_nack stands for the answer, and is never a yes. */
const statusOf = (pdu: Pdu): number => (pdu.command === "generic_nack" && pdu.status === STATUS.ok ? STATUS.unknownError : pdu.status);

function verdictOf(answer: Answer): Verdict {
  if (answer.kind !== "answer") return "other";
  const status = statusOf(answer.pdu);
  return status === STATUS.ok ? "accepted" : isThrottle(status) ? "throttled" : "other";
}

function stepBy(pdu: Pdu, ids: readonly string[], submission: Submission): Step {
  const { parts, gate } = submission;
  const status = statusOf(pdu);
  if (status === STATUS.ok) {
    const id = idOf(pdu, ids.length, submission);
    return id === undefined ? end({ kind: "unknown", detail: inPart(`answered with ${pdu.command}`, ids, parts) }) : { kind: "id", id };
  }
  // Once something has left, the rest should follow it, however long that takes.
  if (isThrottle(status))
    return ids.length > 0
      ? { kind: "again" }
      : end({ kind: "throttled", scope: "link", retryAfterMs: gate.pauseMs, providerCode: statusCode(status) });
  const refused = refusedBy(status);
  if (ids.length === 0) return end(refused);
  return refused.isPermanent ? end(refusedInPart(refused, ids, parts)) : { kind: "again" };
}

/** A carrier that takes a message and gives it no name: then it has one of ours, and no receipt will find it. */
function idOf(pdu: Pdu, place: number, { reference, named }: Submission): string | undefined {
  if (pdu.command !== "submit_sm_resp") return undefined;
  const id = pdu.id.trim() === "" ? `unnamed ${reference} ${place + 1}` : pdu.id.trim();
  named(id);
  return id;
}

/** Of this part nothing was written. */
function notLeft(entry: Entry, ids: readonly string[], { parts, signal, gate }: Submission, hasEntered = false): Step {
  if (ids.length > 0) {
    const isOver = signal.aborted || entry.kind === "closed";
    return isOver ? end({ kind: "unknown", detail: inPart("the rest was not sent in time", ids, parts) }) : { kind: "again" };
  }
  const retryAfterMs = gate.pauseMs > 0 ? gate.pauseMs : UNBOUND_WAIT_MS;
  return end({ kind: "throttled", scope: "link", retryAfterMs, providerCode: null }, hasEntered);
}

const inPart = (detail: string, ids: readonly string[], parts: readonly Short[]): string =>
  parts.length === 1 ? detail : `${detail}; ${ids.length} of ${parts.length} parts were accepted`;

const refusedInPart = (refused: Refused, ids: readonly string[], parts: readonly Short[]): Refused => ({
  ...refused,
  message: `${refused.message}: part ${ids.length + 1} of ${parts.length}, when those before it had been accepted`,
});

/** An answer to somebody who had given up says of the message what a receipt would: by our id, since that of the carrier is news.
 *  Of a part that others were to follow it says nothing, for they did not. */
function tellLate(pdu: Pdu, ids: readonly string[], submission: Submission): void {
  const { reference, parts, late } = submission;
  const status = statusOf(pdu);
  const raw = { answer: statusCode(status) };
  const isLast = ids.length === parts.length - 1;
  if (status === STATUS.ok) {
    const id = idOf(pdu, ids.length, submission);
    if (id === undefined || !isLast) return;
    late([...ids, id].map((each) => ({ providerMessageId: each, reference, status: "sent", error: null, raw: { ...raw, id: each } })));
    return;
  }
  const { code, message, providerCode, isPermanent } = refusedBy(status);
  if (isPermanent && !isThrottle(status))
    late([{ providerMessageId: null, reference, status: "failed", error: { code, message, providerCode, isPermanent }, raw }]);
}
