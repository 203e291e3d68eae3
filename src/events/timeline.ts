/** The timeline of a message: its events with their causes, the attempts at carriers, and ignored signals. */
import { nullable, openEnum, timestamp, Type, type Static } from "../http/schema.ts";
import { encodeId } from "../model/id.ts";
import { statusIn } from "../model/message-record.ts";
import { isoTime } from "../lib/time.ts";
import { uuidTimeMs } from "../lib/uuid.ts";
import { LinkWeight } from "../links/strategy.ts";
import type { EntryRow } from "./queries.ts";

const ATTEMPT_OUTCOMES = ["written", "accepted", "refused", "throttled", "unknown"] as const;

const Attempt = Type.Object(
  {
    number: Type.Integer({ description: "The number of the attempt, from one." }),
    link: Type.String({ description: "The link that was used." }),
    outcome: openEnum(ATTEMPT_OUTCOMES, "The outcome. `written`: the message may have left from now on. `unknown`: there was no response."),
    provider_message_id: nullable(Type.String({ description: "The carrier id of the message." })),
    provider_code: nullable(Type.String({ description: "The code of the carrier." })),
    detail: nullable(Type.String({ description: "The text of the carrier, or an explanation." })),
    retry_at: nullable(timestamp("The time of the next attempt, if there is one.")),
  },
  { title: "Attempt", description: "One attempt to submit the message to a carrier." },
);
type Attempt = Static<typeof Attempt>;

const ReceiptEntry = Type.Object(
  {
    link: Type.String({ description: "The link that received the receipt." }),
    status: Type.String({ description: "The status that the receipt means." }),
    part: nullable(Type.Integer({ description: "The part that the receipt reports, for a message of several parts." })),
    provider_message_id: nullable(Type.String({ description: "The carrier id in the receipt." })),
    error_code: nullable(Type.String({ description: "The error code that the receipt means." })),
    provider_code: nullable(Type.String({ description: "The code of the carrier." })),
    raw: Type.Record(Type.String(), { description: "The fields of the receipt as the carrier sent them." }),
  },
  { title: "Receipt", description: "A delivery receipt of a carrier." },
);
type ReceiptEntry = Static<typeof ReceiptEntry>;

/** The cause of an entry. Null members are left out, because most are null in every entry of every message. */
export type Detail = {
  attempt?: Partial<Attempt> & Pick<Attempt, "number" | "link" | "outcome">;
  receipt?: Partial<ReceiptEntry> & Pick<ReceiptEntry, "link" | "status" | "raw">;
  reason?: string;
  fallback_message_id?: string;
  links?: readonly LinkWeight[];
};

const NO_ATTEMPT = { provider_message_id: null, provider_code: null, detail: null, retry_at: null };
const NO_RECEIPT = { part: null, provider_message_id: null, error_code: null, provider_code: null };

export const TimelineEntry = Type.Object(
  {
    id: Type.String({ examples: ["evt_01k9zs3v8mf4tb2xg1qj6n0d5c"], description: "The id of the entry; that of the event if it is one." }),
    object: Type.Literal("timeline_entry"),
    type: Type.String({
      examples: ["message.sent"],
      description: "The type of the event. Types such as `attempt.unknown` are entries of the timeline only, and no events.",
    }),
    ignored: Type.Boolean({ description: "Whether the signal changed nothing. Such an entry is not sent to webhooks." }),
    previous_status: nullable(Type.String({ description: "The status of the message before." })),
    status: nullable(Type.String({ description: "The status of the message after. Null if it did not change." })),
    sequence: nullable(Type.Integer({ description: "The `sequence` of the message after. Null if it did not change." })),
    attempt: nullable(Attempt),
    receipt: nullable(ReceiptEntry),
    reason: nullable(Type.String({ description: "The cause of the change, if it was no carrier." })),
    fallback_message_id: nullable(Type.String({ description: "The id of the fallback message that was started." })),
    links: nullable(
      Type.Array(LinkWeight, {
        description:
          "The links of the route in the order in which it chose them, with their numbers, if it [chooses by quality or price](/docs/routing#choose-by-quality-or-price) and the message was accepted with this entry.",
      }),
    ),
    created_at: timestamp("The time of the entry."),
  },
  { title: "TimelineEntry", description: "One entry of the timeline of a message." },
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
  const { attempt, receipt, reason = null, fallback_message_id = null, links = null } = (detail ?? {}) as Detail;
  const status = record === null || !type.startsWith("message.") ? null : statusIn({ type, record });
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
    links: links && [...links],
    created_at: isoTime(uuidTimeMs(id)),
  };
}
