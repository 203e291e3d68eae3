import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { Alphabet } from "../../model/segments.ts";
import { contentOf, joinParts, positionOf } from "./parts.ts";
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
  parts.map((part) => joinParts({ alphabet }, [contentOf({ ...part } as ShortMessage)]));

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
            parts.map((part) => positionOf({ ...part } as ShortMessage)?.number),
            parts.map((_, index) => index + 1),
          );
      },
    ),
    { numRuns: 300 },
  );
});

test("a text in national tables has a header that names them, in each part", () => {
  const turkish = (text: string, longText: LongText): string[] =>
    (encodeText(text, { alphabet: "gsm7", longText, languages: ["tr"] }, 0x1234) ?? []).map(({ esmClass, dataCoding, text: bytes }) => {
      assert.deepEqual([esmClass, dataCoding], [0x40, 0]);
      return bytes.toString("hex", 0, bytes[0] === undefined ? 0 : bytes[0] + 3);
    });
  assert.deepEqual(turkish(`ş${"a".repeat(100)}`, "udh8"), ["032401011b73"]);
  assert.deepEqual(turkish("ş".repeat(120), "udh8"), ["032501011d1d"]);
  assert.deepEqual(turkish("ş".repeat(200), "udh8"), ["0800033402012501011d1d", "0800033402022501011d1d"]);
  assert.deepEqual(turkish("ş".repeat(200), "udh16"), ["090804123402012501011d1d", "090804123402022501011d1d"]);
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
  ["GSM to be deleted", "00", 0x40, "latin1", "@"],
  ["UCS-2 to be deleted", "0436", 0x48, "gsm7", "ж"],
  ["a compressed text", "40", 0x20, "gsm7", "@"],
  ["an indication to drop", "00", 0xc8, "latin1", "@"],
  ["an indication to keep", "00", 0xd0, "latin1", "@"],
  ["an indication in UCS-2", "0436", 0xe0, "gsm7", "ж"],
  ["UCS-2 with a byte order mark", "feff0436", 8, "gsm7", "ж"],
  ["JIS", "93fa967b", 5, "gsm7", "日本"],
  ["ISO-2022-JP", "1b2442467c1b2842", 10, "gsm7", "日"],
  ["extended Kanji", "c6fc", 13, "gsm7", "日"],
  ["Korean", "c7d1", 14, "gsm7", "한"],
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
    const text = Buffer.from(hex.replaceAll(" ", ""), "hex");
    const short = { esmClass: 0x40, dataCoding: 0, text, tlvs: new Map() } as unknown as ShortMessage;
    assert.deepEqual([positionOf(short), joinParts({ alphabet: "latin1" }, [contentOf(short)])], [position, rest]);
  });

test("decoding of random headers ends", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), fc.integer({ min: 0, max: 255 }), (array, dataCoding) => {
      const short = { esmClass: 0x40, dataCoding, text: Buffer.from(array), tlvs: new Map() } as unknown as ShortMessage;
      positionOf(short);
      assert.equal(typeof joinParts({ alphabet: "gsm7" }, [contentOf(short)]), "string");
    }),
    { numRuns: 1_000 },
  );
});

test("parts with marks for missing ones are joined, and a character that was cut in two is whole", () => {
  const part = (hex: string, dataCoding = 0) => ({ dataCoding, hasHeader: false, userData: Buffer.from(hex, "hex") });
  const join = (...parts: readonly (ReturnType<typeof part> | undefined)[]): string => joinParts({ alphabet: "gsm7" }, parts);
  assert.equal(join(undefined, part("32"), part("33"), undefined, undefined, part("35"), undefined), "[…]23[…]5[…]");
  assert.equal(join(part("0436d83d", 8), part("de00", 8)), "ж😀");
  assert.equal(join(part("411b"), part("65")), "A€");
  assert.equal(join(part("41"), part("0436", 8), part("42")), "AжB");
});

test("inbound parts are read with the national tables that their headers name", () => {
  const part = (hex: string) => ({ dataCoding: 0, hasHeader: true, userData: Buffer.from(hex.replaceAll(" ", ""), "hex") });
  const join = (...parts: readonly string[]): string => joinParts({ alphabet: "gsm7" }, parts.map(part));
  // The three texts of a review, which were read as S, A and ä.
  assert.equal(join("03240101 1b53"), "Ş");
  assert.equal(join("03240102 1b41"), "Á");
  assert.equal(join("03240103 1b7b"), "ã");
  assert.equal(join("03250101 1c1d40"), "Şşİ");
  assert.equal(join("080003070201 250101 1d1b", "080003070202 250101 65"), "ş€", "an escape that was cut in two");
  assert.equal(join("080003070201 250101 1d", "050003070202 1d"), "şæ", "each part has its own tables");
  assert.equal(join("03240163 1b65"), "€", "an unknown language");
  assert.equal(join("022401 41"), "A", "an element that is too short");
});

test("texts in national tables are read back", () => {
  for (const [languages, text] of [
    [["tr"], "Şişli'de güneşli, ılık bir gün; çarşıda İğneler".repeat(6)],
    [["pt"], "Não há ação às três; você põe à mão".repeat(8)],
    [["hi"], "नमस्ते दुनिया, यह एक संदेश है।".repeat(9)],
  ] as const) {
    const parts = encodeText(text, { alphabet: "gsm7", longText: "udh8", languages }, 7) ?? [];
    assert.ok(parts.every(({ dataCoding }) => dataCoding === 0));
    const contents = parts.map(({ text: userData }) => ({ dataCoding: 0, hasHeader: true, userData }));
    assert.equal(joinParts({ alphabet: "gsm7" }, contents), text);
  }
});
