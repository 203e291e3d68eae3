/** The national language tables of 3GPP TS 23.038, annex A. A locking shift table replaces the basic table of the GSM alphabet, and a single shift
 *  table its extension. The header of a message names them by the number of the language. */

/** The languages by their numbers in headers, from one. */
export const NATIONAL_LANGUAGES = ["tr", "es", "pt", "bn", "gu", "hi", "kn", "ml", "or", "pa", "ta", "te", "ur"] as const;
export type NationalLanguage = (typeof NATIONAL_LANGUAGES)[number];

/** The characters of a table by their codes. */
export type CodeTable = ReadonlyMap<number, string>;

/** The tables of a language. `locking` is undefined if it has none. */
export type NationalTables = { locking: CodeTable | undefined; single: CodeTable };

/** Pairs of a code in two hexadecimal digits and its character. */
const coded = (text: string): [number, string][] => text.split(" ").map((pair) => [Number.parseInt(pair.slice(0, 2), 16), pair.slice(2)]);

const EXTENSION: readonly (readonly [number, string])[] = [[0x0a, "\f"], ...coded("14^ 28{ 29} 2f\\ 3c[ 3d~ 3e] 40| 65€")];

const TURKISH_LOCKING = coded("04€ 07ı 0bĞ 0cğ 1cŞ 1dş 40İ 60ç");
const PORTUGUESE_LOCKING = coded(
  "04ê 06ú 07í 08ó 09ç 0bÔ 0cô 0eÁ 0fá 12ª 13Ç 14À 15∞ 16^ 17\\ 18€ 19Ó 1a| 1cÂ 1dâ 1eÊ 24º 40Í 5bÃ 5cÕ 5dÚ 60~ 7bã 7cõ 7d`",
);
const TURKISH_SINGLE = coded("47Ğ 49İ 53Ş 63ç 67ğ 69ı 73ş");
const SPANISH_SINGLE = coded("09ç 41Á 49Í 4fÓ 55Ú 61á 69í 6fó 75ú");
const PORTUGUESE_SINGLE = coded(
  "05ê 09ç 0bÔ 0cô 0eÁ 0fá 12Φ 13Γ 15Ω 16Π 17Ψ 18Σ 19Θ 1fÊ 41À 49Í 4fÓ 55Ú 5bÃ 5cÕ 61Â 69í 6fó 75ú 7bã 7cõ 7fâ",
);

/** The codes that the letters of an alphabet have in a locking table, in the order of the letters. The other codes are punctuation, digits
 *  and small Latin letters. */
const LETTER_CODES = codesIn("00-09 0b 0c 0e-1a 1c-1f 22-27 2a 2b 2d 2f 3c-3e 40-5f");
const LAST_CODES = codesIn("60 7b-7f");
const PUNCTUATION = coded("21! 28) 29( 2c, 2e. 3a: 3b; 3f?");
const LATIN = coded("0a\n 0d\r").concat(
  [[0x20, " "]],
  PUNCTUATION,
  codesIn("30-39 61-7a").map((code) => [code, String.fromCharCode(code)]),
);
/** The places of Indian letters in the block of their alphabet in Unicode. All blocks have the same order. */
const PLACES = codesIn("01-03 05-39 3c-4d");

const SINGLE_COMMON = coded("00@ 01£ 02$ 03¥ 04¿ 05\" 06¤ 07% 08& 09' 0b* 0c+ 0e- 0f/ 10< 11= 12> 13¡ 15¡ 16_ 17# 18*").concat(
  codesIn("41-5a").map((code) => [code, String.fromCharCode(code)]),
);
const SINGLE_CODES = codesIn("19 1a 1c-27 2a-2e 30-3b 3f");

/** Numbers from ranges in hexadecimal digits, such as `01-03 05`. */
function codesIn(ranges: string): number[] {
  return ranges.split(" ").flatMap((range) => {
    if (range === "") return [];
    const [first = "", last = first] = range.split("-");
    const from = Number.parseInt(first, 16);
    return Array.from({ length: Number.parseInt(last, 16) - from + 1 }, (_, index) => from + index);
  });
}

/** The characters at the codes. A zero has no character. */
const placed = (codes: readonly number[], characters: readonly number[]): [number, string][] =>
  codes.flatMap((code, index) => (characters[index] ? [[code, String.fromCharCode(characters[index])] as [number, string]] : []));

