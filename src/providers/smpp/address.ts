/** Addresses with their type of number and numbering plan, by their form. */
import { digitsOf, isPossibleNumber, type Recipient } from "../../lib/phone-number.ts";
import type { Address } from "./pdu.ts";

const INTERNATIONAL = { ton: 1, npi: 1 };
const SHORT_CODE = { ton: 3, npi: 0 };
const ALPHANUMERIC = { ton: 5, npi: 0 };
const UNKNOWN = { ton: 0, npi: 0 };

// The field has 21 bytes, and the last is a zero. Networks take eleven letters; who takes more may.
const ALPHANUMERIC_FORM = /^[ -~]{1,20}$/;
const SHORT_CODE_FORM = /^\d{1,8}$/;
const INTERNATIONAL_FORM = /^\+?\d{1,20}$/;

type Override = { ton: number | null; npi: number | null };

export const destinationOf = (recipient: Recipient, { ton, npi }: Override): Address => ({
  ton: ton ?? INTERNATIONAL.ton,
  npi: npi ?? INTERNATIONAL.npi,
  text: digitsOf(recipient),
});

/** Undefined: no carrier could take it. A message without a sender, for carriers that put one in, has an empty address. */
export function sourceOf(sender: string | null, { ton, npi }: Override): Address | undefined {
  const form = formOf(sender ?? "");
  return form && { ton: ton ?? form.ton, npi: npi ?? form.npi, text: form.text };
}

function formOf(value: string): Address | undefined {
  if (value === "") return { ...UNKNOWN, text: "" };
  if (SHORT_CODE_FORM.test(value)) return { ...SHORT_CODE, text: value };
  if (INTERNATIONAL_FORM.test(value)) return { ...INTERNATIONAL, text: value.replace("+", "") };
  return ALPHANUMERIC_FORM.test(value) ? { ...ALPHANUMERIC, text: value } : undefined;
}

/** How we write an address that the carrier gives. Digits get a plus where the type of number is international, and where it is
 *  left open (0) and there are ten digits and more, which make a number of some country. Anything else is as it came: a short
 *  code, a national number, a name. */
export function numberOf({ ton, text }: Address): string {
  const digits = text.replace(/^(\+|00)/, "");
  if (!/^[1-9]\d*$/.test(digits)) return text;
  if (text.startsWith("+") || ton === INTERNATIONAL.ton) return `+${digits}`;
  return ton === UNKNOWN.ton && /^\d{10,15}$/.test(digits) && isPossibleNumber(`+${digits}`) ? `+${digits}` : text;
}
