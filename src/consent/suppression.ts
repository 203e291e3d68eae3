/** A suppression: the rule that refuses messages to a recipient, from one sender or from all, on any channel. Its statuses, its record in
 *  the API and the schema of the record. */
import { createdByField, nullable, openEnum, timestamp, Type, type Static } from "../http/schema.ts";
import { encodeId, type AccountId, type EventId, type MessageId, type SuppressionId } from "../lib/id.ts";
import type { Recipient } from "../lib/phone-number.ts";
import { isoTime } from "../lib/time.ts";
import { uuidTimeMs } from "../lib/uuid.ts";
import type { Environment } from "../storage/owner.ts";

export const SUPPRESSION_STATUSES = ["active", "lifted"] as const;

/** The cause of a change: an opt-out word of the recipient, a request, an import, or a report of the carrier. */
const SOURCES = ["keyword", "api", "import", "carrier"] as const;
export type Source = (typeof SOURCES)[number];

/** The recipient and sender of a suppression. Each pair has one, which is lifted and made active again. */
export type Pair = {
  accountId: AccountId;
  environment: Environment;
  recipient: Recipient;
  /** Null: all senders. */
  sender: string | null;
};

/** A text that identifies a pair. Neither numbers nor senders contain line breaks. */
export const pairName = ({ accountId, environment, recipient, sender }: Pair): string =>
  [accountId.toString("hex"), environment, recipient, sender ?? ""].join("\n");

/** The cause and time of a change. */
type Reason = {
  isActive: boolean;
  source: Source;
  keyword: string | null;
  /** The inbound message with the keyword. */
  messageId: MessageId | null;
  note: string | null;
};

export type Suppression = Pair & Reason & { id: SuppressionId; updatedAtMs: number; createdBy: string | null };

/** An entry of the history, with the id of its event. */
export type ConsentChange = Reason & { id: EventId };

const reason = {
  status: openEnum(SUPPRESSION_STATUSES),
  source: openEnum(SOURCES, "A word the recipient wrote, a request, an import, a report of the carrier."),
  keyword: nullable(
    Type.String({ examples: ["STOP"], description: "The word, in capitals and without accents, punctuation and white space." }),
  ),
  message_id: nullable(Type.String({ description: "The inbound message with the word." })),
  note: nullable(Type.String()),
};

const fields = {
  id: Type.String({ examples: ["sup_01k9zs3v8mf4tb2xg1qj6n0d5c"] }),
  object: Type.Literal("suppression"),
  environment: openEnum(["test", "live"]),
  recipient: Type.String({ examples: ["+14155550123"] }),
  sender: nullable(Type.String({ description: "Null: whoever sends." })),
  ...reason,
  created_at: timestamp("When the recipient was first suppressed for this sender."),
  updated_at: timestamp("When it last became active or was lifted."),
  created_by: createdByField,
};

export const SuppressionRecord = Type.Object(fields, {
  title: "Suppression",
  description:
    "A recipient who is not to be written to, on any channel. `source`, `keyword`, `message_id` and `note` are of its last change; its history has those before.",
});

export type SuppressionRecord = Static<typeof SuppressionRecord>;

export const inFlightField = (description: string) => Type.Integer({ examples: [0], description });

/** The response to an opt-out. */
export const OptOutRecord = Type.Object(
  {
    ...fields,
    in_flight: inFlightField("How many messages to the recipient were `sending` when the opt-out took effect: they cannot be stopped."),
  },
  { title: "OptOut", description: "A suppression, and the messages that it came too late for." },
);

export const ChangeRecord = Type.Object(
  {
    id: Type.String({ examples: ["evt_01k9zs3v8mf4tb2xg1qj6n0d5c"], description: "The event that told of it has the same id." }),
    ...reason,
    at: timestamp("When it was so changed."),
  },
  { title: "SuppressionChange", description: "A suppression became active, or was lifted." },
);

const toReason = ({ isActive, source, keyword, messageId, note }: Reason) => ({
  status: SUPPRESSION_STATUSES[isActive ? 0 : 1],
  source,
  keyword,
  message_id: messageId && encodeId("msg", messageId),
  note,
});

export function suppressionRecord(suppression: Suppression): SuppressionRecord {
  const { id, environment, recipient, sender, updatedAtMs, createdBy } = suppression;
  return {
    id: encodeId("sup", id),
    object: "suppression",
    environment,
    recipient,
    sender,
    ...toReason(suppression),
    created_at: isoTime(uuidTimeMs(id)),
    updated_at: isoTime(updatedAtMs),
    created_by: createdBy,
  };
}

export const changeRecord = (change: ConsentChange): Static<typeof ChangeRecord> => ({
  id: encodeId("evt", change.id),
  ...toReason(change),
  at: isoTime(uuidTimeMs(change.id)),
});
