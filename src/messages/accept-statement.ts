/** The accept statement: key, message, events, queue row,
 *  fallback, webhook deliveries and usage of a batch of requests, in one statement and so in one transaction.
 *  docs/internals/sql has its variants as PostgreSQL receives them. */
import { consentRefusal, CONSENT_REFUSALS, type ConsentRefusal } from "../consent/refusal.ts";
import { handOver, offerParameters, type CommittedEvent, type Offer, type WebhookHandover } from "../events/handover.ts";
import {
  NO_DELIVERIES,
  queueDeliveries,
  readOrdinals,
  selectDeliveries,
  selectOffer,
  type OrdinalRow,
  type Ordinals,
  type QueuedDeliveries,
  type WakeWebhooks,
} from "../events/publish.ts";
import { existingEntries } from "../events/queries.ts";
import { batchStatement, column, wrapped, type Column } from "../database/batch.ts";
import { ConnectionLost, type Database, type Queryable, type Tx } from "../database/database.ts";
import { findOut } from "../database/find-out.ts";
import type { Sql } from "../database/sql.ts";
import { NOT_DELIVERED, usageMinute } from "../usage/usage.ts";
import type { Acceptance } from "./acceptance.ts";
import type { MessageSource } from "./message.ts";
import { PRIORITY_RANK } from "./queue-entry.ts";
import { metadataText } from "./rows.ts";

// The steps of the statement read each row from its first column to the last one that they need. Columns of several steps are therefore the
// first, and long texts the last.
const columns: readonly Column<Acceptance>[] = [
  column("account_id", "uuid", ({ message }) => message.accountId),
  column("environment", "text", ({ message }) => message.environment),
  column("message_id", "uuid", ({ message }) => message.id),
  column("updated_at", "timestamptz", ({ message }) => message.updatedAtMs),
  // Usage.
  column("usage_minute", "integer", ({ message }) => usageMinute(message)),
  column("channel", "text", ({ message }) => message.channel),
  column("status", "text", ({ message }) => message.status),
  column("segments_count", "smallint", ({ message }) => message.segments?.count ?? null),
  // The queue row.
  column("priority_rank", "smallint", ({ message }) => PRIORITY_RANK[message.priority]),
  column("lane", "text", ({ queueEntry }) => queueEntry.lane),
  column("due_at", "timestamptz", ({ queueEntry, message }) => queueEntry.dueAtMs ?? message.updatedAtMs + queueEntry.leaseMs),
  column("expires_at", "timestamptz", ({ message }) => message.expiresAtMs),
  column("sealed_content", "text", ({ queueEntry }) => queueEntry.sealedContent),
  // The idempotency key. A replay gets the record of the event.
  column("key", "uuid", ({ claim }) => claim?.key ?? null),
  column("key_lock", "bigint", ({ claim }) => claim?.lock ?? null),
  column("fingerprint", "bytea", ({ claim }) => claim?.fingerprint ?? null),
  column("location", "text", ({ location }) => location),
  // The event.
  column("event_id", "uuid", ({ event }) => event.id),
  column("event_type", "text", ({ event }) => event.type),
  column("sequence", "integer", ({ message }) => message.sequence),
  column("record", "text", ({ event }) => event.record),
  // The message.
  column("recipient", "text", ({ message }) => message.recipient),
  column("sender", "text", ({ message }) => message.sender),
  column("sender_reason", "text", ({ message }) => message.senderReason),
  column("link_reason", "text", ({ message }) => message.linkReason),
  column("body", "text", ({ message }) => message.body),
  column("segments_encoding", "text", ({ message }) => message.segments?.encoding ?? null),
  column("segments_characters", "smallint", ({ message }) => message.segments?.characters ?? null),
  column("priority", "text", ({ message }) => message.priority),
  column("client_reference", "text", ({ message }) => message.clientReference),
  column("metadata", "text", ({ message }) => metadataText(message.metadata)),
];

/** A plain text through our own API has none of these, and one through a compatible API has none of the further ones. */
const sourceColumns: readonly Column<Acceptance>[] = [
  column("source", "text", ({ message }) => message.source),
  column("source_details", "text", ({ sourceDetails }) => sourceDetails),
];

