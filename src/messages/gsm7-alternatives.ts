/** Alternatives in the GSM alphabet for characters that are not in it. One such character more than doubles the number of segments of a
 *  text, and most of them are inserted by word processors. */
import { isGsm7 } from "../model/gsm7.ts";

const ALTERNATIVES: ReadonlyMap<string, string> = new Map([
  ...each("‘’‚‛′´`ʼ", "'"),
  ...each("“”„‟″«»", '"'),
  ...each("‐‑‒–—―−", "-"),
  // Escaped, since an editor shows all of them as blanks: no-break space, en and em spaces of all sizes, figure and punctuation space,
  // thin, hair, narrow no-break, mathematical and ideographic space, and the tab.
  ...each("\u00a0\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000\t", " "),
  ...each("\u0085\u2028\u2029", "\n"),
  ...each("•·●▪", "*"),
  ["…", "..."],
  ["™", "TM"],
  ["©", "(c)"],
  ["®", "(R)"],
  ["×", "x"],
  ["÷", "/"],
  ["≤", "<="],
  ["≥", ">="],
  ["½", "1/2"],
  ["¼", "1/4"],
  ["¾", "3/4"],
  ["œ", "oe"],
  ["Œ", "OE"],
  ["ł", "l"],
  ["Ł", "L"],
  ["đ", "d"],
  ["Đ", "D"],
  ["ı", "i"],
]);

function each(characters: string, alternative: string): [string, string][] {
  return Array.from(characters, (character) => [character, alternative]);
}

/** Undefined if no alternative has the same meaning. */
export function gsm7Alternative(character: string): string | undefined {
  const known = ALTERNATIVES.get(character);
  if (known !== undefined) return known;
  // Some characters have a second code point: the ångström sign is the letter Å.
  const composed = character.normalize("NFC");
  if (composed !== character && isGsm7(composed)) return composed;
  // A letter with a diacritic is readable without it.
  const plain = character.normalize("NFD").replaceAll(/\p{Mark}/gu, "");
  return plain !== "" && plain !== character && isGsm7(plain) ? plain : undefined;
}
