/** Recipients, and whether a phone number is possible: E.164 in form, with a length that exists in its country. A possible number need
 *  not be valid: numbering plans change faster than any table of them. */
import {
  getCountries,
  getCountryCallingCode,
  isPossiblePhoneNumber,
  isSupportedCountry,
  Metadata,
  parsePhoneNumberFromString,
  validatePhoneNumberLength,
  type CountryCode,
} from "libphonenumber-js/min";

/** The address of a person. `links/address.ts` creates it from a request or from an inbound message. A message is sent only to an
 *  address from a request, which is an E.164 number, or on WhatsApp a user id. */
export type Recipient = string & { readonly recipient: unique symbol };

/** Stands in records for the number of a person whose data was erased. No request and no carrier names a recipient like this. */
export const ERASED = "erased" as Recipient;

const E164 = "\\+[1-9]\\d{6,14}";
export const E164_PATTERN = `^${E164}$`;

// WhatsApp documents two letters of a country, and up to 128 letters and digits. `ENT` is in the ids that related businesses share.
const USER_ID = "[A-Z]{2}\\.(?:ENT\\.)?[A-Za-z0-9]{1,128}";
const userId = new RegExp(`^${USER_ID}$`);

export const RECIPIENT_PATTERN = `^(?:${E164}|${USER_ID})$`;

/** Whether a text is a business-scoped user id of WhatsApp, by which a business reaches a person whose number it does not know. No number has
 *  this form. */
export const isUserId = (text: string): boolean => userId.test(text);

// Calling codes that belong to no country: satellite phones, toll-free, premium.
const WORLDWIDE_CODES = ["800", "808", "870", "878", "881", "882", "883", "888", "979"];

/** The possible lengths of national numbers, by calling code. */
const possibleLengths = readPlans();

function readPlans(): Map<string, ReadonlySet<number>> {
  const metadata = new Metadata();
  const codes = new Set<string>([...getCountries().map((country) => getCountryCallingCode(country)), ...WORLDWIDE_CODES]);
  const plans = new Map<string, ReadonlySet<number>>();
  for (const code of codes) {
    // The type allows only countries; the function accepts calling codes as well.
    metadata.selectNumberingPlan(code as CountryCode);
    plans.set(code, new Set(metadata.numberingPlan?.possibleLengths()));
  }
  return plans;
}

const CODE_LENGTHS = [1, 2, 3] as const;

/** The library's own check parses the number, which takes longer than all other validation. So the table of lengths is used first, and
 *  the parser only for numbers that the table refuses. */
export function isPossibleNumber(e164: string): boolean {
  const plan = planOf(e164);
  return plan !== undefined && (plan.lengths.has(e164.length - 1 - plan.code.length) || isPossiblePhoneNumber(e164));
}

// E.164 has at most fifteen digits. Six is the shortest form that requests may have.
const MAX_DIGITS = 15;

/** Says why a text is no possible number, by its digits. The text may have any length, and is not repeated. */
export function explainNumber(text: string): string {
  if (text.length > 64 || !/\d/.test(text) || !/^[+\d\s()./-]+$/.test(text)) return E164_HINT;
  if (!text.startsWith("+")) return "must begin with + and the calling code of the country, such as +14155550123";
  if (!/^\+\d+$/.test(text)) return "must have only digits after the +, such as +14155550123";
  if (text.startsWith("+0")) return "must begin with + and the calling code of the country: no calling code begins with 0";
  const plan = planOf(text);
  if (plan === undefined)
    return text.length > MAX_DIGITS + 1 ? "is too long: a number has at most 15 digits" : "begins with no calling code of a country";
  const { code, lengths } = plan;
  const digits = text.length - 1 - code.length;
  const [shortest, longest] = [Math.min(...lengths), Math.max(...lengths)];
  const rule = `numbers of +${code} have ${shortest === longest ? shortest : `${shortest} to ${longest}`} digits after it, this one has ${digits}`;
  if (digits < shortest) return `is too short: ${rule}`;
  return digits > longest ? `is too long: ${rule}` : `has a length that is not in use: ${rule}`;
}

const E164_HINT = "must be an E.164 number such as +14155550123";

