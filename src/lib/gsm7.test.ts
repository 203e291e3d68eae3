import assert from "node:assert/strict";
import { test } from "node:test";
import { hasExtended, isGsm7, septets } from "./gsm7.ts";

// 3GPP TS 23.038, 6.2.1, sixteen codes a row. The escape at 0x1B is no character.
const BASIC_ROWS = [
  "@£$¥èéùìòÇ\nØø\rÅå",
  "Δ_ΦΓΛΩΠΨΣΘΞÆæßÉ",
  " !\"#¤%&'()*+,-./",
  "0123456789:;<=>?",
  "¡ABCDEFGHIJKLMNO",
  "PQRSTUVWXYZÄÖÑÜ§",
  "¿abcdefghijklmno",
  "pqrstuvwxyzäöñüà",
];
// 6.2.1.1.
const EXTENDED = "\f^{}\\[~]|€";

const basic = BASIC_ROWS.join("");

test("the basic table has 127 characters, each of one septet", () => {
  assert.equal(basic.length, 127);
  for (const character of basic)
    assert.deepEqual([isGsm7(character), hasExtended(character), septets(character)], [true, false, 1], character);
});

test("the extension has ten characters, each of two septets", () => {
  assert.equal(EXTENDED.length, 10);
  for (const character of EXTENDED)
    assert.deepEqual([isGsm7(character), hasExtended(character), septets(character)], [true, true, 2], character);
});

test("no other character of the basic multilingual plane is in the alphabet", () => {
  const known = new Set(basic + EXTENDED);
  for (let code = 0; code <= 0xffff; code += 1) {
    const character = String.fromCharCode(code);
    if (!known.has(character)) assert.equal(isGsm7(character), false, `U+${code.toString(16)}`);
  }
});

const LOOK_ALIKES: readonly (readonly [name: string, character: string])[] = [
  ["the escape itself", "\u001b"],
  ["a small c with cedilla", "ç"],
  ["the ohm sign", "\u2126"],
  ["the increment sign", "\u2206"],
  ["the Latin capital A of full width", "Ａ"],
  ["a Cyrillic а", "\u0430"],
  ["a no-break space", "\u00a0"],
  ["a broken bar", "¦"],
  ["an emoji", "😀"],
];

for (const [name, character] of LOOK_ALIKES) {
  test(`${name} is not in the alphabet, nor is a text with it`, () => {
    assert.equal(isGsm7(character), false);
    assert.equal(isGsm7(`before ${character} after`), false);
  });
}

test("a line end in the text hides nothing after it", () => {
  assert.equal(isGsm7("first\nж"), false);
  assert.equal(isGsm7("ж\nlast"), false);
});
