/** An accepted message, in the form in which it is stored. */
import { recordToStore } from "../database/stored-record.ts";
import type { Detail } from "../events/detail.ts";
import type { IdempotencyClaim } from "../idempotency/key.ts";
import { assert } from "../lib/assert.ts";
import type { SecretBox } from "../lib/secret-box.ts";
import type { Link } from "../links/link.ts";
import { firstEventId, type EventId } from "../model/id.ts";
import { startTimeMs, type Composed } from "./compose.ts";
import type { FallbackStep, NewFallback } from "./fallbacks.ts";
import { MAX_RECORD_BYTES, messageRecord, type Message } from "./message.ts";
import { messageTooLarge } from "./new-message.ts";
import { SCHEDULED_LANE, type QueueEntry } from "./queue-entry.ts";
import { sealContent, sealSteps } from "./sealed.ts";

/** A message with its event, its queue row and its fallback. */
export type Acceptance = {
  claim: IdempotencyClaim | undefined;
  message: Message;
  /** `detail`: the cause, for the timeline. */
  event: { id: EventId; type: string; record: string; detail: string | null };
  queueEntry: QueueEntry;
  fallback: NewFallback | null;
  sourceDetails: string | null;
  location: string;
  /** The record, which is the response. */
  body: string;
};

/** Throws if the record is too large for an event. `box` is required if the content is a secret. */
export function toAcceptance(
  composed: Composed,
  claim?: IdempotencyClaim,
  box?: SecretBox,
  sourceDetails: string | null = null,
): Acceptance {
  const { message, link, steps, secret, weights } = composed;
  const record = messageRecord(message);
  const text = JSON.stringify(record);
  if (Buffer.byteLength(text) > MAX_RECORD_BYTES) throw messageTooLarge();
  const eventId = firstEventId(message.id);
  return {
    claim,
    message,
    event: {
      id: eventId,
      type: `message.${message.status}`,
      record: recordToStore(message, eventId),
      detail: weights === undefined ? null : detailOf(weights),
    },
    queueEntry: queueEntryFor(message, link, secret && sealContent(required(box), message.id, secret)),
    fallback: steps.length === 0 ? null : newFallback(message, steps, secret === null ? undefined : required(box)),
    sourceDetails,
    location: `/v1/messages/${record.id}`,
    body: text,
  };
}

const detailOf = (weights: NonNullable<Composed["weights"]>): string => JSON.stringify({ links: weights } satisfies Detail);

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
