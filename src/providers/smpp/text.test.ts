import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { Alphabet } from "../../model/segments.ts";
import { parsePart } from "./inbound-part.ts";
import type { ShortMessage } from "./pdu.ts";
import type { LongText } from "./settings.ts";
import { decodeText, encodeText, type Part } from "./text.ts";

const encode = (text: string, alphabet: Alphabet = "gsm7", longText: LongText = "udh8"): Part[] =>
  encodeText(text, { alphabet, longText }, 0x1234) ?? assert.fail("too long");

const CODINGS: readonly (readonly [text: string, alphabet: Alphabet, dataCoding: number, hex: string])[] = [
  ["Hi @", "gsm7", 0, "48692000"],
  ["é€", "gsm7", 0, "051b65"],
  ["Hi @", "latin1", 0, "48692040"],
  ["é", "latin1", 0, "e9"],
  ["Hi @", "ascii", 0, "48692040"],
  ["é", "ascii", 3, "e9"],
  // A character of the GSM alphabet that the carrier's alphabet lacks.
  ["Δ", "latin1", 8, "0394"],
  ["€", "ascii", 8, "20ac"],
  // A character of Latin-1 outside the GSM alphabet: phones would show another one.
  ["ç", "gsm7", 8, "00e7"],
  ["ç", "latin1", 8, "00e7"],
  ["ж😀", "gsm7", 8, "0436d83dde00"],
  ["\ud83d", "gsm7", 8, "d83d"],
  ["", "gsm7", 0, ""],
];
for (const [text, alphabet, dataCoding, hex] of CODINGS)
  test(`${JSON.stringify(text)} has data_coding ${dataCoding} for the alphabet ${alphabet}`, () => {
    const [part] = encode(text, alphabet);
    assert.deepEqual([part?.dataCoding, part?.text.toString("hex"), part?.esmClass], [dataCoding, hex, 0]);
  });

const LENGTHS: readonly (readonly [text: string, longText: LongText, bytes: number[]])[] = [
  ["a".repeat(160), "udh8", [160]],
  ["a".repeat(161), "udh8", [159, 14]],
  ["a".repeat(161), "udh16", [159, 16]],
  ["a".repeat(161), "sar", [153, 8]],
  ["a".repeat(161), "payload", [161]],
  ["ж".repeat(70), "udh8", [140]],
  ["ж".repeat(71), "udh8", [140, 14]],
  ["ж".repeat(71), "udh16", [139, 17]],
  ["ж".repeat(71), "sar", [134, 8]],
  [`${"ж".repeat(66)}😀жжж`, "udh8", [138, 16]],
  [`${"a".repeat(152)}€${"a".repeat(8)}`, "udh8", [158, 16]],
];
for (const [text, longText, bytes] of LENGTHS)
  test(`${Array.from(text).length} characters like ${text.slice(0, 1)} by ${longText} are ${bytes.join(" and ")} bytes`, () =>
    assert.deepEqual(
      encode(text, "gsm7", longText).map((part) => part.text.length),
      bytes,
    ));

test("a text with more parts than a byte can count is refused", () => {
  assert.equal(encode("a".repeat(153 * 255)).length, 255);
  assert.equal(encodeText("a".repeat(153 * 255 + 1), { alphabet: "gsm7", longText: "udh8" }, 1), undefined);
  assert.equal(encodeText("ж".repeat(32_768), { alphabet: "gsm7", longText: "payload" }, 1), undefined);
});

/** Decodes the parts as a phone does. */
const readBack = (parts: readonly Part[], alphabet: Alphabet): string[] =>
  parts.map((part) => {
    const { text } = parsePart({ ...part } as ShortMessage);
    return decodeText(text, part.dataCoding, alphabet);
  });

