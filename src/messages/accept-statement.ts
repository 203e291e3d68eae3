/** The decision about a request to send, in the form in which it is stored, and the accept statement: key, message, events, queue row,
 *  fallback, webhook deliveries and usage of a batch of requests, in one statement and so in one transaction.
 *  docs/internals/sql/accept.sql has it as PostgreSQL receives it. */
import { consentRefusal, CONSENT_REFUSALS, type ConsentRefusal } from "../consent/refusal.ts";
import {
  NO_DELIVERIES,
  queueDeliveries,
  readOrdinals,
  selectDeliveries,
  type OrdinalRow,
  type Ordinals,
  type QueuedDeliveries,
  type WakeWebhooks,
} from "../events/publish.ts";
import type { Problem } from "../http/problem.ts";
import type { IdempotencyClaim } from "../idempotency/key.ts";
import type { Once } from "../idempotency/once.ts";
import { assert } from "../lib/assert.ts";
import type { SecretBox } from "../lib/secret-box.ts";
import type { Link } from "../links/link.ts";
import { batchStatement, column, type Column } from "../database/batch.ts";
import { ConnectionLost, type Database, type Queryable, type Tx } from "../database/database.ts";
import { findOut } from "../database/find-out.ts";
import { firstEventId, idKey, type AccountId, type EventId } from "../model/id.ts";
import type { Environment, Owner } from "../model/owner.ts";
import { NOT_DELIVERED, usageMinute } from "../usage/usage.ts";
import { startTimeMs, type Composed } from "./compose.ts";
import type { FallbackStep, NewFallback } from "./fallbacks.ts";
import { MAX_RECORD_BYTES, messageRecord, type Message } from "./message.ts";
import { messageTooLarge } from "./new-message.ts";
import { existingMessages } from "./queries.ts";
import { PRIORITY_RANK, SCHEDULED_LANE, type QueueEntry } from "./queue-entry.ts";
import { metadataText } from "./rows.ts";
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

// The steps of the statement read each row from its first column to the last one that they need. Columns of several steps are therefore the
// first, and long texts the last.
const columns: readonly Column<Acceptance>[] = [
  column("account_id", "uuid", ({ accountId }) => accountId),
  column("environment", "text", ({ environment }) => environment),
  column("message_id", "uuid", ({ message }) => message?.id ?? null),
  column("updated_at", "timestamptz", ({ atMs }) => atMs),
  // Usage, with channel, status and segments below.
  column("usage_minute", "integer", ({ message }) => message && usageMinute(message)),
  // The queue row.
  column("priority_rank", "smallint", ({ message }) => (message === null ? null : PRIORITY_RANK[message.priority])),
  column("lane", "text", ({ queueEntry }) => queueEntry?.lane ?? null),
  column(
    "due_at",
    "timestamptz",
    ({ queueEntry, message }) => queueEntry && (queueEntry.dueAtMs ?? (message?.updatedAtMs ?? 0) + queueEntry.leaseMs),
  ),
  column("expires_at", "timestamptz", ({ message }) => message?.expiresAtMs ?? null),
  column("sealed_content", "text", ({ queueEntry }) => queueEntry?.sealedContent ?? null),
  // The idempotency key, and the response that a replay gets. The body is null where the event's record is the response.
  column("key", "uuid", ({ claim }) => claim?.key ?? null),
  column("key_lock", "bigint", ({ claim }) => claim?.lock ?? null),
  column("fingerprint", "bytea", ({ claim }) => claim?.fingerprint ?? null),
  column("response_status", "smallint", ({ response }) => response.status),
  column("response_location", "text", ({ response }) => response.location),
  column("response_body", "text", ({ response }) => response.body),
  // The event.
  column("event_id", "uuid", ({ event }) => event?.id ?? null),
  column("event_type", "text", ({ event }) => event?.type ?? null),
  column("sequence", "integer", ({ message }) => message?.sequence ?? null),
  column("record", "text", ({ event }) => event?.record ?? null),
  // The message.
  column("channel", "text", ({ message }) => message?.channel ?? null),
  column("recipient", "text", ({ message }) => message?.recipient ?? null),
  column("sender", "text", ({ message }) => message?.sender ?? null),
  column("sender_reason", "text", ({ message }) => message?.senderReason ?? null),
  column("link_reason", "text", ({ message }) => message?.linkReason ?? null),
  column("body", "text", ({ message }) => message?.body ?? null),
  column("status", "text", ({ message }) => message?.status ?? null),
  column("segments_count", "smallint", ({ message }) => message?.segments?.count ?? null),
  column("segments_encoding", "text", ({ message }) => message?.segments?.encoding ?? null),
  column("segments_characters", "smallint", ({ message }) => message?.segments?.characters ?? null),
  column("priority", "text", ({ message }) => message?.priority ?? null),
  column("client_reference", "text", ({ message }) => message?.clientReference ?? null),
  column("metadata", "text", ({ message }) => (message === null ? null : metadataText(message.metadata))),
  // Most batches have no value in the rest. Such a column travels empty (batch.ts).
  column("max_segments", "smallint", ({ message }) => message?.maxSegments ?? null),
  column("carrier_options", "text", ({ message }) => (message?.carrierOptions ? JSON.stringify(message.carrierOptions) : null)),
  column("send_at", "timestamptz", ({ message }) => message?.sendAtMs ?? null),
  column("template", "text", ({ message }) => (message?.template ? JSON.stringify(message.template) : null)),
  column("batch_id", "uuid", ({ message }) => message?.batchId ?? null),
  column("fallback_of", "uuid", ({ message }) => message?.fallbackOf ?? null),
  column("fallback_steps", "text", ({ fallback }) => fallback?.steps ?? null),
  column("fallback_due_at", "timestamptz", ({ fallback }) => fallback?.dueAtMs ?? null),
  column("in_reply_to", "uuid", ({ message }) => message?.inReplyTo ?? null),
  column("is_opt_out_reply", "boolean", ({ message }) => message?.isOptOutReply ?? null),
  column("trace", "text", ({ message }) => message?.trace ?? null),
];

