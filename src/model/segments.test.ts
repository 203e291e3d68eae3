import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { NATIONAL_LANGUAGES, NATIONAL_TABLES } from "./national-alphabets.ts";
import { codingOf, partsOf, segmentsOf, USUAL_RULES, type Encoding, type SegmentRules } from "./segments.ts";

const part = (count: number, character = "a"): string => character.repeat(count);
const splitBy = (text: string, rules: SegmentRules = USUAL_RULES): string[] => partsOf(text, codingOf(text, rules));
const FAMILY = "👨‍👩‍👧‍👦";

type Row = readonly [what: string, text: string, count: number, encoding: Encoding, characters: number];
const TABLE: readonly Row[] = [
  ["an empty text", "", 1, "gsm7", 0],
  ["a space", " ", 1, "gsm7", 1],
  ["a line break", "\n", 1, "gsm7", 1],
  ["160 septets", part(160), 1, "gsm7", 160],
  ["161 septets", part(161), 2, "gsm7", 161],
  ["two full parts", part(153 * 2), 2, "gsm7", 306],
  ["a septet more than two parts", part(153 * 2 + 1), 3, "gsm7", 307],
  ["ten full parts", part(153 * 10), 10, "gsm7", 1_530],
  ["a septet more than ten parts", part(153 * 10 + 1), 11, "gsm7", 1_531],
  ["the longest sms body", part(1_600), 11, "gsm7", 1_600],
  ["80 euro signs", part(80, "€"), 1, "gsm7", 80],
  ["81 euro signs", part(81, "€"), 2, "gsm7", 81],
  ["159 septets and a euro sign", `${part(159)}€`, 2, "gsm7", 160],
  ["158 septets and a euro sign", `${part(158)}€`, 1, "gsm7", 159],
  ["a form feed, which takes two septets", `${part(159)}\f`, 2, "gsm7", 160],
  ["an escape sequence across the first border", `${part(152)}€${part(152)}`, 3, "gsm7", 305],
  ["an escape sequence before the first border", `${part(151)}€${part(153)}`, 2, "gsm7", 305],
  ["euro signs, of which 76 fit into a part of 153 septets", part(76 * 2 + 1, "€"), 3, "gsm7", 153],
  ["70 units", part(70, "ж"), 1, "ucs2", 70],
  ["71 units", part(71, "ж"), 2, "ucs2", 71],
  ["two full parts of units", part(67 * 2, "ж"), 2, "ucs2", 134],
  ["a unit more than two parts", part(67 * 2 + 1, "ж"), 3, "ucs2", 135],
  ["35 emoji", part(35, "😀"), 1, "ucs2", 35],
  ["36 emoji", part(36, "😀"), 2, "ucs2", 36],
  ["a surrogate pair across the first border", `${part(66, "ж")}😀${part(66, "ж")}`, 3, "ucs2", 133],
  ["a surrogate pair before the first border", `${part(65, "ж")}😀${part(67, "ж")}`, 2, "ucs2", 133],
  ["emoji, of which 33 fit into a part of 67 units", part(33 * 2 + 1, "😀"), 3, "ucs2", 67],
  ["a family, which is seven characters in eleven units", FAMILY, 1, "ucs2", 7],
  ["six families in 66 units", part(6, FAMILY), 1, "ucs2", 42],
  ["seven families in 77 units", part(7, FAMILY), 2, "ucs2", 49],
  ["one letter that forces UCS-2 on the rest", `${part(70)}ç`, 2, "ucs2", 71],
  ["a typographic apostrophe", "it’s", 1, "ucs2", 4],
  ["a back quote", "`", 1, "ucs2", 1],
  ["a tab", "\t", 1, "ucs2", 1],
  ["a letter with a combining accent", "e\u0301", 1, "ucs2", 2],
];

for (const [what, text, count, encoding, characters] of TABLE) {
  test(`${what}: ${count} in ${encoding}`, () => assert.deepEqual(segmentsOf(text), { count, encoding, characters }));
}

const BASIC =
  "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà";
const EXTENDED = "\f^{}\\[~]|€";

/** Splits a text in the simplest way. */
function naiveParts(text: string): { encoding: Encoding; parts: string[][] } {
  const isGsm = Array.from(text).every((character) => BASIC.includes(character) || EXTENDED.includes(character));
  const cost = (character: string): number => (isGsm ? (EXTENDED.includes(character) ? 2 : 1) : character.length);
  const sizeOf = (characters: readonly string[]): number => characters.reduce((sum, character) => sum + cost(character), 0);
  const split = (capacity: number): string[][] => {
    const parts: string[][] = [[]];
    for (const character of text) {
      const last = parts.at(-1) as string[];
      if (sizeOf([...last, character]) <= capacity) last.push(character);
      else parts.push([character]);
    }
    return parts;
  };
  const single = split(isGsm ? 160 : 70);
  return { encoding: isGsm ? "gsm7" : "ucs2", parts: single.length === 1 ? single : split(isGsm ? 153 : 67) };
}

const gsm = fc.constantFrom(...BASIC, ...EXTENDED);
const any = fc.oneof(
  { weight: 5, arbitrary: gsm },
  { weight: 2, arbitrary: fc.constantFrom("ж", "漢", "😀", "\u200d", "ç") },
  { weight: 1, arbitrary: fc.string({ unit: "binary", minLength: 1, maxLength: 1 }) },
);
const texts = fc
  .oneof(gsm, any)
  .chain((unit) => fc.string({ unit: fc.oneof(fc.constant(unit), gsm, fc.constantFrom("€", "😀")), maxLength: 700, size: "max" }));