/** A plain text without a schedule, a template, a fallback or numbers of its links has none of these. */
const furtherColumns: readonly Column<Acceptance>[] = [
  column("max_segments", "smallint", ({ message }) => message.maxSegments),
  column("carrier_options", "text", ({ message }) => (message.carrierOptions ? JSON.stringify(message.carrierOptions) : null)),
  column("send_at", "timestamptz", ({ message }) => message.sendAtMs),
  column("template", "text", ({ message }) => (message.template ? JSON.stringify(message.template) : null)),
  column("content", "text", ({ message }) => (message.content ? JSON.stringify(message.content) : null)),
  column("batch_id", "uuid", ({ message }) => message.batchId),
  column("fallback_of", "uuid", ({ message }) => message.fallbackOf),
  column("fallback_steps", "text", ({ fallback }) => fallback?.steps ?? null),
  column("fallback_due_at", "timestamptz", ({ fallback }) => fallback?.dueAtMs ?? null),
  column("in_reply_to", "uuid", ({ message }) => message.inReplyTo),
  column("is_opt_out_reply", "boolean", ({ message }) => message.isOptOutReply),
  column("trace", "text", ({ message }) => message.trace),
];

/** Only the statement with all columns writes it. */
const detailColumn: Column<Acceptance> = column("detail", "text", ({ event }) => event.detail);

const isFurther = (item: Acceptance): boolean => furtherColumns.some(({ pick }) => pick(item) !== null) || item.event.detail !== null;
const isSourced = (item: Acceptance): boolean => sourceColumns.some(({ pick }) => pick(item) !== null);

const nullsFor = (absent: readonly Column<Acceptance>[]): string => wrapped(absent.map(({ name, type }) => `null::${type} as ${name}`));

const FALLBACK = `fallback as (
  insert into fallbacks (message_id, account_id, environment, steps, due_at)
  select message_id, account_id, environment, fallback_steps, fallback_due_at
    from accepted
   where fallback_steps is not null
), `;

/** Stores each item whose key is new and that consent does not refuse. The result contains the stored and the refused items. The key of any
 *  other item is in use by another request, or has a stored response.
 *
 *  `claimed`: `on conflict` sees the newest committed row, also one that is newer than the statement's snapshot, so a key is
 *  returned only if it is new or its 24 hours have passed. */
const build = (items: string, leasedUntil: string, endpoints: string, absent: readonly Column<Acceptance>[]): string => {
  const isWhole = absent.length === 0;
  return `
with offer as materialized (${selectOffer(leasedUntil, endpoints)}
), request as materialized (
  select item.*,
         item.key is null or pg_try_advisory_xact_lock(item.key_lock) as is_locked,
         case when item.is_opt_out_reply is not true then ${consentRefusal("item")} end as refusal
    from ${isWhole ? items : `(select item.*,\n           ${nullsFor(absent)}\n      from ${items}) item`}
), claimed as (
  insert into idempotency_keys as stored
         (account_id, environment, key, fingerprint, created_at, expires_at, status, location, body, event_id)
  select account_id, environment, key, fingerprint, updated_at, updated_at + interval '24 hours',
         202, location, null, event_id
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
          has_fallback, in_reply_to, is_opt_out_reply, content, source, source_details, trace)
  select account_id, environment, message_id, 'outbound', channel, recipient, sender, sender_reason, link_reason,
         body, status, sequence, segments_count, segments_encoding, segments_characters, priority, client_reference,
         metadata::json, max_segments, carrier_options::json, send_at, expires_at, updated_at, template::json, batch_id,
         fallback_of, fallback_steps is not null, in_reply_to, is_opt_out_reply, content::json, source,
         source_details::json, trace
    from accepted
), event as (
  insert into events (account_id, environment, id, type, message_id, sequence, record${isWhole ? ", detail" : ""})
  select account_id, environment, event_id, event_type, message_id, sequence, record${isWhole ? ", detail::json" : ""}
    from accepted
), queued as (
  insert into delivery_queue (message_id, account_id, environment, priority, link, due_at, expires_at, sealed_content)
  select message_id, account_id, environment, priority_rank, lane, due_at, expires_at, sealed_content
    from accepted
), delivery as (${queueDeliveries("accepted", "updated_at", { offer: "offer" })}
), ${isWhole ? FALLBACK : ""}usage as (
  insert into usage_changes
         (account_id, environment, minute, channel, status, delivery_bucket, error_code, messages, segments)
  select account_id, environment, to_timestamp(usage_minute * 60::float8), channel, status, ${NOT_DELIVERED}, '',
         count(*), coalesce(sum(segments_count), 0)
    from accepted
   group by account_id, environment, usage_minute, channel, status
)
select ordinal::integer, null::integer as refusal,${NO_DELIVERIES}
  from accepted
union all
select ordinal::integer, refusal, null, null, null, null, null, null
  from request
 where refusal is not null
union all${selectDeliveries("delivery", "0, null", "offer")}`;
};

