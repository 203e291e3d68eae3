/** The timeline of a message: its events with their causes, the attempts at carriers, and ignored signals. */
import { nullable, openEnum, timestamp, Type, type Static } from "../http/schema.ts";
import { encodeId } from "../lib/id.ts";
import { isoTime } from "../lib/time.ts";
import { uuidTimeMs } from "../lib/uuid.ts";
import type { EntryRow } from "./queries.ts";

const ATTEMPT_OUTCOMES = ["written", "accepted", "refused", "throttled", "unknown"] as const;

const Attempt = Type.Object(
  {
    number: Type.Integer({ description: "Counted from one." }),
    link: Type.String(),
    outcome: openEnum(ATTEMPT_OUTCOMES, "`written`: bytes may have left from here on."),
    provider_message_id: nullable(Type.String()),
    provider_code: nullable(Type.String()),
    detail: nullable(Type.String()),
    retry_at: nullable(timestamp("When it is tried again, if it is.")),
  },
  { title: "Attempt", description: "One try at a provider." },
);
type Attempt = Static<typeof Attempt>;

const ReceiptEntry = Type.Object(
  {
    link: Type.String(),
    status: Type.String({ description: "What the carrier's words mean here." }),
    part: nullable(Type.Integer({ description: "The part it speaks of, of a message that went in several." })),
    provider_message_id: nullable(Type.String()),
    error_code: nullable(Type.String()),
    provider_code: nullable(Type.String()),
    raw: Type.Record(Type.String(), { description: "The carrier's own words." }),
  },
  { title: "Receipt", description: "What a carrier said later." },
);
type ReceiptEntry = Static<typeof ReceiptEntry>;

/** The cause of an entry. Null members are left out, because most are null in every entry of every message. */
export type Detail = {
  attempt?: Partial<Attempt> & Pick<Attempt, "number" | "link" | "outcome">;
  receipt?: Partial<ReceiptEntry> & Pick<ReceiptEntry, "link" | "status" | "raw">;
  reason?: string;
  fallback_message_id?: string;
};

const NO_ATTEMPT = { provider_message_id: null, provider_code: null, detail: null, retry_at: null };
const NO_RECEIPT = { part: null, provider_message_id: null, error_code: null, provider_code: null };

export const TimelineEntry = Type.Object(
  {
    id: Type.String({ examples: ["evt_01k9zs3v8mf4tb2xg1qj6n0d5c"] }),
    object: Type.Literal("timeline_entry"),
    type: Type.String({ examples: ["message.sent"], description: "The event's type; `attempt.unknown` and the like are no events." }),
    ignored: Type.Boolean({ description: "A signal that moved nothing; no webhook is told of it." }),
    previous_status: nullable(Type.String()),
    status: nullable(Type.String({ description: "The message's status after it. Null where nothing moved." })),
    sequence: nullable(Type.Integer()),
    attempt: nullable(Attempt),
    receipt: nullable(ReceiptEntry),
    reason: nullable(Type.String({ description: "Who or what asked for it, where no carrier did." })),
    fallback_message_id: nullable(Type.String({ description: "The message that is sent in place of this one." })),
    created_at: timestamp("When it was recorded."),
  },
  { title: "TimelineEntry", description: "One entry of a message's timeline." },
);

export function toTimelineEntry({
  id,
  type,
  sequence,
  record,
  previous_status,
  detail,
  is_ignored,
}: EntryRow): Static<typeof TimelineEntry> {
  const { attempt, receipt, reason = null, fallback_message_id = null } = (detail ?? {}) as Detail;
  const status = record === null ? null : (JSON.parse(record) as { status: string }).status;
  return {
    id: encodeId("evt", id),
    object: "timeline_entry",
    type,
    ignored: is_ignored,
    previous_status,
    status,
    sequence,
    attempt: attempt === undefined ? null : { ...NO_ATTEMPT, ...attempt },
    receipt: receipt === undefined ? null : { ...NO_RECEIPT, ...receipt },
    reason,
    fallback_message_id,
    created_at: isoTime(uuidTimeMs(id)),
  };
}
