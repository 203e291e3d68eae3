/** The advance statement: status, times, timeline, queue row, provider references, parts, webhook deliveries and usage of a batch
 *  of changes, in one statement and so in one transaction. It is the only statement that changes a status.
 *  docs/internals/sql has its variants as PostgreSQL receives them. */
import { findSuppressed, isWindowClosed } from "../consent/refusal.ts";
import { offerParameters, type Offer } from "../events/handover.ts";
import {
  NO_DELIVERIES,
  queueDeliveries,
  readOrdinals,
  selectDeliveries,
  selectOffer,
  type OrdinalRow,
  type Ordinals,
} from "../events/publish.ts";
import { ERASED } from "../model/phone-number.ts";
import { batchStatement, column, limitLockWait, wrapped, type Column } from "../database/batch.ts";
import type { Queryable } from "../database/database.ts";
import type { Sql } from "../database/sql.ts";
import { NOT_DELIVERED, usageBucket, usageError, usageMinute, usageSegments } from "../usage/usage.ts";
import type { Change } from "./change.ts";
import { QUEUE_STATE, type QueueMove } from "./queue-entry.ts";
import { isUnsuccessful } from "./states.ts";

const MOVE = { stay: 0, leave: 1, wait: 2 } as const satisfies Record<QueueMove["kind"], number>;

const waitOf = ({ move }: Change): (QueueMove & { kind: "wait" }) | undefined => (move.kind === "wait" ? move : undefined);

// A carrier that repeats a receipt forever must not fill the database.
const MAX_IGNORED_ENTRIES = 100;
// The first part's reference decides when a message without a receipt expires, and is kept for a late one; those of the other
// parts are kept that much longer from the start.
const LATE_DAYS = 7;
// No provider's message id has a line break.
const SEPARATOR = "\n";

const isSending = ({ before, after }: Change): boolean => after.status === "sending" && before.status !== "sending";

const isChecked = (change: Change): boolean => isSending(change) && change.before.isOptOutReply !== true;

const columns: readonly Column<Change>[] = [
  column("account_id", "uuid", ({ before }) => before.accountId),
  column("environment", "text", ({ before }) => before.environment),
  // Null for messages whose consent is not checked: those that stay where they are, and the reply to an opt-out.
  column("consent_recipient", "text", (change) => (isChecked(change) ? change.before.recipient : null)),
  column("consent_sender", "text", (change) => (isSending(change) ? change.after.sender : null)),
  column("message_id", "uuid", ({ before }) => before.id),
  // The message as the change was decided on.
  column("expected_sequence", "integer", ({ before }) => before.sequence),
  // Null after an erasure, so that a copy from before it is not written.
  column("is_whole", "boolean", ({ before }) => (before.recipient === ERASED ? null : !before.isRedacted)),
  // The message after the change.
  column("status", "text", ({ after }) => after.status),
  column("sequence", "integer", ({ after }) => after.sequence),
  column("provider", "text", ({ after }) => after.provider?.name ?? null),
  column("link", "text", ({ after }) => after.provider?.link ?? null),
  column("provider_message_id", "text", ({ after }) => after.provider?.messageId ?? null),
  column("sender", "text", ({ after }) => after.sender),
  column("attempts", "integer", ({ after }) => after.attempts),
  column("has_unknown", "boolean", ({ after }) => after.hasUnknown),
  column("refusals", "smallint", ({ after }) => after.refusals),
  column("updated_at", "timestamptz", ({ after }) => after.updatedAtMs),
  column("sent_at", "timestamptz", ({ after }) => after.sentAtMs),
  column("delivered_at", "timestamptz", ({ after }) => after.deliveredAtMs),
  // The entry of the timeline.
  column("event_id", "uuid", ({ entry }) => entry.id),
  column("event_type", "text", ({ entry }) => entry.type),
  column("record", "text", ({ entry }) => entry.record),
  column("previous_status", "text", ({ entry }) => entry.previousStatus),
  column("detail", "text", ({ entry }) => entry.detail),
  column("is_ignored", "boolean", ({ entry }) => entry.isIgnored),
  // The queue row.
  column("move", "smallint", ({ move }) => MOVE[move.kind]),
  // Usage. The minute and the channel of a message never change.
  column("usage_minute", "integer", ({ before }) => usageMinute(before)),
  column("usage_bucket", "smallint", ({ after }) => usageBucket(after)),
  column("usage_segments", "smallint", ({ after }) => usageSegments(after)),
];