/** The calling code at the beginning of a number, and the possible lengths of the rest. */
function planOf(e164: string): { code: string; lengths: ReadonlySet<number> } | undefined {
  for (const length of CODE_LENGTHS) {
    const code = e164.slice(1, 1 + length);
    const lengths = possibleLengths.get(code);
    if (lengths !== undefined) return { code, lengths };
  }
  return undefined;
}

/** The calling code of a number, by its digits. Undefined for a number without one, and for a user id. */
export const callingCodeOf = (recipient: string): string | undefined => (recipient.startsWith("+") ? planOf(recipient)?.code : undefined);

/** The country of a recipient, as two letters; undefined if the numbering plan does not determine it. A user id names it. */
export const countryOf = (recipient: Recipient): string | undefined =>
  isUserId(recipient) ? recipient.slice(0, 2) : parsePhoneNumberFromString(recipient)?.country;

/** Whether the numbering plan of a country is known, by its two letters. */
export const isKnownCountry = (country: string): boolean => isSupportedCountry(country);

type DescribedNumber = {
  /** E.164; null for a text that is no number. */
  number: string | null;
  callingCode: string | null;
  country: string | null;
  national: string | null;
  /** `TOO_SHORT`, `TOO_LONG`, `INVALID_COUNTRY_CODE`, `INVALID_LENGTH`, `NOT_A_NUMBER`, or `INVALID_BUT_POSSIBLE` for digits that are in no range. */
  faults: string[];
};

const NO_NUMBER = { number: null, callingCode: null, country: null, national: null };
// Longer than any number with its separators.
const MAX_NUMBER_TEXT = 64;

/** Describes a number, in E.164 or as it is written within a country. */
export function describeNumber(text: string, country: string | undefined): DescribedNumber {
  const home = country !== undefined && isSupportedCountry(country) ? country : undefined;
  const number = text.length > MAX_NUMBER_TEXT ? undefined : parsePhoneNumberFromString(text, home);
  const reason = text.length > MAX_NUMBER_TEXT ? "TOO_LONG" : validatePhoneNumberLength(text, home);
  if (number === undefined) return { ...NO_NUMBER, faults: [reason === undefined ? "NOT_A_NUMBER" : codeOfLength(reason)] };
  const faults = reason === undefined ? (number.isValid() ? [] : ["INVALID_BUT_POSSIBLE"]) : [codeOfLength(reason)];
  return {
    number: number.number,
    callingCode: number.countryCallingCode,
    country: number.country ?? null,
    national: number.formatNational(),
    faults,
  };
}

const codeOfLength = (reason: string): string => (reason === "INVALID_COUNTRY" ? "INVALID_COUNTRY_CODE" : reason);

/** Reads a number in the form that is used within a country: with or without its trunk prefix, or with the calling code of the country.
 *  Undefined if the country has no numbers of this length. */
export function readNationalNumber(digits: string, country: string): string | undefined {
  const number = parsePhoneNumberFromString(digits, country as CountryCode);
  return number?.isPossible() === true ? number.number : undefined;
}

/** Whether the digits of a number are in a range that was in use when the table of ranges was made. */
export const isValidNumber = (e164: string): boolean => parsePhoneNumberFromString(e164)?.isValid() === true;

/** The number without its plus, as some carriers write it. */
export const digitsOf = (recipient: Recipient): string => recipient.slice(1);

/** Mobile numbers that are written in two forms. Networks and WhatsApp use either form for the same phone: Mexico with and without a 1 after
 *  the calling code, Argentina with and without a 9, Brazil with and without a 9 before the eight digits of older numbers. */
const EQUAL_FORMS: readonly { form: RegExp; other: string }[] = [
  { form: /^\+521(\d{10})$/, other: "+52$1" },
  { form: /^\+52(\d{10})$/, other: "+521$1" },
  { form: /^\+549(\d{10})$/, other: "+54$1" },
  { form: /^\+54(\d{10})$/, other: "+549$1" },
  { form: /^\+55(\d{2})9([6-9]\d{7})$/, other: "+55$1$2" },
  { form: /^\+55(\d{2})([6-9]\d{7})$/, other: "+55$19$2" },
];

/** The address of a person, and the other form of it if the number has one. */
export function formsOf(recipient: Recipient): readonly Recipient[] {
  const equal = EQUAL_FORMS.find(({ form }) => form.test(recipient));
  return equal === undefined ? [recipient] : [recipient, recipient.replace(equal.form, equal.other) as Recipient];
}
