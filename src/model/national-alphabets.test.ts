import assert from "node:assert/strict";
import { test } from "node:test";
import { fromGsm7, toGsm7 } from "./gsm7.ts";
import { NATIONAL_LANGUAGES, NATIONAL_TABLES, type NationalLanguage } from "./national-alphabets.ts";

// 3GPP TS 23.038, annex A: how many characters each table has, without spaces and escapes. The tables of European languages have what differs.
const SIZES: Readonly<Record<NationalLanguage, readonly [locking: number | undefined, single: number]>> = {
  tr: [8, 17],
  es: [undefined, 19],
  pt: [30, 37],
  bn: [61, 82],
  gu: [67, 70],
  hi: [74, 88],
  kn: [67, 73],
  ml: [67, 82],
  or: [63, 75],
  pa: [57, 76],
  ta: [49, 77],
  te: [67, 78],
  ur: [74, 90],
};

for (const language of NATIONAL_LANGUAGES)
  test(`the tables of ${language} have the sizes of the standard, and are read back`, () => {
    const { locking, single } = NATIONAL_TABLES[language];
    const [letters, signs] = SIZES[language];
    const isEuropean = language === "tr" || language === "es" || language === "pt";
    // The tables of other languages have 47 characters of Latin and six last ones.
    assert.equal(locking?.size, letters === undefined || isEuropean ? letters : letters + 53);
    assert.equal(single.size, signs);
    const text = [...(locking?.values() ?? []), ...single.values()].join("");
    const shifts = locking === undefined ? { single: language } : { locking: language, single: language };
    assert.equal(fromGsm7(toGsm7(text, shifts), shifts), text);
  });

const SAMPLES: readonly (readonly [
  what: string,
  hex: string,
  locking: NationalLanguage | undefined,
  single: NationalLanguage | undefined,
  text: string,
])[] = [
  ["Turkish by single shift", "1b531b731b491b691b471b671b63", undefined, "tr", "ŞşİıĞğç"],
  ["Turkish by locking shift", "1c1d40070b0c60041b65", "tr", undefined, "ŞşİıĞğç€€"],
  ["Spanish", "1b411b611b491b691b6f1b751b097d5d", undefined, "es", "ÁáÍíóúçñÑ"],
  ["Portuguese by single shift", "1b7b1b7c1b611b7f1b411b05", undefined, "pt", "ãõÂâÀê"],
  ["Portuguese by locking shift", "7b7c1c1d141b417e", "pt", "pt", "ãõÂâÀÀü"],
  ["Hindi", "2f4e5c27591b19", "hi", "hi", "\u0928\u093c\u094a\u0924\u0947\u0964"],
  ["Bengali digits", "1b191b1a1b1c1b23", undefined, "bn", "০১২৯"],
  ["Telugu digits", "1b1c1b25", undefined, "te", "౦౯"],
  ["Tamil", "2f40", "ta", undefined, "ந "],
  ["Urdu", "0001021b1c1b3f", "ur", "ur", "اآب۰۔"],
  ["a code that the single shift table lacks", "1b61", undefined, "tr", "a"],
];
for (const [what, hex, locking, single, text] of SAMPLES)
  test(`${what} is decoded`, () => assert.equal(fromGsm7(Buffer.from(hex, "hex"), { locking, single }), text));