/** The carrier's reference to the message. */
const referenceColumns: readonly Column<Change>[] = [
  column("reference_link", "text", ({ reference }) => reference?.link ?? null),
  column("reference_id", "text", ({ reference }) => reference?.providerMessageId ?? null),
  column("reference_expires_at", "timestamptz", ({ reference }) => reference?.expiresAtMs ?? null),
];

/** Fields of the message that only some changes set: an error, a read or an end without a delivery, or another link. */
const furtherFields: readonly Column<Change>[] = [
  column("error", "text", ({ after }) => after.error && JSON.stringify(after.error)),
  column("read_at", "timestamptz", ({ after }) => after.readAtMs),
  column("failed_at", "timestamptz", ({ after }) => after.failedAtMs),
  column("canceled_at", "timestamptz", ({ after }) => after.canceledAtMs),
  column("sender_reason", "text", ({ after }) => after.senderReason),
  column("link_reason", "text", ({ after }) => after.linkReason),
];

/** The columns of steps that only some changes need. */
const furtherColumns: readonly Column<Change>[] = [
  column("starts_fallback", "boolean", ({ before, after }) => after.hasFallback && isUnsuccessful(after) && after.status !== before.status),
  // The queue row of a message that waits again.
  column("queue_state", "smallint", (change) => {
    const wait = waitOf(change);
    return wait === undefined ? null : QUEUE_STATE[wait.state];
  }),
  column("due_at", "timestamptz", (change) => waitOf(change)?.atMs ?? null),
  column("lane", "text", (change) => waitOf(change)?.lane ?? null),
  column("queue_priority", "smallint", (change) => waitOf(change)?.priority ?? null),
  column("queue_expires_at", "timestamptz", (change) => waitOf(change)?.expiresAtMs ?? null),
  // The carrier's references to the parts of the message.
  column("part_ids", "text", ({ reference }) => reference?.parts?.ids.join(SEPARATOR) ?? null),
  column("parts_total", "smallint", ({ reference }) => reference?.parts?.total ?? null),
  column("parts_reference", "integer", ({ reference }) => reference?.parts?.reference ?? null),
  // Usage: the rest of the counts after and before the change.
  column("usage_error", "text", ({ after }) => usageError(after)),
  column("usage_bucket_before", "smallint", ({ before }) => usageBucket(before)),
  column("usage_error_before", "text", ({ before }) => usageError(before)),
  column("usage_segments_before", "smallint", ({ before }) => usageSegments(before)),
];

/** The variants of the statement: for changes without a reference of a carrier, with references, and with everything. A step without rows still
 *  opens and locks its tables: one statement for all batches takes 10 to 20 % more of PostgreSQL's processor time (bench/README.md), and
 *  a message could not become `sending` while another transaction locks the references. */
type Variant = { isReferenced: boolean; isWhole: boolean };

/** Whether the change needs the further columns. Messages that are sent at the first attempt and delivered do not. */
const isFurther = ({ before, after, entry, move, reference }: Change): boolean =>
  entry.isIgnored ||
  (after.error ?? after.readAtMs ?? after.failedAtMs ?? after.canceledAtMs) !== null ||
  after.senderReason !== before.senderReason ||
  after.linkReason !== before.linkReason ||
  move.kind === "wait" ||
  reference?.parts !== undefined ||
  before.deliveredAtMs !== null ||
  usageSegments(before) !== usageSegments(after);

/** The condition that the recipients of messages that become `sending` have not opted out, and that their service windows are open. The
 *  opt-outs are read once for the whole batch, before the first row is changed. The parameters are the first columns. A batch in which
 *  no message becomes `sending` has an empty list of recipients, and PostgreSQL does not call the function. */
const MAY_BE_SENT = `
     and item.ordinal <> all (array(select position
                                      from ${findSuppressed(["$1", "$2", "$3", "$4"])} as position
                                     where cardinality($3) > 0))
     and not (item.consent_recipient is not null and m.channel = 'whatsapp' and m.template is null
              and${isWindowClosed("m", "item.updated_at")})`;

const FURTHER_FIELDS = `,
         error = item.error::json,
         read_at = item.read_at,
         failed_at = item.failed_at,
         canceled_at = item.canceled_at,
         sender_reason = item.sender_reason,
         link_reason = item.link_reason`;

const OF_SEVERAL_STEPS = ["ordinal", "account_id", "environment", "message_id", "move", "updated_at", "status", "previous_status"];
const OF_USAGE = ["usage_minute", "usage_bucket", "usage_segments"];
const OF_THE_ENTRY = ["sequence", "event_id", "event_type", "is_ignored", "detail", "record"];

