/** The GSM 03.38 alphabet: what one septet can say, and what costs two. */

const BASIC =
  "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà";
const EXTENDED = "\f^{}\\[~]|€";

const escapeClass = (characters: string): string => characters.replaceAll(/[\]\\^-]/g, "\\$&");

const ONLY_GSM7 = new RegExp(`^[${escapeClass(BASIC)}${escapeClass(EXTENDED)}]*$`);
const ANY_EXTENDED = new RegExp(`[${escapeClass(EXTENDED)}]`);
const extended = new Set(EXTENDED);

export const isGsm7 = (text: string): boolean => ONLY_GSM7.test(text);
export const hasExtended = (text: string): boolean => ANY_EXTENDED.test(text);

/** How many septets a character of the alphabet takes. */
export const septets = (character: string): 1 | 2 => (extended.has(character) ? 2 : 1);

const ESCAPE = 0x1b;
// Where the extension has its characters, in the order they stand in above.
const EXTENDED_CODES = [0x0a, 0x14, 0x28, 0x29, 0x2f, 0x3c, 0x3d, 0x3e, 0x40, 0x65];

/** The escape is no character, so what comes after it in the table is one further. */
const basicCode = (place: number): number => (place < ESCAPE ? place : place + 1);

const codes = new Map<string, readonly number[]>([
  ...Array.from(BASIC, (character, place) => [character, [basicCode(place)]] as const),
  ...Array.from(EXTENDED, (character, place) => [character, [ESCAPE, EXTENDED_CODES[place] ?? 0]] as const),
]);
const basicCharacters = new Map(Array.from(BASIC, (character, place) => [basicCode(place), character]));
const extendedCharacters = new Map(Array.from(EXTENDED, (character, place) => [EXTENDED_CODES[place], character]));

/** A septet a byte. A character that the alphabet has not becomes a question mark. */
export const toGsm7 = (text: string): Buffer => Buffer.from(Array.from(text, (character) => codes.get(character) ?? [0x3f]).flat());

/** Out of a septet a byte. What the extension has not is read as in the basic table, as the standard wants it; an escape that
 *  nothing follows is a space. */
export function fromGsm7(bytes: Uint8Array): string {
  let text = "";
  for (let at = 0; at < bytes.length; at += 1) {
    const code = (bytes[at] ?? 0) & 0x7f;
    if (code !== ESCAPE) {
      text += basicCharacters.get(code) ?? " ";
      continue;
    }
    at += 1;
    const escaped = (bytes[at] ?? ESCAPE) & 0x7f;
    text += extendedCharacters.get(escaped) ?? basicCharacters.get(escaped) ?? " ";
  }
  return text;
}
