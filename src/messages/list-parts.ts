/** The parts of a message on the wire, as the outside sees them. */
import { nullable, openEnum, timestamp, Type, type Static } from "../http/schema.ts";
import { isoTime } from "../lib/time.ts";
import type { KnownPart } from "./part.ts";
import { readParts } from "./part-queries.ts";
import type { Queryable } from "../storage/database.ts";
import { MessageError, type Message } from "./message.ts";
import { STATUSES, type Status } from "./states.ts";

export const PartRecord = Type.Object(
  {
    object: Type.Literal("part"),
    number: Type.Integer({ minimum: 1, description: "Its place in the message." }),
    provider_message_id: nullable(
      Type.String({ description: "What the carrier calls it. Null where only a receipt says that the carrier has it, and gives no name." }),
    ),
    status: openEnum(STATUSES),
    error: nullable(MessageError),
    updated_at: timestamp("When it last changed."),
  },
  { title: "MessagePart", description: "One part of a message, as its carrier knows it." },
);
type PartRecord = Static<typeof PartRecord>;

/** Those that a carrier has taken, in their order. Where the carrier knows the message by one name it is one part, however long it is:
 *  it went in one piece, or the carrier splits it. */
export async function listParts(db: Queryable, message: Message): Promise<PartRecord[]> {
  if (message.channel !== "sms" || message.direction !== "outbound") return [];
  const parts = await readParts<Status, MessageError>(db, message);
  if (parts.length > 0) return parts.map(partRecord);
  return isKnownToCarrier(message) ? [asOnePart(message)] : [];
}

/** A try that was refused, also after its first parts had left, leaves no name behind: the carrier has not taken the message. A
 *  receipt may say that it has, when no answer did. */
const isKnownToCarrier = ({ provider, sentAtMs }: Message): boolean =>
  sentAtMs !== null || (provider !== null && provider.messageId !== null);

const asOnePart = ({ provider, status, error, updatedAtMs }: Message): PartRecord => ({
  object: "part",
  number: 1,
  provider_message_id: provider?.messageId ?? null,
  status,
  error,
  updated_at: isoTime(updatedAtMs),
});

const partRecord = ({ number, provider_message_id, status, error, updated_at }: KnownPart<Status, MessageError>): PartRecord => ({
  object: "part",
  number,
  provider_message_id,
  status,
  error,
  updated_at: isoTime(updated_at.getTime()),
});
