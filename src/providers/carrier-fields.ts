/** Parses the fields of what carriers send: JSON and forms of any content. */

export type JsonObject = Readonly<Record<string, unknown>>;

const MAX_IDENTIFIER = 512;
const MAX_RAW_CHARS = 200;

export const isObject = (value: unknown): value is JsonObject => typeof value === "object" && value !== null && !Array.isArray(value);
/** An empty object in place of any other value. */
export const asObject = (value: unknown): JsonObject => (isObject(value) ? value : {});
/** An empty list in place of any other value. */
export const asList = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** Parses the JSON object of a response body; undefined where the body is none. */
export function parseJsonObject({ text }: { text: string }): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

const isStorable = (text: string): boolean => !text.includes("\0") && text.isWellFormed();

/** Parses the id or the name of a message or template. Refuses a text that the database cannot store: the carrier would send it again
 *  for ever, with everything beside it. */
export const parseIdentifier = (value: unknown): string | undefined =>
  typeof value === "string" && value !== "" && value.length <= MAX_IDENTIFIER && isStorable(value) ? value : undefined;

/** Parses the text of a person, without the characters that the database cannot store. */
export const parseText = (value: unknown): string | undefined =>
  typeof value === "string" && value !== "" ? value.replaceAll("\0", "").toWellFormed() : undefined;

/** The carrier's own fields for the timeline, without those that are absent. */
export const rawFields = (fields: JsonObject): Record<string, string> =>
  Object.fromEntries(
    Object.entries(fields).flatMap(([name, value]) => {
      const text = typeof value === "number" ? String(value) : parseText(value);
      return text === undefined ? [] : [[name, text.slice(0, MAX_RAW_CHARS).toWellFormed()]];
    }),
  );

/** Parses a phone number in any notation and returns it in E.164. */
export function parseNumber(value: unknown): string | undefined {
  const digits = typeof value === "string" ? value.replaceAll(/[\s()+.-]/g, "") : "";
  return /^[1-9]\d{6,14}$/.test(digits) ? `+${digits}` : undefined;
}
