/** What could be written with the GSM alphabet in place of a character that is not in it. A text with one such character costs
 *  more than twice as many parts, and most of them come from word processors. */
import { isGsm7 } from "../lib/gsm7.ts";

const ALTERNATIVES: ReadonlyMap<string, string> = new Map([
  ...each("‘’‚‛′´`ʼ", "'"),
  ...each("“”„‟″«»", '"'),
  ...each("‐‑‒–—―−", "-"),
  // By number, since an editor shows them all as blanks: no-break, en, em, of a third, a fourth and a sixth, of figures and
  // punctuation, thin, hair, narrow no-break, mathematical and ideographic.
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

/** Undefined where there is none that says the same. */
export function gsm7Alternative(character: string): string | undefined {
  const known = ALTERNATIVES.get(character);
  if (known !== undefined) return known;
  // Some characters are others under a second number: the sign of the ångström is the letter.
  const composed = character.normalize("NFC");
  if (composed !== character && isGsm7(composed)) return composed;
  // A letter with a mark is read without it.
  const plain = character.normalize("NFD").replaceAll(/\p{Mark}/gu, "");
  return plain !== "" && plain !== character && isGsm7(plain) ? plain : undefined;
}