/** Stores each item whose key is new and that consent does not refuse. The result contains the stored and the refused items. The key of any
 *  other item is in use by another request, or has a stored response.
 *
 *  `claimed`: `on conflict` sees the newest committed row, also one that is newer than the statement's snapshot, so a key is
 *  returned only if it is new or its 24 hours have passed. */
export const acceptStatement = batchStatement(
  columns,
  (items) => `
with request as materialized (
  select item.*,
         item.key is null or pg_try_advisory_xact_lock(item.key_lock) as is_locked,
         case when item.is_opt_out_reply is not true then ${consentRefusal("item")} end as refusal
    from ${items}
), claimed as (
  insert into idempotency_keys as stored
         (account_id, environment, key, fingerprint, created_at, expires_at, status, location, body, event_id)
  select account_id, environment, key, fingerprint, updated_at, updated_at + interval '24 hours',
         response_status, response_location, response_body, case when response_body is null then event_id end
    from request
   where key is not null and is_locked and refusal is null
  on conflict (account_id, environment, key) do update
     set fingerprint = excluded.fingerprint,
         created_at = excluded.created_at,
         expires_at = excluded.expires_at,
         status = excluded.status,
         location = excluded.location,
         body = excluded.body,
         recipient = null,
         event_id = excluded.event_id
   where stored.expires_at <= excluded.created_at
  returning account_id, environment, key
), accepted as (
  select request.*
    from request
   where request.refusal is null
     and (request.key is null
          or (request.account_id, request.environment, request.key)
             in (select account_id, environment, key from claimed))
), message as (
  insert into messages
         (account_id, environment, id, direction, channel, recipient, sender, sender_reason, link_reason,
          body, status, sequence, segments_count, segments_encoding, segments_characters, priority, client_reference,
          metadata, max_segments, carrier_options, send_at, expires_at, updated_at, template, batch_id, fallback_of,
          has_fallback, in_reply_to, is_opt_out_reply, trace)
  select account_id, environment, message_id, 'outbound', channel, recipient, sender, sender_reason, link_reason,
         body, status, sequence, segments_count, segments_encoding, segments_characters, priority, client_reference,
         metadata::json, max_segments, carrier_options::json, send_at, expires_at, updated_at, template::json, batch_id,
         fallback_of, fallback_steps is not null, in_reply_to, is_opt_out_reply, trace
    from accepted
   where message_id is not null
), event as (
  insert into events (account_id, environment, id, type, message_id, sequence, record)
  select account_id, environment, event_id, event_type, message_id, sequence, record
    from accepted
   where event_id is not null
), queued as (
  insert into delivery_queue (message_id, account_id, environment, priority, link, due_at, expires_at, sealed_content)
  select message_id, account_id, environment, priority_rank, lane, due_at, expires_at, sealed_content
    from accepted
   where message_id is not null
), delivery as (${queueDeliveries("accepted", "updated_at")}
), fallback as (
  insert into fallbacks (message_id, account_id, environment, steps, due_at)
  select message_id, account_id, environment, fallback_steps, fallback_due_at
    from accepted
   where fallback_steps is not null
), usage as (
  insert into usage_changes
         (account_id, environment, minute, channel, status, delivery_bucket, error_code, messages, segments)
  select account_id, environment, to_timestamp(usage_minute * 60::float8), channel, status, ${NOT_DELIVERED}, '',
         count(*), coalesce(sum(segments_count), 0)
    from accepted
   where message_id is not null
   group by account_id, environment, usage_minute, channel, status
)
select ordinal::integer, null::integer as refusal,${NO_DELIVERIES}
  from accepted
union all
select ordinal::integer, refusal, null, null, null, null
  from request
 where refusal is not null
union all${selectDeliveries("delivery", "0, null")}`,
);

