/** Paths into JSON, a part of RFC 9535: `$.messages[0].id`, `$['message-id']`, and `[*]` for every element of a list. A path that begins
 *  with `?` names a parameter of the called URL. In XML a name stands for all elements of that name, and `@name` for an attribute. */
import { parseWithin } from "../../lib/scan-json.ts";
import { CARRIER_LIMITS, isObject } from "../carrier-fields.ts";
import { XmlElements } from "./xml.ts";

export type JsonPath = { kind: "body"; steps: readonly Step[] } | { kind: "query"; name: string };
type Step = { kind: "member"; name: string } | { kind: "index"; index: number } | { kind: "all" };

/** The document in which a path is looked up. */
export type Document = { body: unknown; query: Readonly<Record<string, string>> };

const MAX_PATH_CHARS = 200;
const STEP = /\.(@?[A-Za-z_][\w-]*)|\[(\d{1,4})\]|\[(\*)\]|\['([^'\\]{1,100})'\]/y;
const PARAMETER = /^\?([\w.-]{1,100})$/;

/** Returns undefined for a text that is not such a path. */
export function compilePath(text: string): JsonPath | undefined {
  const [, parameter] = PARAMETER.exec(text) ?? [];
  if (parameter !== undefined) return { kind: "query", name: parameter };
  if (!text.startsWith("$") || text.length > MAX_PATH_CHARS) return undefined;
  const steps: Step[] = [];
  for (STEP.lastIndex = 1; STEP.lastIndex < text.length;) {
    const match = STEP.exec(text);
    if (match === null) return undefined;
    steps.push(toStep(match));
  }
  return { kind: "body", steps };
}

function toStep([, member, index, all, quoted]: RegExpExecArray): Step {
  if (all !== undefined) return { kind: "all" };
  return index === undefined ? { kind: "member", name: member ?? quoted ?? "" } : { kind: "index", index: Number(index) };
}

/** All values at the path. Each value of the document is visited once at most. */
export function findAll(path: JsonPath, { body, query }: Document): readonly unknown[] {
  if (path.kind === "query") return Object.hasOwn(query, path.name) ? [query[path.name]] : [];
  const values = path.steps.reduce<readonly unknown[]>((parents, step) => parents.flatMap((value) => children(value, step)), [body]);
  return values.flatMap((value) => (value instanceof XmlElements ? [...value] : [value]));
}

function children(value: unknown, step: Step): readonly unknown[] {
  if (step.kind === "member" && value instanceof XmlElements) return value.flatMap((element) => children(element, step));
  if (step.kind === "member") return isObject(value) && Object.hasOwn(value, step.name) ? [value[step.name]] : [];
  if (!Array.isArray(value)) return [];
  return step.kind === "all" ? value : value.slice(step.index, step.index + 1);
}

// The digits of an integer that JavaScript may not hold exactly. Only then is the slower parser needed.
const LONG_INTEGER = /\d{16}/;

/** Parses JSON. An integer that is too large for a number is its digits as a text: ids differ in the last ones. Undefined for other texts,
 *  and for one that exceeds the limits of carriers. */
export function parseDocument(text: string, query: Document["query"] = {}): Document | undefined {
  const parsed = parseWithin(CARRIER_LIMITS, text, LONG_INTEGER.test(text) ? keepDigits : undefined);
  return parsed && { body: parsed.value, query };
}

const keepDigits = (_key: string, value: unknown, { source }: { source?: string } = {}): unknown =>
  Number.isInteger(value) && !Number.isSafeInteger(value) ? source : value;

/** The first value at the path, if it is a text, number, flag or XML element, as a text. */
export const textAt = (path: JsonPath | undefined, document: Document): string | undefined => {
  const [found] = path === undefined ? [] : findAll(path, document);
  const value = isObject(found) ? found["#text"] : found;
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean" ? String(value) : undefined;
};
