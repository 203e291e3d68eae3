/** The result of an erasure: its counts, its record in the API and the schema of the record. */
import { environmentField, Type, type Static } from "../http/schema.ts";
import { ERASED } from "../model/phone-number.ts";
import type { Environment } from "../model/owner.ts";

const count = (description: string) => Type.Integer({ minimum: 0, examples: [0], description });

export const ErasureRecord = Type.Object(
  {
    object: Type.Literal("erasure"),
    environment: environmentField,
    erased: Type.Object(
      {
        messages: count("Messages to the person and from the person."),
        events: count("Events of these messages and of suppressions, and other entries of timelines."),
        fallbacks: count("Fallbacks that had not started yet."),
        webhook_deliveries: count("Deliveries whose responses were removed."),
        verifications: count("Verifications; pending ones are canceled."),
        suppressions: count("Suppressions, active or lifted. Active opt-outs stay in effect, as keyed hashes."),
        media: count("Files that were sent to the person or came from the person, and nobody else."),
        stored_responses: count("Responses that were stored for idempotency keys, other than records of messages."),
      },
      { description: `The number of records that this request has erased. The records stay, with \`${ERASED}\` in place of the number.` },
    ),
    canceled: count("Scheduled and queued messages that were canceled first. They are counted as erased too."),
    unfinished: count("Messages that are with a carrier and were not erased. Repeat the request when they have a final status."),
    has_more: Type.Boolean({ description: "Whether the limit of one request was reached. Repeat the request with a new idempotency key." }),
  },
  { title: "Erasure", description: "The result of an erasure." },
);

export type ErasureCounts = Static<typeof ErasureRecord>["erased"] & { canceled: number; unfinished: number };

export const noCounts = (): ErasureCounts => ({
  messages: 0,
  events: 0,
  fallbacks: 0,
  webhook_deliveries: 0,
  verifications: 0,
  suppressions: 0,
  media: 0,
  stored_responses: 0,
  canceled: 0,
  unfinished: 0,
});

/** The records that were erased between two counts, for the audit log. */
export const erasedSince = (before: ErasureCounts, after: ErasureCounts): Record<string, number> =>
  Object.fromEntries(
    Object.entries(after)
      .map(([name, number]): [string, number] => [name, number - before[name as keyof ErasureCounts]])
      .filter(([name, number]) => number > 0 && name !== "unfinished"),
  );

export const erasureRecord = (
  environment: Environment,
  { canceled, unfinished, ...erased }: ErasureCounts,
  hasMore: boolean,
): Static<typeof ErasureRecord> => ({ object: "erasure", environment, erased, canceled, unfinished, has_more: hasMore });
