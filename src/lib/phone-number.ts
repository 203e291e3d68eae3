/** Recipients, and whether a phone number is possible: E.164 in form, with a length that exists in its country. A possible number need
 *  not be valid: numbering plans change faster than any table of them. */
import {
  getCountries,
  getCountryCallingCode,
  isPossiblePhoneNumber,
  Metadata,
  parsePhoneNumberFromString,
  type CountryCode,
} from "libphonenumber-js/min";

/** The address of a person. `links/address.ts` creates it from a request or from an inbound message. A message is sent only to an
 *  address from a request, which is an E.164 number. */
export type Recipient = string & { readonly recipient: unique symbol };

/** Stands in records for the number of a person whose data was erased. No request and no carrier names a recipient like this. */
export const ERASED = "erased" as Recipient;

export const E164_PATTERN = "^\\+[1-9]\\d{6,14}$";

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
  for (const length of CODE_LENGTHS) {
    const lengths = possibleLengths.get(e164.slice(1, 1 + length));
    if (lengths !== undefined) return lengths.has(e164.length - 1 - length) || isPossiblePhoneNumber(e164);
  }
  return false;
}

/** The country of a recipient, as two letters; undefined where the numbering plan does not determine it. */
export const countryOf = (recipient: Recipient): string | undefined => parsePhoneNumberFromString(recipient)?.country;

/** The number without its plus, as some carriers write it. */
export const digitsOf = (recipient: Recipient): string => recipient.slice(1);
