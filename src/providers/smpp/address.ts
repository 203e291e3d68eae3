/** Addresses with type of number and numbering plan, which follow from the form of the text. */
import { digitsOf, isPossibleNumber, type Recipient } from "../../lib/phone-number.ts";
import type { Address } from "./pdu.ts";

const INTERNATIONAL = { ton: 1, npi: 1 };
const SHORT_CODE = { ton: 3, npi: 0 };
const ALPHANUMERIC = { ton: 5, npi: 0 };
const UNKNOWN = { ton: 0, npi: 0 };

// The field has 21 bytes with a final zero. Networks accept eleven letters, and some carriers more.
const ALPHANUMERIC_FORM = /^[ -~]{1,20}$/;
const SHORT_CODE_FORM = /^\d{1,8}$/;
const INTERNATIONAL_FORM = /^\+?\d{1,20}$/;

type Override = { ton: number | null; npi: number | null };

export const toDestination = (recipient: Recipient, { ton, npi }: Override): Address => ({
  ton: ton ?? INTERNATIONAL.ton,
  npi: npi ?? INTERNATIONAL.npi,
  text: digitsOf(recipient),
});

/** Undefined for a sender that no carrier accepts. A message without a sender has an empty address, in whose place the carrier puts
 *  its own. */
export function toSource(sender: string | null, { ton, npi }: Override): Address | undefined {
  const form = addressByForm(sender ?? "");
  return form && { ton: ton ?? form.ton, npi: npi ?? form.npi, text: form.text };
}

function addressByForm(value: string): Address | undefined {
  if (value === "") return { ...UNKNOWN, text: "" };
  if (SHORT_CODE_FORM.test(value)) return { ...SHORT_CODE, text: value };
  if (INTERNATIONAL_FORM.test(value)) return { ...INTERNATIONAL, text: value.replace("+", "") };
  return ALPHANUMERIC_FORM.test(value) ? { ...ALPHANUMERIC, text: value } : undefined;
}

/** Our form of a carrier's address. Digits get a plus if the type of number is international, or if it is unknown (0) and ten or more
 *  digits are a possible number of a country. Any other address is unchanged: a short code, a national number, a name. */
export function toNumber({ ton, text }: Address): string {
  const digits = text.replace(/^(\+|00)/, "");
  if (!/^[1-9]\d*$/.test(digits)) return text;
  if (text.startsWith("+") || ton === INTERNATIONAL.ton) return `+${digits}`;
  return ton === UNKNOWN.ton && /^\d{10,15}$/.test(digits) && isPossibleNumber(`+${digits}`) ? `+${digits}` : text;
}
