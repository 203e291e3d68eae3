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
