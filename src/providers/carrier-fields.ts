/** Parses the fields of what carriers send: JSON and forms of any content. */
import { parseWithin, type JsonLimits } from "../lib/scan-json.ts";

export type JsonObject = Readonly<Record<string, unknown>>;

const MAX_IDENTIFIER = 512;
const MAX_RAW_CHARS = 200;

export const isObject = (value: unknown): value is JsonObject => typeof value === "object" && value !== null && !Array.isArray(value);
/** An empty object in place of any other value. */
export const asObject = (value: unknown): JsonObject => (isObject(value) ? value : {});
/** An empty list in place of any other value. */
export const asList = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

// A page of reports or templates has some thousand values. The parser takes up to 2 µs for one, with the function that keeps digits.
export const CARRIER_LIMITS: JsonLimits = { maxDepth: 32, maxValues: 16_384 };

/** Parses the JSON object of a response body; undefined if the body is none, or exceeds a limit. */
export function parseJsonObject({ text }: { text: string }, limits = CARRIER_LIMITS): JsonObject | undefined {
  const value = parseWithin(limits, text)?.value;
  return isObject(value) ? value : undefined;
}

const isStorable = (text: string): boolean => !text.includes("\0") && text.isWellFormed();

/** Parses the id or the name of a message or template. Refuses a text that the database cannot store: the carrier would send it again
 *  for ever, with everything beside it. */
export const parseIdentifier = (value: unknown): string | undefined =>
  typeof value === "string" && value !== "" && value.length <= MAX_IDENTIFIER && isStorable(value) ? value : undefined;

/** Parses the text of a person, without the characters that the database cannot store. Undefined if nothing is left. */
export const parseText = (value: unknown): string | undefined =>
  typeof value === "string" ? value.replaceAll("\0", "").toWellFormed() || undefined : undefined;

// Longer than any title, payload or name that carriers permit.
const MAX_SHORT_CHARS = 1_024;

/** Parses a short text of a person: a title, a name, the payload of a button. A longer one is cut. Null if it is absent or empty. */
export const parseShort = (value: unknown, most = MAX_SHORT_CHARS): string | null =>
  parseText(typeof value === "string" ? value.slice(0, most) : value) ?? null;

/** The texts and numbers among some fields, as texts. */
const presentFields = (fields: JsonObject): Record<string, string> =>
  Object.fromEntries(
    Object.entries(fields).flatMap(([name, value]) => {
      const text = typeof value === "number" ? String(value) : parseText(value);
      return text === undefined ? [] : [[name, text]];
    }),
  );

/** The contents of an inbound message besides its text, without those that are absent. */
export function detailsOf(fields: JsonObject): { details?: Record<string, string> } {
  const details = presentFields(fields);
  return Object.keys(details).length === 0 ? {} : { details };
}

/** The kind of a message without text in brackets, by its details. Empty if they do not tell it. */
export function placeholder({
  details: { type, media_type: mediaType, media_url: url } = {},
}: {
  details?: Record<string, string>;
}): string {
  if (type !== undefined) return `[${/^[a-z_]{1,30}$/.test(type) ? type : "unsupported"}]`;
  const [, kind = "media"] = /^(image|audio|video)\//.exec(mediaType ?? "") ?? [];
  return url === undefined && mediaType === undefined ? "" : `[${kind}]`;
}

/** The carrier's own fields for the timeline, without those that are absent. */
export const rawFields = (fields: JsonObject): Record<string, string> =>
  Object.fromEntries(Object.entries(presentFields(fields)).map(([name, text]) => [name, text.slice(0, MAX_RAW_CHARS).toWellFormed()]));

// With white space around it.
const MAX_RAW_ADDRESS_CHARS = 1_024;
// With marks of direction and the name of a scheme.
const MAX_MARKED_ADDRESS_CHARS = 256;
// An erasure can name an address of this length.
const MAX_ADDRESS_CHARS = 64;
// The normalization makes a text up to 18 times as long.
const MAX_SCHEME_AND_ADDRESS_CHARS = MAX_ADDRESS_CHARS + 16;

/** Parses an address as a carrier writes it: a number in any notation, a short code, a name, or a form that is not known here. A message
 *  must not be lost because of its address. The host reads the address with the country of the link. Undefined if it is absent or empty. */
export function parseAddress(value: unknown): string | undefined {
  if (typeof value !== "string") return undefined;
  const text = value
    .slice(0, MAX_RAW_ADDRESS_CHARS)
    .trim()
    .slice(0, MAX_MARKED_ADDRESS_CHARS)
    .replaceAll(/[\p{Cc}\p{Cf}]/gu, "")
    .trim()
    .slice(0, MAX_SCHEME_AND_ADDRESS_CHARS)
    .normalize("NFKC")
    .slice(0, MAX_SCHEME_AND_ADDRESS_CHARS)
    .replaceAll(/\p{Pd}/gu, "-")
    .replace(/^\s*(tel|sms|whatsapp|rcs):/i, "")
    .trim();
  return text === "" ? undefined : text.slice(0, MAX_ADDRESS_CHARS).toWellFormed();
}

/** Parses an international phone number in any notation and returns it in E.164. */
export function parseNumber(value: unknown): string | undefined {
  const digits = typeof value === "string" ? value.replaceAll(/[\s()+.-]/g, "").replace(/^00/, "") : "";
  return /^[1-9]\d{6,14}$/.test(digits) ? `+${digits}` : undefined;
}
