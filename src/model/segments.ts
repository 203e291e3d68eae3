/** Splits a text into the parts of an SMS. A single part holds 160 septets or 70 UTF-16 units. Each of several parts has a header of six
 *  bytes, which leaves 153 or 67, and less on a link with longer headers. No escape sequence or surrogate pair is split. A carrier whose
 *  alphabet lacks a character of the GSM alphabet gets the text in UCS-2. */
import { hasExtended, isGsm7, septets } from "./gsm7.ts";

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
};
export const USUAL_RULES: SegmentRules = { headerBytes: HEADER_BYTES, alphabet: "gsm7" };

// eslint-disable-next-line no-control-regex -- the control characters of Latin-1 are characters of it
const ONLY_LATIN1 = /^[\0-\xff]*$/;

/** The encoding of a text. Only a text in the GSM alphabet is sent as single bytes: phones receive that alphabet, whatever the carrier's
 *  own, and would show other characters of Latin-1 wrongly. A carrier with ASCII gets characters of Latin-1 with another data coding. */
export const encodingOf = (text: string, alphabet: Alphabet): Encoding =>
  isGsm7(text) && (alphabet === "gsm7" || ONLY_LATIN1.test(text)) ? "gsm7" : "ucs2";

const partCapacity = (encoding: Encoding, headerBytes: number): number =>
  Math.floor(encoding === "gsm7" ? ((PART_BYTES - headerBytes) * 8) / 7 : (PART_BYTES - headerBytes) / 2);

export function segmentsOf(text: string, { headerBytes, alphabet }: SegmentRules = USUAL_RULES): Segments {
  const encoding = encodingOf(text, alphabet);
  // Every character of the GSM alphabet is one UTF-16 unit.
  const isUniform = encoding === "gsm7" && !hasExtended(text);
  const costs = isUniform ? undefined : Array.from(text, encoding === "gsm7" ? septets : (character) => character.length);
  const total = costs === undefined ? text.length : costs.reduce((sum, cost) => sum + cost, 0);
  const characters = costs?.length ?? text.length;
  if (total <= SINGLE_CAPACITY[encoding]) return { count: 1, encoding, characters };
  const multi = partCapacity(encoding, headerBytes);
  return { count: costs === undefined ? Math.ceil(total / multi) : countParts(costs, multi), encoding, characters };
}

/** Fills part after part. A character that does not fit starts the next part. */
function countParts(costs: readonly number[], capacity: number): number {
  let parts = 1;
  let used = 0;
  for (const cost of costs) {
    if (used + cost > capacity) {
      parts += 1;
      used = 0;
    }
    used += cost;
  }
  return parts;
}

/** The texts of the parts, as many as `segmentsOf` counts. */
export function partsOf(text: string, { headerBytes, alphabet }: SegmentRules = USUAL_RULES): string[] {
  const encoding = encodingOf(text, alphabet);
  const costOf = encoding === "gsm7" ? septets : (character: string): number => character.length;
  const capacity = partCapacity(encoding, headerBytes);
  const parts: string[] = [];
  let total = 0;
  let part = "";
  let used = 0;
  for (const character of text) {
    const cost = costOf(character);
    if (used + cost > capacity) {
      parts.push(part);
      part = "";
      used = 0;
    }
    part += character;
    used += cost;
    total += cost;
  }
  return total <= SINGLE_CAPACITY[encoding] ? [text] : [...parts, part];
}