const variant = (present: readonly Column<Acceptance>[], absent: readonly Column<Acceptance>[]) =>
  batchStatement(present, (items, leasedUntil, endpoints) => build(items, leasedUntil, endpoints, absent));

/** Three variants: a column costs PostgreSQL time for each row also if it is empty, and most messages need none of the further ones
 *  (bench/README.md). */
const acceptPlain = variant(columns, [...sourceColumns, ...furtherColumns]);
const acceptSourced = variant([...columns, ...sourceColumns], furtherColumns);
const acceptWhole = variant([...columns, ...sourceColumns, ...furtherColumns, detailColumn], []);

export const acceptStatement = (items: readonly Acceptance[], offer?: Offer): Sql =>
  (items.some(isFurther) ? acceptWhole : items.some(isSourced) ? acceptSourced : acceptPlain)(items, ...offerParameters(offer));

/** The items that were stored, the items that were refused, and the endpoints for which webhook deliveries were queued. */
export type StoredAcceptances = Ordinals & { refused: ReadonlyMap<number, ConsentRefusal> };

export async function storeAcceptances(db: Queryable, items: readonly Acceptance[], offer?: Offer): Promise<StoredAcceptances> {
  const rows = await db.rows<OrdinalRow & { refusal: number | null }>(acceptStatement(items, offer));
  const refused = new Map<number, ConsentRefusal>();
  for (const { ordinal, refusal } of rows) if (refusal !== null) refused.set(ordinal - 1, CONSENT_REFUSALS[refusal] as ConsentRefusal);
  return { ...readOrdinals(rows.filter(({ refusal }) => refusal === null)), refused };
}

/** The outcome of an item in a transaction of its own. `taken`: another request has the same key. `lost`: the connection to the database ended, and the
 *  item is not stored. `unknown`: the item may be stored or not. */
export type Outcome = "done" | "taken" | "lost" | "unknown" | ConsentRefusal;

/** Receives every commit, and the compatible API of each message that came through one, for the metrics. */
export type Watch = { committed(size: number, seconds: number): void; cameThrough(source: MessageSource): void };

export type CommitParts = {
  db: Database;
  wakeWebhooks: WakeWebhooks;
  /** Undefined in a process that does not deliver webhooks. */
  webhookHandover?: WebhookHandover | undefined;
  watch: Watch;
};

/** Stores items in one transaction, and returns their outcomes in the same order. */
export async function commitAcceptances(parts: CommitParts, items: readonly Acceptance[]): Promise<readonly Outcome[]> {
  const { db, wakeWebhooks, webhookHandover, watch } = parts;
  const startedAt = performance.now();
  try {
    const offer = webhookHandover?.offer(items.map(({ message }) => message));
    const stored = await storeAcceptances(db, items, offer);
    const { done, refused, deliveries } = stored;
    watch.committed(items.length, (performance.now() - startedAt) / 1_000);
    if (deliveries.length > 0) wakeWebhooks(deliveries);
    if (webhookHandover !== undefined) handOver(webhookHandover, offer, stored, items, eventOf);
    return items.map((_, index) => (done.has(index) ? "done" : (refused.get(index) ?? "taken")));
  } catch (error) {
    if (!(error instanceof ConnectionLost)) throw error;
    return (await findOut(db, error, () => lookAgain(parts, items))) ?? items.map(() => "unknown");
  }
}

const eventOf = ({ message, event, body }: Acceptance): CommittedEvent => ({
  id: event.id,
  environment: message.environment,
  type: event.type,
  sequence: message.sequence,
  record: body,
  previous_status: null,
  fallback_message_id: null,
  trace: message.trace,
});

async function lookAgain({ db }: CommitParts, items: readonly Acceptance[]): Promise<readonly Outcome[]> {
  const entries = items.map(({ message: { accountId, environment }, event }) => ({ accountId, environment, entry: event }));
  const stored = new Set((await existingEntries(db, entries)).map(({ ordinal }) => ordinal - 1));
  return items.map((_, index) => (stored.has(index) ? "done" : "lost"));
}

// Beyond a hundred rows a statement gets hardly cheaper per message, and its parameters are built in one turn of the event loop.
const CHUNK = 100;

export type StoredMessages = {
  stored: Acceptance[];
  refused: Map<Acceptance, ConsentRefusal>;
  deliveries: QueuedDeliveries[];
};

/** Stores many messages without idempotency keys of their own, in the caller's transaction. Leaves out the messages that consent refuses,
 *  and returns them. */
export async function storeMessages(tx: Tx, acceptances: readonly Acceptance[]): Promise<StoredMessages> {
  const stored: Acceptance[] = [];
  const refused = new Map<Acceptance, ConsentRefusal>();
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
