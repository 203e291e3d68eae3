/** Splits a text into the parts of an SMS. A single part holds 160 septets or 70 UTF-16 units. Each of several parts has a header of six
 *  bytes, which leaves 153 or 67, and less on a link with longer headers. No escape sequence or surrogate pair is split. */
import { hasExtended, isGsm7, septets } from "./gsm7.ts";

export type Encoding = "gsm7" | "ucs2";
export type Segments = { count: number; encoding: Encoding; characters: number };

// The size of a part with its header.
const PART_BYTES = 140;
/** The header with a reference of eight bits, which most carriers require. */
export const HEADER_BYTES = 6;
const SINGLE_CAPACITY = { gsm7: 160, ucs2: 70 } as const;

const partCapacity = (encoding: Encoding, headerBytes: number): number =>
  Math.floor(encoding === "gsm7" ? ((PART_BYTES - headerBytes) * 8) / 7 : (PART_BYTES - headerBytes) / 2);

export function segmentsOf(text: string, headerBytes = HEADER_BYTES): Segments {
  const encoding: Encoding = isGsm7(text) ? "gsm7" : "ucs2";
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

/** The texts of the parts, as many as `segmentsOf` counts. There may be more parts for a carrier that needs another encoding. */
export function partsOf(text: string, encoding: Encoding = segmentsOf(text).encoding, headerBytes = HEADER_BYTES): string[] {
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