const LONG_TEXTS = ["udh8", "udh16", "sar", "payload"] as const;
const unit = fc.constantFrom("a", "€", "[", "é", "Δ", "ж", "😀", "ç", "\n");
test("a decoded text equals the encoded one in every alphabet and form, and no character is cut in two", () => {
  fc.assert(
    fc.property(
      fc.oneof(fc.string({ unit, maxLength: 400 }), fc.string({ unit: fc.constantFrom("a", "€"), maxLength: 400, size: "max" })),
      fc.constantFrom<Alphabet>("gsm7", "latin1", "ascii"),
      fc.constantFrom(...LONG_TEXTS),
      (text, alphabet, longText) => {
        const parts = encode(text, alphabet, longText);
        const texts = readBack(parts, alphabet);
        assert.equal(texts.join(""), text);
        for (const each of texts) assert.ok(each.isWellFormed());
        if (parts.length > 1)
          assert.deepEqual(
            parts.map((part) => parsePart({ ...part } as ShortMessage).position?.number),
            parts.map((_, index) => index + 1),
          );
      },
    ),
    { numRuns: 300 },
  );
});

const INBOUND: readonly (readonly [what: string, hex: string, dataCoding: number, alphabet: Alphabet, text: string])[] = [
  ["the default, GSM", "00", 0, "gsm7", "@"],
  ["the default, Latin-1", "40e9", 0, "latin1", "@é"],
  ["IA5", "40", 1, "gsm7", "@"],
  ["Latin-1", "e7", 3, "gsm7", "ç"],
  ["bytes", "c3ff", 4, "gsm7", "Ãÿ"],
  ["Cyrillic", "d6", 6, "gsm7", "ж"],
  ["Hebrew", "e0", 7, "gsm7", "א"],
  ["UCS-2", "0436d83dde00", 8, "gsm7", "ж😀"],
  ["UCS-2 with half a character", "043604", 8, "gsm7", "ж"],
  ["GSM with a class", "00", 0xf1, "latin1", "@"],
  ["bytes with a class", "40", 0xf5, "gsm7", "@"],
  ["UCS-2 with a class", "0436", 0x19, "gsm7", "ж"],
  ["GSM of the general group", "00", 0x11, "latin1", "@"],
  ["something reserved", "41", 0x80, "gsm7", "A"],
];
for (const [what, hex, dataCoding, alphabet, text] of INBOUND)
  test(`inbound text in ${what} is decoded`, () => assert.equal(decodeText(Buffer.from(hex, "hex"), dataCoding, alphabet), text));

const HEADERS: readonly (readonly [what: string, hex: string, position: object | null, rest: string])[] = [
  ["an 8 bit reference", "050003070201 41", { reference: "8:7", total: 2, number: 1 }, "A"],
  ["a 16 bit reference", "06080401020302 41", { reference: "16:258", total: 3, number: 2 }, "A"],
  ["something else before it", "0b 0504 00000000 0003 070202 41", { reference: "8:7", total: 2, number: 2 }, "A"],
  ["a port only", "06050400000000 41", null, "A"],
  ["one part of one", "050003070101 41", null, "A"],
  ["a part beyond the last", "050003070203 41", null, "A"],
  ["a header longer than the text", "ff4142", null, "\u00ffAB"],
  ["a header and nothing else", "050003070201", { reference: "8:7", total: 2, number: 1 }, ""],
];
for (const [what, hex, position, rest] of HEADERS)
  test(`a header with ${what} is parsed`, () => {
    const found = parsePart({
      esmClass: 0x40,
      text: Buffer.from(hex.replaceAll(" ", ""), "hex"),
      tlvs: new Map(),
    } as unknown as ShortMessage);
    assert.deepEqual([found.position, found.text.toString("latin1")], [position, rest]);
  });

test("decoding of random headers ends", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), fc.integer({ min: 0, max: 255 }), (array, dataCoding) => {
      const { text } = parsePart({ esmClass: 0x40, text: Buffer.from(array), tlvs: new Map() } as unknown as ShortMessage);
      assert.equal(typeof decodeText(text, dataCoding, "gsm7"), "string");
    }),
    { numRuns: 1_000 },
  );
});
