import assert from "node:assert/strict";
import { test } from "node:test";
import { isGsm7 } from "../model/gsm7.ts";
import { gsm7Alternative } from "./gsm7-alternatives.ts";

const ROWS: readonly (readonly [what: string, characters: string, alternative: string | undefined])[] = [
  ["apostrophes and single quotation marks", "‘’‚‛′´`ʼ", "'"],
  ["double quotation marks", "“”„‟″«»", '"'],
  ["hyphens, dashes and the minus sign", "‐‑‒–—―−", "-"],
  ["no-break spaces", "\u00a0\u202f\u2007", " "],
  ["spaces of other widths", "\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2008\u2009\u200a\u205f\u3000", " "],
  ["a tab", "\t", " "],
  ["other line breaks", "\u0085\u2028\u2029", "\n"],
  ["bullets", "•·●▪", "*"],
  ["an ellipsis", "…", "..."],
  ["a trade mark", "™", "TM"],
  ["a copyright", "©", "(c)"],
  ["a registered mark", "®", "(R)"],
  ["a half", "½", "1/2"],
  ["a ligature", "œ", "oe"],
  ["letters with a stroke", "ł", "l"],
  ["a small c with a cedilla, of which the alphabet has only the capital", "ç", "c"],
  ["vowels with marks that the alphabet does not have", "áâãāăą", "a"],
  ["a letter with two marks", "ế", "e"],
  ["a letter of Turkish", "ğ", "g"],
  ["capitals with marks", "ÈÊËĒ", "E"],
  ["the ångström sign, which is a letter of the alphabet", "\u212b", "Å"],
  ["the ohm sign, which is a letter of the alphabet", "\u2126", "Ω"],
  ["the kelvin sign", "\u212a", "K"],
  ["letters of other scripts", "яё字あ한אع", undefined],
  ["small letters of Greek", "αβγά", undefined],
  ["emoji", "😀👋", undefined],
  ["a combining mark without a letter", "\u0301", undefined],
  ["characters of zero width", "\u200b\u200d\ufe0f\ufeff", undefined],
  ["control characters", "\u0000\u0007\u001b", undefined],
  ["a currency that the alphabet does not have", "₹", undefined],
];

for (const [what, characters, alternative] of ROWS) {
  test(`${what}: ${alternative === undefined ? "no alternative" : JSON.stringify(alternative)}`, () => {
    for (const character of characters) {
      assert.equal(isGsm7(character), false, `${character} is not in the alphabet`);
      assert.equal(gsm7Alternative(character), alternative, `U+${character.codePointAt(0)?.toString(16)}`);
    }
  });
}

test("every alternative of every character is in the alphabet and not empty", () => {
  let offered = 0;
  for (let point = 0; point <= 0x10ffff; point += 1) {
    if (point >= 0xd800 && point <= 0xdfff) continue;
    const character = String.fromCodePoint(point);
    if (isGsm7(character)) continue;
    const alternative = gsm7Alternative(character);
    if (alternative === undefined) continue;
    offered += 1;
    assert.ok(alternative !== "" && isGsm7(alternative), `U+${point.toString(16)}: ${JSON.stringify(alternative)}`);
    assert.ok(alternative.length <= 3, "it is about as long");
  }
  assert.ok(offered > 500, `${offered} have one`);
});
