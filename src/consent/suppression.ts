/** A suppression: the rule that refuses messages to a recipient, from one sender or from all, on any channel. Its statuses, its record in
 *  the API and the schema of the record. */
import { environmentField, createdByField, nullable, openEnum, timestamp, Type, type Static } from "../http/schema.ts";
import { encodeId, type AccountId, type EventId, type MessageId, type SuppressionId } from "../model/id.ts";
import type { Recipient } from "../model/phone-number.ts";
import { isoTime } from "../lib/time.ts";
import { uuidTimeMs } from "../lib/uuid.ts";
import type { Environment } from "../model/owner.ts";

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

/** A recipient in an environment. */
export type ConsentScope = Omit<Pair, "sender">;

/** A text that identifies a pair. Neither numbers nor senders contain line breaks. */
export const pairName = ({ accountId, environment, recipient, sender }: Pair): string =>
  [accountId.toString("hex"), environment, recipient, sender ?? ""].join("\n");

/** The cause and time of a change. */
export type Reason = {
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
  status: openEnum(SUPPRESSION_STATUSES, "Whether messages to the recipient are refused."),
  source: openEnum(SOURCES, "The cause: an opt-out word of the recipient, a request, an import, or a report of the carrier."),
  keyword: nullable(
    Type.String({ examples: ["STOP"], description: "The opt-out word, in capitals and without accents, punctuation and white space." }),
  ),
  message_id: nullable(Type.String({ description: "The id of the inbound message with the word." })),
  note: nullable(Type.String({ description: "Your own note." })),
};

const fields = {
  id: Type.String({ examples: ["sup_01k9zs3v8mf4tb2xg1qj6n0d5c"], description: "The id of the suppression." }),
  object: Type.Literal("suppression"),
  environment: environmentField,
  recipient: Type.String({ examples: ["+14155550123"], description: "The recipient to whom no messages are sent." }),
  sender: nullable(Type.String({ description: "The sender whose messages are refused. Null: all senders." })),
  ...reason,
  created_at: timestamp("The time of the first opt-out from this sender."),
  updated_at: timestamp("The time at which it last became active or was lifted."),
  created_by: createdByField,
};

export const SuppressionRecord = Type.Object(fields, {
  title: "Suppression",
  description:
    "The rule that refuses messages to a recipient, on all channels. `source`, `keyword`, `message_id` and `note` describe the last change; the history contains the earlier ones.",
});

export type SuppressionRecord = Static<typeof SuppressionRecord>;

export const inFlightField = (description: string) => Type.Integer({ examples: [0], description });

export const OptOutRecord = Type.Object(
  {
    ...fields,
    in_flight: inFlightField(
      "The number of messages to the recipient that were `sending` when the opt-out took effect and cannot be stopped.",
    ),
  },
  { title: "OptOut", description: "A suppression, with the number of messages that could not be stopped." },
);

export const ChangeRecord = Type.Object(
  {
    id: Type.String({ examples: ["evt_01k9zs3v8mf4tb2xg1qj6n0d5c"], description: "The id of the change. Its event has the same id." }),
    ...reason,
    at: timestamp("The time of the change."),
  },
  { title: "SuppressionChange", description: "One change of a suppression: it became active or was lifted." },
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
