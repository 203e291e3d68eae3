/** The decision about one request to send, in the form in which it is stored: the message with its event, queue entry and fallback, or a
 *  refusal. */
import type { Problem } from "../http/problem.ts";
import type { IdempotencyClaim } from "../idempotency/key.ts";
import { assert } from "../lib/assert.ts";
import { firstEventId, type AccountId, type EventId } from "../model/id.ts";
import type { SecretBox } from "../lib/secret-box.ts";
import type { Link } from "../links/link.ts";
import type { Environment, Owner } from "../model/owner.ts";
import { startTimeMs, type Composed } from "./compose.ts";
import type { FallbackStep, NewFallback } from "./fallbacks.ts";
import { MAX_RECORD_BYTES, messageRecord, type Message } from "./message.ts";
import { messageTooLarge } from "./new-message.ts";
import { SCHEDULED_LANE, type QueueEntry } from "./queue-entry.ts";
import { sealContent, sealSteps } from "./sealed.ts";

/** A message with its event, or a refusal that is stored only under its idempotency key. */
export type Acceptance = {
  accountId: AccountId;
  environment: Environment;
  /** The time of the decision, from which the idempotency key counts its 24 hours. */
  atMs: number;
  claim: IdempotencyClaim | undefined;
  message: Message | null;
  event: { id: EventId; type: string; record: string } | null;
  queueEntry: QueueEntry | null;
  fallback: NewFallback | null;
  response: { status: number; location: string | null; body: string | null };
};

export type MessageAcceptance = Acceptance & { message: Message; queueEntry: QueueEntry };

/** Throws where the record is too large for an event. `box` is required where the content is a secret. */
export function toAcceptance({ message, link, steps, secret }: Composed, claim?: IdempotencyClaim, box?: SecretBox): MessageAcceptance {
  const record = messageRecord(message);
  const text = JSON.stringify(record);
  if (Buffer.byteLength(text) > MAX_RECORD_BYTES) throw messageTooLarge();
  return {
    accountId: message.accountId,
    environment: message.environment,
    atMs: message.updatedAtMs,
    claim,
    message,
    event: { id: firstEventId(message.id), type: `message.${message.status}`, record: text },
    queueEntry: queueEntryFor(message, link, secret && sealContent(required(box), message.id, secret)),
    fallback: steps.length === 0 ? null : newFallback(message, steps, secret === null ? undefined : required(box)),
    response: { status: 202, location: `/v1/messages/${record.id}`, body: null },
  };
}

function required(box: SecretBox | undefined): SecretBox {
  assert(box !== undefined, "a secret is sealed");
  return box;
}

/** The first step is due when the time for the delivery of the message has passed. */
function newFallback(message: Message, steps: readonly FallbackStep[], box: SecretBox | undefined): NewFallback {
  return {
    steps: box === undefined ? JSON.stringify(steps) : sealSteps(box, message.id, steps),
    dueAtMs: startTimeMs(message) + (steps[0]?.afterSeconds ?? 0) * 1_000,
  };
}

const queueEntryFor = ({ status, sendAtMs }: Message, link: Link, sealedContent: string | null): QueueEntry => ({
  ...(status === "scheduled" ? { lane: SCHEDULED_LANE, dueAtMs: sendAtMs } : { lane: link.name, dueAtMs: null }),
  leaseMs: 0,
  sealedContent,
});

/** Writes the response body of a refusal. The refusal is stored with its key, so the body is written before the claim. */
export type WriteProblem = (problem: Problem) => string;

export const toRefusedAcceptance = (
  problem: Problem,
  { accountId, environment }: Owner,
  { atMs, claim, write }: { atMs: number; claim: IdempotencyClaim | undefined; write: WriteProblem },
): Acceptance => ({
  accountId,
  environment,
  atMs,
  claim,
  message: null,
  event: null,
  queueEntry: null,
  fallback: null,
  response: { status: problem.status, location: null, body: write(problem) },
});
