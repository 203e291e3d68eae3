/** Requests about suppressions: their schemas, and the rules that a schema cannot express. */
import type { Fault } from "../http/problem.ts";
import { optional, Type, type Static } from "../http/schema.ts";
import { MAX_FAULTS } from "../http/validate.ts";
import { recipientFaults, recipientField, senderField } from "../links/address.ts";
import type { Owner } from "../model/owner.ts";
import type { Pair } from "./suppression.ts";

// An import is one transaction.
export const MAX_ENTRIES = 1_000;

const fields = {
  recipient: recipientField,
  sender: optional(Type.String({ ...senderField, description: "The sender whose messages are refused. Absent: all senders." })),
  note: optional(Type.String({ minLength: 1, maxLength: 256, description: "Your own note." })),
};

export const NewSuppressionBody = Type.Object(fields, {
  additionalProperties: false,
  title: "NewSuppression",
  description: "An opt-out to record.",
});
export type NewSuppression = Static<typeof NewSuppressionBody>;

export const ImportBody = Type.Object(
  {
    entries: Type.Array(NewSuppressionBody, {
      minItems: 1,
      maxItems: MAX_ENTRIES,
      description: "The recipients that have opted out.",
    }),
  },
  { additionalProperties: false, title: "ImportSuppressions", description: "Opt-outs to record together." },
);

export const checkSuppression = ({ recipient }: Readonly<Record<string, unknown>>): Fault[] => recipientFaults(recipient, "/recipient");

export function checkImport({ entries }: Readonly<Record<string, unknown>>): Fault[] {
  if (!Array.isArray(entries)) return [];
  const faults: Fault[] = [];
  for (const [index, entry] of entries.entries()) {
    // A number that no country has takes longest to check.
    if (faults.length >= MAX_FAULTS) break;
    faults.push(...recipientFaults((entry as { recipient?: unknown } | null)?.recipient, `/entries/${index}/recipient`));
  }
  return faults;
}

export const pairOf = ({ accountId, environment }: Owner, request: NewSuppression): Pair => ({
  accountId,
  environment,
  recipient: request.recipient,
  sender: request.sender ?? null,
});