/** The items that were stored, the items that were refused, and the endpoints for which webhook deliveries were queued. */
export type StoredAcceptances = Ordinals & { refused: ReadonlyMap<number, ConsentRefusal> };

export async function storeAcceptances(db: Queryable, items: readonly Acceptance[]): Promise<StoredAcceptances> {
  const rows = await db.rows<OrdinalRow & { refusal: number | null }>(acceptStatement(items));
  const refused = new Map<number, ConsentRefusal>();
  for (const { ordinal, refusal } of rows) if (refusal !== null) refused.set(ordinal - 1, CONSENT_REFUSALS[refusal] as ConsentRefusal);
  return { ...readOrdinals(rows.filter(({ refusal }) => refusal === null)), refused };
}

/** The outcome of an item in a transaction of its own. `taken`: another request has the same key. `lost`: the connection to the database ended, and the
 *  item is not stored. `unknown`: the item may be stored or not. */
export type Outcome = "done" | "taken" | "lost" | "unknown" | ConsentRefusal;

/** Receives every commit, for the metrics. */
export type Watch = { committed(size: number, seconds: number): void };

export type CommitParts = { db: Database; once: Once; wakeWebhooks: WakeWebhooks; watch: Watch };

/** Stores items in one transaction, and returns their outcomes in the same order. */
export async function commitAcceptances(parts: CommitParts, items: readonly Acceptance[]): Promise<readonly Outcome[]> {
  const { db, wakeWebhooks, watch } = parts;
  const startedAt = performance.now();
  try {
    const { done, refused, deliveries } = await storeAcceptances(db, items);
    watch.committed(items.length, (performance.now() - startedAt) / 1_000);
    if (deliveries.length > 0) wakeWebhooks(deliveries);
    return items.map((_, index) => (done.has(index) ? "done" : (refused.get(index) ?? "taken")));
  } catch (error) {
    if (!(error instanceof ConnectionLost)) throw error;
    return (await findOut(db, error, () => lookAgain(parts, items))) ?? items.map(() => "unknown");
  }
}

async function lookAgain({ db, once }: CommitParts, items: readonly Acceptance[]): Promise<readonly Outcome[]> {
  const messages = items.flatMap(({ accountId, environment, message }) => (message === null ? [] : [{ accountId, environment, message }]));
  const there = new Set((await existingMessages(db, messages)).map(({ id }) => idKey(id)));
  const outcomes: Outcome[] = [];
  for (const item of items) {
    const { message, claim, response } = item;
    const isStored =
      message === null ? claim !== undefined && (await once.holds(item, claim, response.body)) : there.has(idKey(message.id));
    outcomes.push(isStored ? "done" : "lost");
  }
  return outcomes;
}

// Beyond a hundred rows a statement gets hardly cheaper per message, and its parameters are built in one turn of the event loop.
const CHUNK = 100;

export type StoredMessages = {
  stored: MessageAcceptance[];
  refused: Map<MessageAcceptance, ConsentRefusal>;
  deliveries: QueuedDeliveries[];
};

/** Stores many messages without idempotency keys of their own, in the caller's transaction. Leaves out the messages that consent refuses,
 *  and returns them. */
export async function storeMessages(tx: Tx, acceptances: readonly MessageAcceptance[]): Promise<StoredMessages> {
  const stored: MessageAcceptance[] = [];
  const refused = new Map<MessageAcceptance, ConsentRefusal>();
  const deliveries: QueuedDeliveries[] = [];
  for (let from = 0; from < acceptances.length; from += CHUNK) {
    const chunk = acceptances.slice(from, from + CHUNK);
    const outcome = await storeAcceptances(tx, chunk);
    deliveries.push(...outcome.deliveries);
    chunk.forEach((acceptance, index) => {
      const code = outcome.refused.get(index);
      if (code === undefined) stored.push(acceptance);
      else refused.set(acceptance, code);
    });
  }
  return { stored, refused, deliveries };
}
