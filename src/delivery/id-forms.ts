/** The forms of a carrier id. Many carriers write an id in the receipt differently from the response: decimal for hexadecimal, letters in the
 *  other case, with or without leading zeros. The form of the response is stored, so a receipt is looked up by all forms that the response
 *  may have had. */
import type { ReceiptIds } from "../providers/provider.ts";

// A number of 64 bits has 20 digits in decimal. No carrier is known that writes more digits than that with leading zeros.
const MAX_WIDTH = 20;

/** The ids of a response that the id of a receipt most likely means. Without `form`, the carrier writes both alike. */
export const firstForms = (id: string, form: ReceiptIds | undefined): string[] => {
  const converted = convert(id, form);
  return converted === undefined ? [id] : notationsOf(converted);
};

/** The other ids that it may mean. `notations`: the same digits, with letters in another case or with other leading zeros. `bases`: the same
 *  number in the other base. */
export function otherForms(id: string, form: ReceiptIds | undefined): { notations: string[]; bases: string[] } {
  if (form === undefined || convert(id, form) !== undefined) return { notations: [], bases: [] };
  const notations = notationsOf(id).filter((each) => each !== id);
  const numbers = form === "auto" ? [toHex(id), toDecimal(id)].filter((each) => each !== undefined) : [];
  const bases = new Set(numbers.flatMap(notationsOf));
  return { notations, bases: [...bases].filter((each) => each !== id && !notations.includes(each)) };
}

/** The id in the base of responses, if that is configured and the id is a number. */
const convert = (id: string, form: ReceiptIds | undefined): string | undefined =>
  form === "decimal" ? toHex(id) : form === "hex" ? toDecimal(id) : undefined;

// The length bounds the conversion, whose time grows faster than the length.
const toHex = (decimal: string): string | undefined => (/^\d{1,65}$/.test(decimal) ? BigInt(decimal).toString(16) : undefined);
const toDecimal = (hex: string): string | undefined => (/^[0-9a-f]{1,65}$/i.test(hex) ? BigInt(`0x${hex}`).toString() : undefined);

/** The id with letters in both cases, each as given, without leading zeros, and filled with zeros to any width. */
function notationsOf(id: string): string[] {
  const bare = id.replace(/^0+(?=.)/, "");
  const widths = /^[0-9a-f]+$/i.test(bare) ? Math.max(0, MAX_WIDTH - bare.length) : 0;
  const cases = [id.toLowerCase(), id.toUpperCase(), bare, bare.toLowerCase(), bare.toUpperCase()];
  const filled = cases.slice(3).flatMap((each) => Array.from({ length: widths }, (_, more) => each.padStart(bare.length + 1 + more, "0")));
  return [...new Set([id, ...cases, ...filled])];
}
