/** How a text becomes parts on the wire. One part holds 160 septets or 70 UTF-16 units; of several, each gives six bytes
 *  to its header, which leaves 153 or 67. Neither an escape nor a surrogate pair is ever split. */
import { hasExtended, isGsm7, septets } from "./gsm7.ts";

export type Encoding = "gsm7" | "ucs2";
export type Segments = { count: number; encoding: Encoding; characters: number };

const CAPACITY = { gsm7: { single: 160, multi: 153 }, ucs2: { single: 70, multi: 67 } } as const;

export function segmentsOf(text: string): Segments {
  const encoding: Encoding = isGsm7(text) ? "gsm7" : "ucs2";
  // Every character of the GSM alphabet is one UTF-16 unit.
  const isUniform = encoding === "gsm7" && !hasExtended(text);
  const costs = isUniform ? undefined : Array.from(text, encoding === "gsm7" ? septets : (character) => character.length);
  const total = costs === undefined ? text.length : costs.reduce((sum, cost) => sum + cost, 0);
  const { single, multi } = CAPACITY[encoding];
  const characters = costs?.length ?? text.length;
  if (total <= single) return { count: 1, encoding, characters };
  return { count: costs === undefined ? Math.ceil(total / multi) : countParts(costs, multi), encoding, characters };
}

/** Fills part after part; what does not fit whole begins the next one. */
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

// What a part carries in all, its header included.
const PART_BYTES = 140;

/** The texts of the parts, as many as `segmentsOf` counts. Carriers that need another encoding, or a longer header, say so; then
 *  there may be more. */
export function partsOf(text: string, encoding: Encoding = segmentsOf(text).encoding, headerBytes = 6): string[] {
  const costOf = encoding === "gsm7" ? septets : (character: string): number => character.length;
  const capacity = encoding === "gsm7" ? Math.floor(((PART_BYTES - headerBytes) * 8) / 7) : Math.floor((PART_BYTES - headerBytes) / 2);
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
  return total <= CAPACITY[encoding].single ? [text] : [...parts, part];
}