/** The differences between the tables of Indian languages, as places in the block: the letters that it lacks, the characters of the last codes, and
 *  those of the single shift table after the ten digits. Two signs precede the digits. */
type Indian = { block: number; lacks?: string; last: string; signs?: readonly number[]; further?: string };

const DANDAS = [0x0964, 0x0965];

function indianTables({ block, lacks = "", last, signs = DANDAS, further = "" }: Indian): NationalTables {
  const at = (ranges: string): number[] => codesIn(ranges).map((place) => block + place);
  const missing = codesIn(lacks);
  const letters = PLACES.map((place) => (missing.includes(place) ? 0 : block + place));
  return {
    locking: new Map([...LATIN, ...placed(LETTER_CODES, letters), ...placed(LAST_CODES, at(last))]),
    single: new Map([...EXTENSION, ...SINGLE_COMMON, ...placed(SINGLE_CODES, [...signs, ...at(`66-6f ${further}`)])]),
  };
}

const URDU_LETTERS = codesIn(
  "627 622 628 67b 680 67e 6a6 62a 6c2 67f 679 67d 67a 67c 62b 62c 681 684 683 685 686 687 62d-62f 68c 688-68a 68f 68d 630 631 691 693 699 632 696 698 69a 633 634 635-639 641 642 6a9-6ab 6af 6b3 6b1 644-646 6ba-6bc 648 6c4 6d5 6c1 6be 621 6cc 6d0 6d2 64d 650 64f 657",
);
const URDU_LAST = codesIn("654 655 651 653 656 670");
const URDU_SINGLE = codesIn("600 601 6f0-6f9 60c-612 613 614 61b 61f 640 652 658 66b 66c 672 673 6cd 6d4");

const european = (single: [number, string][], locking?: [number, string][]): NationalTables => ({
  locking: locking && new Map(locking),
  single: new Map([...EXTENSION, ...single]),
});

/** The tables by language. The locking tables of European languages have only the characters that differ from the basic table. */
export const NATIONAL_TABLES: Readonly<Record<NationalLanguage, NationalTables>> = {
  tr: european(TURKISH_SINGLE, TURKISH_LOCKING),
  es: european(SPANISH_SINGLE),
  pt: european(PORTUGUESE_SINGLE, PORTUGUESE_LOCKING),
  bn: indianTables({
    block: 0x0980,
    lacks: "0d 0e 11 12 29 31 33-35 45 46 49 4a",
    last: "4e 57 5c 5d 70 71",
    signs: [],
    further: "5f-63 72-7a",
  }),
  gu: indianTables({ block: 0x0a80, lacks: "0e 12 29 31 34 46 4a", last: "50 60-63 71" }),
  hi: indianTables({ block: 0x0900, last: "50 72 7b 7c 7e 7f", further: "51-54 58-63 70 71" }),
  kn: indianTables({ block: 0x0c80, lacks: "01 0d 11 29 34 45 49", last: "55 56 60-63", further: "5e 71 72" }),
  ml: indianTables({ block: 0x0d00, lacks: "01 0d 11 29 3c 45 49", last: "57 60-63 79", further: "70-75 7a-7f" }),
  or: indianTables({ block: 0x0b00, lacks: "0d 0e 11 12 29 31 34 45 46 49 4a", last: "56 57 60-63", further: "5c 5d 5f 70 71" }),
  pa: indianTables({
    block: 0x0a00,
    lacks: "0b 0c 0d 0e 11 12 29 31 34 37 3d 43-46 49 4a",
    last: "51 70-74",
    further: "59-5c 5e 75",
  }),
  ta: indianTables({
    block: 0x0b80,
    lacks: "01 0b-0d 11 16-18 1b 1d 20-22 25-27 2b-2d 3c 3d 43-45 49",
    last: "50 57 70-72 79",
    further: "73-78 7a",
  }),
  te: indianTables({ block: 0x0c00, lacks: "0d 11 29 34 3c 45 49", last: "55 56 60-63", signs: [0, 0], further: "58 59 78-7f" }),
  ur: {
    locking: new Map([...LATIN, ...placed(LETTER_CODES, URDU_LETTERS), ...placed(LAST_CODES, URDU_LAST)]),
    single: new Map([...EXTENSION, ...SINGLE_COMMON, ...placed(SINGLE_CODES, URDU_SINGLE)]),
  },
};
