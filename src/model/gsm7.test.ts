import assert from "node:assert/strict";
import { test } from "node:test";
import { fromGsm7, hasExtended, isGsm7, septets, toGsm7 } from "./gsm7.ts";

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

test("the characters after a line break are checked too", () => {
  assert.equal(isGsm7("first\nж"), false);
  assert.equal(isGsm7("ж\nlast"), false);
});

test("every character has the code of the standard", () => {
  BASIC_ROWS.forEach((row, high) => {
    // The escape has no character, so the second row has one less.
    const codes = Array.from({ length: 16 }, (_, low) => high * 16 + low).filter((code) => code !== 0x1b);
    assert.deepEqual([...toGsm7(row)], codes);
  });
  assert.equal(toGsm7(EXTENDED).toString("hex"), "1b0a1b141b281b291b2f1b3c1b3d1b3e1b401b65");
});

test("a decoded text equals the encoded one", () => assert.equal(fromGsm7(toGsm7(basic + EXTENDED)), basic + EXTENDED));

test("invalid codes are decoded as well as possible", () => {
  const rows: readonly (readonly [bytes: number[], text: string])[] = [
    [[0x1b], " "],
    [[0x1b, 0x1b], " "],
    [[0x1b, 0x41], "A"],
    [[0xc1], "A"],
    [[], ""],
  ];
  for (const [bytes, text] of rows) assert.equal(fromGsm7(Buffer.from(bytes)), text, bytes.join());
});

test("a character outside the alphabet becomes a question mark", () => assert.equal(toGsm7("ж😀").toString(), "??"));