for (const [what, arbitrary] of [
  ["of the GSM alphabet", fc.string({ unit: gsm, maxLength: 700, size: "max" })],
  ["of any characters", fc.string({ unit: any, maxLength: 400, size: "max" })],
  ["of few different characters", texts],
] as const) {
  test(`a text ${what} has as many segments as its parts`, () => {
    fc.assert(
      fc.property(arbitrary, (text) => {
        const { encoding, parts } = naiveParts(text);
        assert.deepEqual(segmentsOf(text), { count: parts.length, encoding, characters: Array.from(text).length });
      }),
      { numRuns: 60 },
    );
  });
}

for (const [what, arbitrary] of [
  ["of the GSM alphabet", fc.string({ unit: gsm, maxLength: 700, size: "max" })],
  ["of any characters", fc.string({ unit: any, maxLength: 400, size: "max" })],
  ["of few different characters", texts],
] as const) {
  test(`a text ${what} is split into the counted number of parts`, () => {
    fc.assert(
      fc.property(arbitrary, (text) => {
        assert.deepEqual(
          splitBy(text),
          naiveParts(text).parts.map((characters) => characters.join("")),
        );
        assert.equal(splitBy(text).length, segmentsOf(text).count);
      }),
      { numRuns: 60 },
    );
  });
}

const LONG_HEADER = { ...USUAL_RULES, headerBytes: 7 };

test("a longer header leaves less room, and a single part has no header", () => {
  assert.deepEqual(
    splitBy(part(160), LONG_HEADER).map(({ length }) => length),
    [160],
  );
  assert.deepEqual(
    splitBy(part(161), LONG_HEADER).map(({ length }) => length),
    [152, 9],
  );
  assert.deepEqual(
    splitBy(part(71, "ж"), LONG_HEADER).map(({ length }) => length),
    [66, 5],
  );
  assert.deepEqual(
    splitBy(`${part(65, "ж")}😀${part(10, "ж")}`, LONG_HEADER).map(({ length }) => length),
    [65, 12],
  );
});

test("a character that the carrier's alphabet lacks makes the text UCS-2, for the count and for the parts", () => {
  const text = `${part(100)}€`;
  for (const [alphabet, encoding] of [
    ["gsm7", "gsm7"],
    ["latin1", "ucs2"],
    ["ascii", "ucs2"],
  ] as const) {
    const rules = { ...USUAL_RULES, alphabet };
    const { count } = segmentsOf(text, rules);
    assert.deepEqual(
      [segmentsOf(text, rules).encoding, count, splitBy(text, rules).length],
      [encoding, encoding === "gsm7" ? 1 : 2, count],
    );
    assert.equal(segmentsOf(part(100, "é"), rules).encoding, "gsm7", "in all three, or by another data coding");
    assert.equal(segmentsOf("ç", rules).encoding, "ucs2");
  }
});

test("with a longer header the count equals the number of parts", () => {
  for (const text of [part(160), part(304), part(305), part(306), part(132, "ж"), part(133, "ж"), `${part(65, "ж")}😀${part(66, "ж")}`])
    assert.equal(segmentsOf(text, LONG_HEADER).count, splitBy(text, LONG_HEADER).length, String(text.length));
  assert.deepEqual([segmentsOf(part(306)).count, segmentsOf(part(306), LONG_HEADER).count], [2, 3]);
});

const TURKISH = { ...USUAL_RULES, languages: ["tr"] } as const;

test("national tables are used if they save a part", () => {
  const rows: readonly (readonly [text: string, rules: SegmentRules, encoding: Encoding, lengths: readonly number[]])[] = [
    // Ş takes two septets with the single shift table, whose header leaves 155.
    [`${part(153)}ş`, TURKISH, "gsm7", [154]],
    [`${part(154)}ş`, TURKISH, "gsm7", [155]],
    [part(80, "ş"), TURKISH, "gsm7", [80]],
    // Above half of such letters, the locking shift table takes one septet for each.
    [part(155, "ş"), TURKISH, "gsm7", [155]],
    [part(156, "ş"), TURKISH, "gsm7", [149, 7]],
    // UCS-2 takes one part as well.
    [part(70, "ş"), TURKISH, "ucs2", [70]],
    [part(80, "ж"), TURKISH, "ucs2", [67, 13]],
    [part(80, "ş"), USUAL_RULES, "ucs2", [67, 13]],
    [part(80, "ş"), { ...TURKISH, alphabet: "latin1" }, "ucs2", [67, 13]],
    [part(100, "á"), { ...USUAL_RULES, languages: ["tr", "es", "pt"] }, "gsm7", [100]],
    [part(150, "न"), { ...USUAL_RULES, languages: ["hi"] }, "gsm7", [150]],
  ];
  for (const [text, rules, encoding, lengths] of rows) {
    assert.deepEqual(
      splitBy(text, rules).map((each) => each.length),
      lengths,
      text,
    );
    const { count, encoding: counted } = segmentsOf(text, rules);
    assert.deepEqual([count, counted], [lengths.length, encoding], text);
  }
});

test("a text of any national characters has as many parts as are counted, and none is lost", () => {
  const characters = NATIONAL_LANGUAGES.flatMap((language) => {
    const { locking, single } = NATIONAL_TABLES[language];
    return [...(locking?.values() ?? []), ...single.values()];
  });
  const rules: SegmentRules = { ...USUAL_RULES, languages: NATIONAL_LANGUAGES };
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(...characters), maxLength: 300, size: "max" }), (text) => {
      const parts = splitBy(text, rules);
      assert.equal(parts.join(""), text);
      assert.equal(parts.length, segmentsOf(text, rules).count);
      assert.ok(parts.length <= segmentsOf(text).count);
    }),
    { numRuns: 60 },
  );
});
