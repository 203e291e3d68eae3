/** The GSM 03.38 alphabet: characters of one septet, and of two. */

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
// The codes of the extension's characters, in the order of EXTENDED.
const EXTENDED_CODES = [0x0a, 0x14, 0x28, 0x29, 0x2f, 0x3c, 0x3d, 0x3e, 0x40, 0x65];

/** The escape is not a character, so the codes of the characters after it are one higher than their index. */
const basicCode = (index: number): number => (index < ESCAPE ? index : index + 1);

const codes = new Map<string, readonly number[]>([
  ...Array.from(BASIC, (character, index) => [character, [basicCode(index)]] as const),
  ...Array.from(EXTENDED, (character, index) => [character, [ESCAPE, EXTENDED_CODES[index] ?? 0]] as const),
]);
const basicCharacters = new Map(Array.from(BASIC, (character, index) => [basicCode(index), character]));
const extendedCharacters = new Map(Array.from(EXTENDED, (character, index) => [EXTENDED_CODES[index], character]));

/** Encodes one septet in each byte. A character outside the alphabet becomes a question mark. */
export const toGsm7 = (text: string): Buffer => Buffer.from(Array.from(text, (character) => codes.get(character) ?? [0x3f]).flat());

/** Decodes one septet from each byte. A code that the extension lacks is read from the basic table, as the standard prescribes. An
 *  escape at the end is a space. */
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
