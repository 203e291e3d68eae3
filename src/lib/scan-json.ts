/** Measures a JSON text before it is parsed, in one pass over its bytes, and parses it within limits. */

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** The kinds of bytes outside strings, in a table: a chain of comparisons took five times as long. */
const [OTHER, DIGIT, STRING, COMMA, OPENING, CLOSING, EXPONENT, COLON] = [0, 1, 2, 3, 4, 5, 6, 7] as const;
const KINDS = new Uint8Array(256);
for (const [characters, kind] of [
  ["0123456789", DIGIT],
  ['"', STRING],
  [",", COMMA],
  ["[{", OPENING],
  ["]}", CLOSING],
  ["eE", EXPONENT],
  [":", COLON],
] as const)
  for (const character of characters) KINDS[character.charCodeAt(0)] = kind;

// The largest number has 309 digits before its point. A number with an exponent may exceed it with fewer.
const MANY_DIGITS = 300;

export type JsonLimits = {
  /** `JSON.parse` accepts hundreds of thousands of levels, and code that walks such a value overflows the stack. */
  maxDepth: number;
  /** The number of values, counted by commas and opening brackets. `JSON.parse` takes up to 0.6 µs for a value (an object with a name of
   *  its own), so that two megabytes of them hold the event loop for 200 ms. */
  maxValues: number;
};
/** For texts of our own. */
export const NO_LIMITS: JsonLimits = { maxDepth: Infinity, maxValues: Infinity };
/** `members`: the number of members of all objects, as they were written. */
type Scan = { isTooDeep: boolean; hasTooMany: boolean; mayHaveInfinity: boolean; members: number };

/** Stops at the first limit that the text exceeds. The text need not be valid. */
export function scanJson(bytes: Uint8Array, { maxDepth, maxValues }: JsonLimits): Scan {
  let depth = 0;
  let values = 1;
  let digits = 0;
  let members = 0;
  let mayHaveInfinity = false;
  for (let at = 0; at < bytes.length; at += 1) {
    const kind = KINDS[bytes[at] as number];
    if (kind === DIGIT) {
      digits += 1;
      if (digits >= MANY_DIGITS) mayHaveInfinity = true;
      continue;
    }
    // A digit before the letter distinguishes an exponent from `true` and `false`.
    if (kind === EXPONENT && digits > 0) mayHaveInfinity = true;
    digits = 0;
    if (kind === OTHER) continue;
    if (kind === STRING) at = endOfString(bytes, at + 1);
    else if (kind === CLOSING) depth -= 1;
    else if (kind === COLON) members += 1;
    else if (kind !== EXPONENT) {
      values += 1;
      if (kind === OPENING) depth += 1;
      if (depth > maxDepth || values > maxValues) break;
    }
  }
  return { isTooDeep: depth > maxDepth, hasTooMany: values > maxValues, mayHaveInfinity, members };
}

/** The number of members of all objects in a parsed value. It is lower than that of the text if an object has a name twice. */
export function countMembers(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  let count = 0;
  if (Array.isArray(value)) for (const item of value) count += countMembers(item);
  else for (const name of Object.keys(value)) count += 1 + countMembers((value as Record<string, unknown>)[name]);
  return count;
}

/** The position of the quote that ends a string, or the end of the bytes. */
function endOfString(bytes: Uint8Array, from: number): number {
  let at = from;
  while (at < bytes.length && bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1;
  return at;
}

/** Parses JSON. Undefined for any other text, and for one that exceeds a limit. */
export function parseWithin(
  limits: JsonLimits,
  json: Buffer | string,
  reviver?: Parameters<typeof JSON.parse>[1],
): { value: unknown } | undefined {
  const { isTooDeep, hasTooMany } = scanJson(typeof json === "string" ? Buffer.from(json) : json, limits);
  if (isTooDeep || hasTooMany) return undefined;
  try {
    return { value: JSON.parse(json.toString(), reviver) };
  } catch {
    return undefined;
  }
}
