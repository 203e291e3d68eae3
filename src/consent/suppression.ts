/** A suppression: a recipient who is not to be written to, by one sender or by any, on any channel. Its words, its record as the
 *  outside sees it, and the schema of that. */
import { nullable, openEnum, timestamp, Type, type Static } from "../http/schema.ts";
import { encodeId, type AccountId, type EventId, type MessageId, type SuppressionId } from "../lib/id.ts";
import type { Recipient } from "../lib/phone-number.ts";
import { isoTime } from "../lib/time.ts";
import { uuidTimeMs } from "../lib/uuid.ts";
import type { Environment } from "../storage/owner.ts";

export const SUPPRESSION_STATUSES = ["active", "lifted"] as const;

/** How a suppression came to be as it is: a word that the recipient wrote, a request, an import. */
const SOURCES = ["keyword", "api", "import"] as const;
export type Source = (typeof SOURCES)[number];

/** Whom it is about: one suppression each, which stays the same when it is lifted and made active again. */
export type Pair = {
  accountId: AccountId;
  environment: Environment;
  recipient: Recipient;
  /** Null: whoever sends. */
  sender: string | null;
};

/** A name for a pair: neither numbers nor senders hold line breaks. */
export const pairName = ({ accountId, environment, recipient, sender }: Pair): string =>
  [accountId.toString("hex"), environment, recipient, sender ?? ""].join("\n");

/** What its last change was, or what a change before that was. */
type Reason = {
  isActive: boolean;
  source: Source;
  keyword: string | null;
  /** The inbound message with the keyword. */
  messageId: MessageId | null;
  note: string | null;
};

export type Suppression = Pair & Reason & { id: SuppressionId; updatedAtMs: number };

/** An entry of the history. Its id is the id of the event that told of it. */
export type ConsentChange = Reason & { id: EventId };

const reason = {
  status: openEnum(SUPPRESSION_STATUSES),
  source: openEnum(SOURCES, "A word the recipient wrote, a request, an import."),
  keyword: nullable(Type.String({ examples: ["STOP"], description: "The word, in capitals." })),
  message_id: nullable(Type.String({ description: "The inbound message with the word." })),
  note: nullable(Type.String()),
};

export const SuppressionRecord = Type.Object(
  {
    id: Type.String({ examples: ["sup_01k9zs3v8mf4tb2xg1qj6n0d5c"] }),
    object: Type.Literal("suppression"),
    environment: openEnum(["test", "live"]),
    recipient: Type.String({ examples: ["+14155550123"] }),
    sender: nullable(Type.String({ description: "Null: whoever sends." })),
    ...reason,
    created_at: timestamp("When the recipient was first suppressed for this sender."),
    updated_at: timestamp("When it last became active or was lifted."),
  },
  {
    title: "Suppression",
    description:
      "A recipient who is not to be written to, on any channel. `source`, `keyword`, `message_id` and `note` are of its last change; its history has those before.",
  },
);

export type SuppressionRecord = Static<typeof SuppressionRecord>;

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
  const { id, environment, recipient, sender, updatedAtMs } = suppression;
  return {
    id: encodeId("sup", id),
    object: "suppression",
    environment,
    recipient,
    sender,
    ...toReason(suppression),
    created_at: isoTime(uuidTimeMs(id)),
    updated_at: isoTime(updatedAtMs),
  };
}

export const changeRecord = (change: ConsentChange): Static<typeof ChangeRecord> => ({
  id: encodeId("evt", change.id),
  ...toReason(change),
  at: isoTime(uuidTimeMs(change.id)),
});
