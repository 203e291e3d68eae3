/** The forms of recipients and senders in requests and in messages from carriers. */
import { HINT, Type } from "../http/schema.ts";
import type { Fault } from "../http/problem.ts";
import { E164_PATTERN, isPossibleNumber, type Recipient } from "../lib/phone-number.ts";

// Carriers accept three forms of sender: a number, a short code, or a name of up to eleven characters with at least one letter.
const SENDER_PATTERN = "^(\\+[1-9]\\d{6,14}|\\d{3,8}|(?=.*[A-Za-z])[A-Za-z0-9 ._&-]{1,11})$";

export const phoneNumberField = Type.String({
  pattern: E164_PATTERN,
  [HINT]: "must be an E.164 number such as +14155550123",
  examples: ["+14155550123"],
});

/** A value that matches this field, and for which `recipientFaults` is empty, is a `Recipient`. */
export const recipientField = Type.Unsafe<Recipient>(phoneNumberField);

export const senderField = Type.String({
  pattern: SENDER_PATTERN,
  [HINT]: "must be an E.164 number, a short code, or a name of up to 11 characters",
});

const e164 = new RegExp(E164_PATTERN);

/** The check of a recipient that a schema cannot express. A value of the wrong form is the fault that the schema reports. */
export const recipientFaults = (recipient: unknown, pointer: string): Fault[] =>
  typeof recipient === "string" && e164.test(recipient) && !isPossibleNumber(recipient)
    ? [{ pointer, code: "impossible_number", detail: "no country has numbers of this length under this calling code" }]
    : [];

/** An address of an inbound message, unchanged from the carrier: a number, a short code or a name. */
export const carrierAddress = (text: string): Recipient => text as Recipient;

/** Placeholder for an invalid recipient, so that validation can report the remaining errors. */
export const NO_RECIPIENT = "" as Recipient;