/** The counts of changes that need no further columns: without an error, and not delivered before. */
const USUAL_COUNTS = [
  "'' as usage_error",
  `${NOT_DELIVERED} as usage_bucket_before`,
  "'' as usage_error_before",
  "item.usage_segments as usage_segments_before",
];

/** The columns that the steps after the update need. Each step reads a row from its first column to the last one that it needs, so columns
 *  of several steps are the first, and long texts the last. */
function returned({ isReferenced, isWhole }: Variant): string {
  const ofItem = (names: readonly string[]): string[] => names.map((name) => `item.${name}`);
  const further = isWhole ? ofItem([...namesOf(furtherColumns), "expected_sequence"]) : USUAL_COUNTS;
  const references = isReferenced ? ofItem(namesOf(referenceColumns)) : [];
  return wrapped([...ofItem([...OF_SEVERAL_STEPS, ...OF_USAGE]), "m.channel", ...further, ...references, ...ofItem(OF_THE_ENTRY)]);
}

const namesOf = (list: readonly Column<Change>[]): string[] => list.map(({ name }) => name);

const PART_REFERENCES = `
  union all
  select reference_link, part.id, account_id, environment, message_id, reference_expires_at + interval '${LATE_DAYS} days',
         part.number
    from changed
   cross join lateral string_to_table(part_ids, E'\\n') with ordinality as part(id, number)
   where part.id <> reference_id`;

/** A carrier may use an id again, and each message keeps its own row. */
const storeReferences = ({ isWhole }: Variant): string => `reference as (
  insert into provider_references (link, provider_message_id, account_id, environment, message_id, expires_at, part)
  select reference_link, reference_id, account_id, environment, message_id, reference_expires_at,
         ${isWhole ? "case when reference_id = split_part(part_ids, E'\\n', 1) then 1 end" : "null"}
    from changed
   where reference_id is not null${isWhole ? PART_REFERENCES : ""}
  on conflict (link, provider_message_id, message_id) do update
     set expires_at = excluded.expires_at,
         part = coalesce(excluded.part, provider_references.part)
), `;

/** `part`: a late response changes no status; its ids are stored only if fewer parts are known. A part that is known already keeps its
 *  status. */
const FURTHER_STEPS = `queued as (
  update delivery_queue q
     set state = changed.queue_state,
         due_at = coalesce(changed.due_at, q.due_at),
         link = coalesce(changed.lane, q.link),
         priority = coalesce(changed.queue_priority, q.priority),
         expires_at = coalesce(changed.queue_expires_at, q.expires_at)
    from changed
   where changed.move = ${MOVE.wait} and q.message_id = changed.message_id
), fallback as (
  update fallbacks f
     set due_at = least(changed.updated_at, now())
    from changed
   where changed.starts_fallback and f.message_id = changed.message_id
), part as (
  insert into message_parts
         (account_id, environment, message_id, number, provider_message_id, status, total, reference, updated_at)
  select account_id, environment, message_id, sent.number, sent.id, 'sent', parts_total, parts_reference, updated_at
    from changed
   cross join lateral string_to_table(part_ids, E'\\n') with ordinality as sent(id, number)
   where sequence > expected_sequence
      or (select count(*)
            from message_parts known
           where known.account_id = changed.account_id and known.environment = changed.environment
             and known.message_id = changed.message_id) < cardinality(string_to_array(part_ids, E'\\n'))
  on conflict (account_id, environment, message_id, number) do update
     set provider_message_id = excluded.provider_message_id,
         status = case when message_parts.provider_message_id = excluded.provider_message_id
                       then message_parts.status
                       else excluded.status
                  end,
         error = case when message_parts.provider_message_id = excluded.provider_message_id
                      then message_parts.error
                 end,
         total = excluded.total,
         reference = excluded.reference,
         updated_at = excluded.updated_at
), `;

/** Even without such a change, this condition opens all weeks of events. */
const IS_ENTRY_KEPT = `
   where case when is_ignored
              then (select count(*)
                      from (select
                              from events e
                             where e.message_id = changed.message_id and e.id <> e.message_id
                             limit ${MAX_IGNORED_ENTRIES}) known) < ${MAX_IGNORED_ENTRIES}
              else true
         end`;

/** Writes the changes that still apply, and returns them. A change does not apply if its message has changed since the decision, or if it
 *  would submit a message whose recipient has opted out meanwhile.
 *
 *  `usage`: a change takes a message from one count and adds it to another. Equal changes, which are most of a batch, are summed first. */
