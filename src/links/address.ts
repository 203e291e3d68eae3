/** The forms of recipients and senders in requests and in messages from carriers. */
import { HINT, Type } from "../http/schema.ts";
import type { Fault } from "../http/problem.ts";
import {
  E164_PATTERN,
  explainNumber,
  isPossibleNumber,
  isValidNumber,
  readNationalNumber,
  RECIPIENT_PATTERN,
  type Recipient,
} from "../model/phone-number.ts";
import type { AddressType } from "../providers/provider.ts";

// Carriers accept three forms of sender: a number, a short code, or a name of up to eleven characters with at least one letter.
const SENDER_PATTERN = "^(\\+[1-9]\\d{6,14}|\\d{3,8}|(?=.*[A-Za-z])[A-Za-z0-9 ._&-]{1,11})$";

export const phoneNumberField = Type.String({
  pattern: E164_PATTERN,
  [HINT]: explainNumber,
  description: "A phone number in E.164 format.",
  examples: ["+14155550123"],
});

/** A value that matches one of these fields, and for which `recipientFaults` is empty, is a `Recipient`. */
export const numberField = Type.Unsafe<Recipient>(phoneNumberField);
export const recipientField = Type.Unsafe<Recipient>({
  ...phoneNumberField,
  pattern: RECIPIENT_PATTERN,
  description:
    "The phone number of the recipient in E.164 format. On whatsapp also a business-scoped user id, such as `US.13491208655302741918`.",
});

/** A recipient in the query of a URL. */
export const recipientParameter = Type.String({
  pattern: RECIPIENT_PATTERN,
  [HINT]: (text: string) => (/^ \d/.test(text) ? "must be an E.164 number; write its + as %2B in a URL" : explainNumber(text)),
  description:
    "Only records of this recipient: a phone number, or a business-scoped user id of WhatsApp. Encode the `+` of a number as `%2B`.",
  examples: ["+14155550123"],
});

/** A sender in the query of a URL. Those of inbound messages have any form. */
export const senderParameter = Type.String({
  pattern: "^\\S.{0,63}$",
  [HINT]: "must have 1 to 64 characters; write the + of a number as %2B in a URL",
  description:
    "Only messages from this sender: a number or name of yours, or the person who wrote an inbound message. Encode the `+` of a number as `%2B`. With `direction=inbound` the search uses an index.",
  examples: ["+14155550123"],
});

export const senderField = Type.String({
  pattern: SENDER_PATTERN,
  [HINT]: "must be an E.164 number, a short code, or a name of up to 11 characters",
  description: "The sender: an E.164 number, a short code, or a name of up to 11 characters. Absent: the route chooses one.",
});

/** The name of a link or a sender pool. */
export const nameField = Type.String({
  pattern: "^[a-z][a-z0-9_-]{0,39}$",
  [HINT]: "must be up to 40 of a-z, 0-9, _ and -, and begin with a letter",
});

export const countryField = Type.String({
  pattern: "^[A-Z]{2}$",
  [HINT]: "must be a country of two letters such as US",
  description: "An ISO 3166-1 country code of two letters.",
  examples: ["US"],
});

const e164 = new RegExp(E164_PATTERN);

/** The check of a recipient that a schema cannot express. A value of the wrong form is the fault that the schema reports. */
export const recipientFaults = (recipient: unknown, pointer: string): Fault[] =>
  typeof recipient === "string" && e164.test(recipient) && !isPossibleNumber(recipient)
    ? [{ pointer, code: "impossible_number", detail: explainNumber(recipient) }]
    : [];

/** An address of an inbound message as the carrier writes it. Without a type, its form decides. */
export type CarrierAddress = { text: string; type: AddressType | undefined };

/** The readings of an address, the likelier one first. There is a second one if the digits may be a number of the link's country as well
 *  as an international number without its plus. */
type AddressReadings = readonly [Recipient, ...Recipient[]];

// Numbers of people have more digits in all countries.
const MAX_SHORT_CODE = 6;
// No short code has as many. A number with fewer digits is one of the country only if it is in one of its ranges.
const MIN_CERTAIN_NUMBER = 9;
const SEPARATORS = /[\s()./-]/g;

const readingsOf = (first: string, ...others: readonly string[]): AddressReadings =>
  [first, ...others] as readonly string[] as AddressReadings;

/** Brings an address to E.164. An address that is no number of the link's country and no international number is unchanged: a short code,
 *  a name, or a national number if the link has no country. */
export function readCarrierAddress({ text, type }: CarrierAddress, country: string | null): AddressReadings {
  const written = text.replaceAll(SEPARATORS, "");
  const digits = written.replace(/^(\+|00)/, "");
  const international = /^[1-9]\d*$/.test(digits) ? `+${digits}` : undefined;
  if (!/^\d+$/.test(digits)) return readingsOf(text);
  if (written.startsWith("+")) return readingsOf(international ?? text);
  // Some carriers mark a short code as international, too.
  if (type === "other" || digits.length <= MAX_SHORT_CODE) return readingsOf(text);
  const national = country === null ? undefined : readNationalNumber(written, country);
  if (type === "national") return readingsOf(national ?? text);
  const ofCountry = national !== undefined && (digits.length >= MIN_CERTAIN_NUMBER || isValidNumber(national)) ? national : undefined;
  // Some carriers mark every address as international.
  if (type === "international")
    return isPossible(international) ? readUnmarked(text, international, ofCountry) : readingsOf(ofCountry ?? international ?? text);
  const plausible = digits.length >= MIN_INTERNATIONAL && isPossible(international) ? international : undefined;
  return digits === written ? readUnmarked(text, plausible, ofCountry) : readingsOf(plausible ?? text);
}

/** The number that the records have for one with a plus, however a carrier separates its digits. Any other text stays. */
export function withoutSeparators(text: string): string {
  const written = text.replaceAll(SEPARATORS, "");
  return /^\+[1-9]\d*$/.test(written) ? written : text;
}

// Fewer digits without a plus are a national number, or a short code.
const MIN_INTERNATIONAL = 10;

const isPossible = (number: string | undefined): boolean => number !== undefined && number.length <= 16 && isPossibleNumber(number);

/** The readings of plain digits. A number in a range of its country is likelier than one that only has a possible length. */
function readUnmarked(text: string, international: string | undefined, national: string | undefined): AddressReadings {
  if (international === undefined || national === undefined || international === national)
    return readingsOf(international ?? national ?? text);
  const isNationalLikelier = isValidNumber(national) && !isValidNumber(international);
  return isNationalLikelier ? readingsOf(national, international) : readingsOf(international, national);
}

/** Placeholder for an invalid recipient, so that validation can report the remaining errors, and for an address that a carrier does not name. */
export const NO_RECIPIENT = "" as Recipient;
