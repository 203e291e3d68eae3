/** How those who are written to and those who write are named in requests. */
import { HINT, Type } from "../http/schema.ts";
import type { Fault } from "../http/problem.ts";
import { E164_PATTERN, isPossibleNumber } from "../lib/phone-number.ts";

// A number, a short code, or a name of up to eleven characters with a letter in it: what carriers take as a sender.
const SENDER_PATTERN = "^(\\+[1-9]\\d{6,14}|\\d{3,8}|(?=.*[A-Za-z])[A-Za-z0-9 ._&-]{1,11})$";

export const recipientField = Type.String({
  pattern: E164_PATTERN,
  [HINT]: "must be an E.164 number such as +14155550123",
  examples: ["+14155550123"],
});

export const senderField = Type.String({
  pattern: SENDER_PATTERN,
  [HINT]: "must be an E.164 number, a short code, or a name of up to 11 characters",
});

const e164 = new RegExp(E164_PATTERN);

/** What the schema cannot say of a recipient; what is not even of its form is the schema's. */
export const recipientFaults = (recipient: unknown, pointer: string): Fault[] =>
  typeof recipient === "string" && e164.test(recipient) && !isPossibleNumber(recipient)
    ? [{ pointer, code: "impossible_number", detail: "no country has numbers of this length under this calling code" }]
    : [];