const build = ([items, lockTimeout, leasedUntil, endpoints]: Parts, variant: Variant): string => `
with offer as materialized (${selectOffer(leasedUntil, endpoints)}
), changed as (
  update messages m
     set status = item.status,
         sequence = item.sequence,
         provider = item.provider,
         link = item.link,
         provider_message_id = item.provider_message_id,
         sender = item.sender,
         attempts = item.attempts,
         has_unknown = item.has_unknown,
         refusals = item.refusals,
         updated_at = item.updated_at,
         sent_at = item.sent_at,
         delivered_at = item.delivered_at${variant.isWhole ? FURTHER_FIELDS : ""}
    from ${items}
   where m.account_id = item.account_id and m.environment = item.environment and m.id = item.message_id
     and m.sequence = item.expected_sequence and m.status = item.previous_status
     and case when m.recipient = '${ERASED}' then item.is_whole is null
              else (m.redacted_at is null) = item.is_whole
         end
     and ${limitLockWait(lockTimeout)}${MAY_BE_SENT}
  returning ${returned(variant)}
), entry as (
  insert into events
         (account_id, environment, id, type, message_id, sequence, record, previous_status, detail, is_ignored)
  select account_id, environment, event_id, event_type, message_id, sequence, record, previous_status, detail::json,
         is_ignored
    from changed${variant.isWhole ? IS_ENTRY_KEPT : ""}
), left_queue as (
  delete from delivery_queue q
   using changed
   where changed.move = ${MOVE.leave} and q.message_id = changed.message_id
), ${variant.isReferenced ? storeReferences(variant) : ""}${variant.isWhole ? FURTHER_STEPS : ""}delivery as (${queueDeliveries("changed", "updated_at", { offer: "offer" })}
), usage as (
  insert into usage_changes
         (account_id, environment, minute, channel, status, delivery_bucket, error_code, messages, segments)
  select account_id, environment, to_timestamp(usage_minute * 60::float8),
         channel, half.status, half.bucket, half.error_code, sum(half.messages), sum(half.segments)
    from (select account_id, environment, usage_minute, channel,
                 status, usage_bucket, usage_error, previous_status, usage_bucket_before, usage_error_before,
                 count(*) as messages, sum(usage_segments) as segments, sum(usage_segments_before) as segments_before
            from changed
           group by account_id, environment, usage_minute, channel, status, usage_bucket, usage_error,
                    previous_status, usage_bucket_before, usage_error_before) pair
   cross join lateral (values (status, usage_bucket, usage_error, messages, segments),
                              (previous_status, usage_bucket_before, usage_error_before, -messages, -segments_before))
                   as half(status, bucket, error_code, messages, segments)
   group by account_id, environment, usage_minute, channel, half.status, half.bucket, half.error_code
  having sum(half.messages) <> 0 or sum(half.segments) <> 0
)
select ordinal::integer,${NO_DELIVERIES}
  from changed
union all${selectDeliveries("delivery", "0", "offer")}`;

/** The row source, the limit of waits for locks, and the end and the endpoints of an offer. */
type Parts = [string, string, string, string];

const advanceStatementOf = (all: readonly Column<Change>[], variant: Variant) => batchStatement(all, (...parts) => build(parts, variant));

const advancePlain = advanceStatementOf(columns, { isReferenced: false, isWhole: false });
const advanceReferenced = advanceStatementOf([...columns, ...referenceColumns], { isReferenced: true, isWhole: false });
const advanceWhole = advanceStatementOf([...columns, ...referenceColumns, ...furtherFields, ...furtherColumns], {
  isReferenced: true,
  isWhole: true,
});

/** `lockTimeoutMs`: how long the statement may wait for a lock, before it fails; zero: until its own time limit. */
export function advanceStatement(changes: readonly Change[], lockTimeoutMs = 0, offer?: Offer): Sql {
  const isReferenced = changes.some(({ reference }) => reference !== null);
  const statement = changes.some(isFurther) ? advanceWhole : isReferenced ? advanceReferenced : advancePlain;
  return statement(changes, `${lockTimeoutMs}ms`, ...offerParameters(offer));
}

/** Writes the changes that still apply, and returns which. */
export const writeChanges = async (db: Queryable, changes: readonly Change[], lockTimeoutMs?: number, offer?: Offer): Promise<Ordinals> =>
  readOrdinals(await db.rows<OrdinalRow>(advanceStatement(changes, lockTimeoutMs, offer)));
