/** Addresses with type of number and numbering plan, which follow from the form of the text. */
import { digitsOf, type Recipient } from "../../model/phone-number.ts";
import type { AddressType, InboundAddresses } from "../provider.ts";
import type { Address } from "./pdu.ts";

const INTERNATIONAL = { ton: 1, npi: 1 };
const SHORT_CODE = { ton: 3, npi: 0 };
const ALPHANUMERIC = { ton: 5, npi: 0 };
const UNKNOWN = { ton: 0, npi: 0 };

// The field has 21 bytes with a final zero. Networks accept eleven letters, and some carriers more.
const ALPHANUMERIC_FORM = /^[ -~]{1,20}$/;
const SHORT_CODE_FORM = /^\d{1,8}$/;
const INTERNATIONAL_FORM = /^\+?\d{1,20}$/;

type Override = { ton?: number | undefined; npi?: number | undefined };

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

const ADDRESS_TYPES: Readonly<Record<number, AddressType>> = {
  1: "international",
  2: "national",
  5: "other",
  6: "other",
};

/** The addresses of an inbound message. Of the types unknown (0), network-specific (3) and
 *  subscriber number (4), and of reserved ones, the form of the address decides. */
export function toAddresses(source: Address, destination: Address): InboundAddresses {
  const [fromType, toType] = [ADDRESS_TYPES[source.ton], ADDRESS_TYPES[destination.ton]];
  return {
    from: source.text,
    ...(fromType === undefined ? {} : { fromType }),
    to: destination.text,
    ...(toType === undefined ? {} : { toType }),
  };
}
