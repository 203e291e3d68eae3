/** Splits a text into the parts of an SMS. A single part holds 160 septets or 70 UTF-16 units. Each of several parts has a header of six
 *  bytes, which leaves 153 or 67, and less on a link with longer headers. No escape sequence or surrogate pair is split. A carrier whose
 *  alphabet lacks a character of the GSM alphabet gets the text in UCS-2, or in national tables if they take fewer parts. */
import { hasExtended, isGsm7, septets, shiftedSeptets, type Shifts } from "./gsm7.ts";
import type { NationalLanguage } from "./national-alphabets.ts";

export type Encoding = "gsm7" | "ucs2";
export type Segments = { count: number; encoding: Encoding; characters: number };

// The size of a part with its header.
const PART_BYTES = 140;
/** The header with a reference of eight bits, which most carriers require. */
export const HEADER_BYTES = 6;
const SINGLE_CAPACITY = { gsm7: 160, ucs2: 70 } as const;

/** The characters that a carrier accepts as single bytes: those of GSM 03.38, of Latin-1, or of IA5. */
export type Alphabet = "gsm7" | "latin1" | "ascii";

/** The properties of a link that decide the parts of a text. */
export type SegmentRules = {
  /** The bytes of the header in each part of a long text. */
  headerBytes: number;
  alphabet: Alphabet;
  /** The languages whose national tables may be used. */
  languages?: readonly NationalLanguage[] | undefined;
};
export const USUAL_RULES: SegmentRules = { headerBytes: HEADER_BYTES, alphabet: "gsm7" };

// eslint-disable-next-line no-control-regex -- the control characters of Latin-1 are characters of it
const ONLY_LATIN1 = /^[\0-\xff]*$/;

/** The encoding of a text. Only a text in the GSM alphabet is sent as single bytes: phones receive that alphabet, whatever the carrier's
 *  own, and would show other characters of Latin-1 wrongly. A carrier with ASCII gets characters of Latin-1 with another data coding. */
export const encodingOf = (text: string, alphabet: Alphabet): Encoding =>
  isGsm7(text) && (alphabet === "gsm7" || ONLY_LATIN1.test(text)) ? "gsm7" : "ucs2";

const capacityOf = (encoding: Encoding, headerBytes: number): number =>
  Math.floor(encoding === "gsm7" ? ((PART_BYTES - headerBytes) * 8) / 7 : (PART_BYTES - headerBytes) / 2);

// The length of a header, which the header of several parts has already, and an element that names a table.
const LENGTH_BYTES = 1;
const SHIFT_BYTES = 3;

/** How a text is encoded and split. */
export type Coding = {
  encoding: Encoding;
  /** The national tables, if it has some. */
  shifts: Shifts | undefined;
  /** The septets or units that a part holds, if it is the only one, and if it is one of several. */
  single: number;
  several: number;
  costOf: (character: string) => number;
};

const unitsOf = (character: string): number => character.length;

const plainCoding = (encoding: Encoding, headerBytes: number): Coding => ({
  encoding,
  shifts: undefined,
  single: SINGLE_CAPACITY[encoding],
  several: capacityOf(encoding, headerBytes),
  costOf: encoding === "gsm7" ? septets : unitsOf,
});

function shiftedCoding(shifts: Shifts, headerBytes: number): Coding {
  const bytes = SHIFT_BYTES * Object.keys(shifts).length;
  return {
    encoding: "gsm7",
    shifts,
    single: capacityOf("gsm7", LENGTH_BYTES + bytes),
    several: capacityOf("gsm7", headerBytes + bytes),
    costOf: (character) => shiftedSeptets(character, shifts) ?? Infinity,
  };
}

/** The coding of a text with the fewest parts. National tables must save a part, because every phone reads UCS-2. */
export function codingOf(text: string, { headerBytes, alphabet, languages = [] }: SegmentRules): Coding {
  const plain = plainCoding(encodingOf(text, alphabet), headerBytes);
  if (plain.encoding === "gsm7" || alphabet !== "gsm7" || languages.length === 0) return plain;
  const characters = [...text];
  let best = { coding: plain, parts: countParts(characters.map(unitsOf), plain) };
  for (const language of languages)
    for (const shifts of [{ single: language }, { locking: language }, { locking: language, single: language }]) {
      const coding = shiftedCoding(shifts, headerBytes);
      const parts = countParts(characters.map(coding.costOf), coding);
      if (parts < best.parts) best = { coding, parts };
    }
  return best.coding;
}

export function segmentsOf(text: string, rules: SegmentRules = USUAL_RULES): Segments {
  const coding = codingOf(text, rules);
  const { encoding, shifts, single, several, costOf } = coding;
  // Every character of the GSM alphabet is one UTF-16 unit.
  if (encoding === "gsm7" && shifts === undefined && !hasExtended(text)) {
    const { length } = text;
    return { count: length <= single ? 1 : Math.ceil(length / several), encoding, characters: length };
  }
  const costs = Array.from(text, costOf);
  return { count: countParts(costs, coding), encoding, characters: costs.length };
}

/** Fills part after part. A character that does not fit starts the next part. */
function countParts(costs: readonly number[], { single, several }: Pick<Coding, "single" | "several">): number {
  let parts = 1;
  let used = 0;
  let total = 0;
  for (const cost of costs) {
    if (used + cost > several) {
      parts += 1;
      used = 0;
    }
    used += cost;
    total += cost;
  }
  if (total === Infinity) return Infinity;
  return total <= single ? 1 : parts;
}

/** The texts of the parts, as many as `segmentsOf` counts. */
export function partsOf(text: string, { single, several, costOf }: Coding): string[] {
  const parts: string[] = [];
  let total = 0;
  let part = "";
  let used = 0;
  for (const character of text) {
    const cost = costOf(character);
    if (used + cost > several) {
      parts.push(part);
      part = "";
      used = 0;
    }
    part += character;
    used += cost;
    total += cost;
  }
  return total <= single ? [text] : [...parts, part];
}
