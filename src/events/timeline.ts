/** The timeline of a message: its events with their causes, the attempts at carriers, and ignored signals. */
import { nullable, timestamp, Type, type Static } from "../http/schema.ts";
import { encodeId } from "../model/id.ts";
import { statusIn } from "../model/message-record.ts";
import { isoTime } from "../lib/time.ts";
import { uuidTimeMs } from "../lib/uuid.ts";
import { LinkWeight } from "../links/strategy.ts";
import type { EntryRow } from "./queries.ts";
import { Attempt, completeDetail, ReceiptEntry } from "./detail.ts";

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
  const { attempt, receipt, reason = null, fallback_message_id = null, links = null } = completeDetail(detail, record);
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
