/** Validates a value against a schema: sizes first, so that the check of contents does a bounded amount of work. Returns all faults, each
 *  with its location and a sentence for people. */
import { Ajv, type ErrorObject, type Options, type ValidateFunction } from "ajv";
import { groupDigits } from "../lib/group-digits.ts";
import { mustBeOneOf } from "../lib/nearest.ts";
import { isDateTime } from "../lib/time.ts";
import { escapePointer, type Fault } from "./problem.ts";
import { HINT, type Hint, type Schema } from "./schema.ts";
import { unknownField } from "./unknown-field.ts";

// A body with thousands of unknown fields needs no response with thousands of faults.
export const MAX_FAULTS = 100;

const OPTIONS: Options = {
  coerceTypes: false,
  allErrors: true,
  verbose: true,
  removeAdditional: false,
  useDefaults: false,
  strict: true,
  allowUnionTypes: true,
  validateFormats: true,
  discriminator: true,
};

const ajv = new Ajv(OPTIONS);
ajv.addKeyword(HINT);
ajv.addFormat("date-time", isDateTime);

export type InputLocation = "body" | "query" | "path";
export type Validate = (value: unknown) => Fault[];

/** A parameter has the name that was sent; a pointer has the escaped path. */
const toLocation = (location: InputLocation, path: string): { pointer: string } | { parameter: string } =>
  location === "body" ? { pointer: path } : { parameter: path.slice(1).replaceAll("~1", "/").replaceAll("~0", "~") };

/** The faults of a value, and the value with all parts cut to an allowed size, for further checks. */
export type Checked = { faults: Fault[]; sized: unknown };

/** Creates a check of sizes first and contents second, so that its work is bounded by the schema and not by the value. */
export function compileSized(schema: Schema, location: InputLocation): (value: unknown) => Checked {
  // At the first use: most commands, and most nodes, use few of the schemas.
  let check: ValidateFunction | undefined;
  return (value) => {
    check ??= ajv.compile(schema);
    const { value: sized, errors } = cutToSize(schema, value, MAX_FAULTS);
    const others = check(sized) ? [] : (check.errors ?? []);
    return { faults: errors.length + others.length === 0 ? [] : toFaults(errors, others, location), sized };
  };
}

export function compile(schema: Schema, location: InputLocation): Validate {
  const check = compileSized(schema, location);
  // The text of a body is checked when the body is parsed.
  return location === "body"
    ? (value) => check(value).faults
    : (value) => [...check(value).faults, ...textFaults(value as Record<string, unknown>)];
}

/** Why a text cannot be stored, or undefined: PostgreSQL's text cannot hold NUL, and a lone surrogate is not valid in UTF-8. */
export function textFault(text: string): string | undefined {
  if (text.includes("\0")) return "must not contain the character U+0000";
  return text.isWellFormed() ? undefined : "must not contain a lone surrogate";
}

const textFaults = (parameters: Readonly<Record<string, unknown>>): Fault[] =>
  Object.entries(parameters).flatMap(([parameter, value]) => {
    const detail = typeof value === "string" ? textFault(value) : undefined;
    return detail === undefined ? [] : [{ parameter, code: "invalid_character", detail }];
  });

/** Converts digits in a query to numbers if the schema requires a number, since a query string has only text. Bodies are never
 *  coerced. */
export function coerceQuery(schema: Schema, query: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const { properties = {} } = schema as { properties?: Record<string, { type?: string | string[] }> };
  const isNumber = (name: string): boolean => [properties[name]?.type ?? []].flat().includes("integer");
  return Object.fromEntries(
    Object.entries(query).map(([name, value]) => [
      name,
      isNumber(name) && typeof value === "string" && /^-?\d{1,15}$/.test(value) ? Number(value) : value,
    ]),
  );
}

/** A value of the wrong type is in no list of values either, and a text that was cut may have lost its form: one fault suffices. */
function toFaults(sizes: readonly ErrorObject[], others: readonly ErrorObject[], location: InputLocation): Fault[] {
  const ofWrongSize = new Set(sizes.map(({ instancePath }) => instancePath));
  const ofWrongType = new Set(others.filter(({ keyword }) => keyword === "type").map(({ instancePath }) => instancePath));
  const reported = others.filter(
    ({ keyword, instancePath }) =>
      keyword !== "propertyNames" &&
      !(keyword === "enum" && ofWrongType.has(instancePath)) &&
      !(TEXT_KEYWORDS.has(keyword) && ofWrongSize.has(instancePath)),
  );
  return [...sizes, ...reported]
    .slice(0, MAX_FAULTS)
    .map((error, index) => ({ ...toLocation(location, pathOf(error)), ...describe(error, location, index < MAX_SUGGESTED) }));
}

const TEXT_KEYWORDS: ReadonlySet<string> = new Set(["pattern", "format", "enum"]);

function pathOf({ keyword, instancePath, params, propertyName }: ErrorObject): string {
  if (keyword === "discriminator") return `${instancePath}/${escapePointer(String(params["tag"]))}`;
  if (keyword === "required") return `${instancePath}/${escapePointer(String(params["missingProperty"]))}`;
  if (keyword === "additionalProperties") return `${instancePath}/${escapePointer(String(params["additionalProperty"]))}`;
  return propertyName === undefined ? instancePath : `${instancePath}/${escapePointer(propertyName)}`;
}

const ARTICLE: Readonly<Record<string, string>> = {
  string: "a string",
  integer: "an integer",
  number: "a number",
  boolean: "a boolean",
  object: "an object",
  array: "an array",
  null: "null",
};

/** `mayGuess`: the detail may suggest the word that is nearest to a mistyped one. */
function describe(error: ErrorObject, location: InputLocation, mayGuess: boolean): { code: string; detail: string } {
  const { keyword, params, parentSchema, schema, propertyName, message, data } = error;
  const limit = groupDigits(Number(params["limit"]));
  const subject = propertyName === undefined ? "" : "the name ";
  switch (keyword) {
    case "required":
      return { code: "required", detail: "is required" };
    case "additionalProperties":
      return { code: "unknown_field", detail: explainUnknown(error, location === "query", mayGuess) };
    case "type":
      // A parameter that is given several times is read as a list.
      if (location === "query" && Array.isArray(data)) return { code: "invalid_type", detail: "is given more than once: give it once" };
      return { code: "invalid_type", detail: `must be ${typeNames(params["type"])}` };
    case "enum":
      return {
        code: "invalid_value",
        detail: mustBeOneOf(
          mayGuess && data,
          (schema as (string | null)[]).filter((value) => value !== null),
          meantBy(parentSchema, data),
        ),
      };
    case "discriminator": {
      if (params["tagValue"] === undefined) return { code: "required", detail: "is required" };
      const { oneOf: forms = [] } = parentSchema as { oneOf?: { properties: Record<string, { const?: string }> }[] };
      const tags = forms.map(({ properties }) => String(properties[String(params["tag"])]?.const));
      return {
        code: "invalid_value",
        detail: mustBeOneOf(mayGuess && params["tagValue"], tags, meantBy(parentSchema, params["tagValue"])),
      };
    }
    case "minLength":
      return { code: "too_short", detail: `${subject}must have at least ${limit} character${params["limit"] === 1 ? "" : "s"}` };
    case "maxLength":
      return { code: "too_long", detail: `${subject}must have at most ${limit} characters` };
    case "minimum":
      return { code: "out_of_range", detail: `must be at least ${limit}` };
    case "maximum":
      return { code: "out_of_range", detail: `must be at most ${limit}` };
    case "minItems":
      return { code: "too_few", detail: `must have at least ${limit} item${params["limit"] === 1 ? "" : "s"}` };
    case "maxItems":
      return { code: "too_many", detail: `must have at most ${limit} items` };
    case "maxProperties":
      return { code: "too_many", detail: `must have at most ${limit} fields` };
    case "pattern":
    case "format":
      return { code: "invalid_format", detail: hintFor(parentSchema?.[HINT] as Hint | undefined, data) };
    default:
      return { code: "invalid", detail: message ?? "is not valid" };
  }
}

const hintFor = (hint: Hint = "does not have the expected form", data: unknown): string =>
  typeof hint === "string" ? hint : hint(String(data));

/** The text of the schema for that name, such as that of a field that cannot be changed, or the field that was probably meant. */
function explainUnknown({ params, parentSchema }: ErrorObject, isParameter: boolean, mayGuess: boolean): string {
  const name = String(params["additionalProperty"]);
  const own = meantBy(parentSchema, name);
  return own === "" ? unknownField(name, { known: parentSchema?.["properties"] ?? {}, isParameter, mayGuess }) : own;
}

function meantBy(schema: ErrorObject["parentSchema"], value: unknown): string {
  const hint = schema?.[HINT] as Hint | undefined;
  return typeof hint === "function" && typeof value === "string" ? hint(value) : "";
}

// People mistype few names. The distances of many would take long: a batch has thousands of values.
const MAX_SUGGESTED = 5;

/** Null means "absent" and is not mentioned. */
function typeNames(type: unknown): string {
  const names = (Array.isArray(type) ? type : String(type).split(",")) as string[];
  const shown = names.filter((name) => name !== "null" || names.length === 1);
  return shown.map((name) => ARTICLE[name] ?? name).join(" or ");
}

/** The errors have the form of those of Ajv. */
type Sized = { value: unknown; errors: ErrorObject[] };

type Members = Readonly<Record<string, unknown>>;
type Limits = {
  maxLength?: number;
  maxItems?: number;
  maxProperties?: number;
  items?: Limits;
  properties?: Readonly<Record<string, Limits>>;
  additionalProperties?: boolean | Limits;
  /** The forms of a union, which the member `discriminator.propertyName` distinguishes. */
  oneOf?: readonly Limits[];
  discriminator?: { propertyName: string };
  const?: unknown;
};

/** The limits of the form that a value has. Nothing is known of a value without a known form, which the check refuses as a whole. */
function formFor(limits: Limits, value: Members): Limits {
  const { oneOf: forms, discriminator } = limits;
  if (forms === undefined || discriminator === undefined) return limits;
  const name = discriminator.propertyName;
  const tag = Object.hasOwn(value, name) ? value[name] : undefined;
  return forms.find(({ properties }) => properties?.[name]?.const === tag) ?? NO_FORM;
}

const NO_FORM: Limits = { additionalProperties: false };

/** Checks the lengths of arrays and strings, and the number of members of objects. Returns the errors of the sizes, and the value itself, or a
 *  copy in which everything is cut to an allowed size, so that later checks can still report the other faults of the request. `maxUnknown`
 *  is the number of unknown members that the copy keeps. */
function cutToSize(schema: Schema, value: unknown, maxUnknown: number): Sized {
  if (fits(schema as Limits, value)) return { value, errors: [] };
  const cutter = new Cutter(maxUnknown);
  return { value: cutter.cut(schema as Limits, value, ""), errors: cutter.errors };
}

/** Whether the value has only known members and allowed sizes, as nearly all have. */
function fits(limits: Limits, value: unknown): boolean {
  if (typeof value === "string") return value.length <= (limits.maxLength ?? Infinity);
  if (typeof value !== "object" || value === null) return true;
  if (Array.isArray(value)) {
    const { maxItems = Infinity, items } = limits;
    return value.length <= maxItems && (items === undefined || value.every((item) => fits(items, item)));
  }
  const { properties, additionalProperties: others = true, maxProperties = Infinity } = formFor(limits, value as Members);
  const names = Object.keys(value);
  return (
    names.length <= maxProperties &&
    names.every((name) => {
      const member = properties !== undefined && Object.hasOwn(properties, name) ? properties[name] : others;
      return typeof member === "object" ? fits(member, (value as Members)[name]) : member !== false;
    })
  );
}

class Cutter {
  readonly errors: ErrorObject[] = [];
  #unknownLeft: number;

  constructor(maxUnknown: number) {
    this.#unknownLeft = maxUnknown;
  }

  cut(limits: Limits, value: unknown, path: string): unknown {
    if (typeof value === "string") return this.#cutText(limits, value, path);
    if (typeof value !== "object" || value === null) return value;
    return Array.isArray(value) ? this.#cutArray(limits, value, path) : this.#cutObject(limits, value as Members, path);
  }

  #refuse(keyword: "maxLength" | "maxItems" | "maxProperties", instancePath: string, limit: number): void {
    this.errors.push({ keyword, instancePath, schemaPath: "", params: { limit } });
  }

  #cutText({ maxLength = Infinity }: Limits, text: string, path: string): string {
    if (text.length <= maxLength || !isLonger(text, maxLength)) return text;
    this.#refuse("maxLength", path, maxLength);
    return text.slice(0, maxLength);
  }

  #cutArray({ maxItems = Infinity, items }: Limits, list: readonly unknown[], path: string): readonly unknown[] {
    const isTooLong = list.length > maxItems;
    if (isTooLong) this.#refuse("maxItems", path, maxItems);
    const kept = isTooLong ? list.slice(0, maxItems) : list;
    if (items === undefined) return kept;
    const cut = kept.map((item, index) => this.cut(items, item, `${path}/${index}`));
    return cut.some((item, index) => item !== kept[index]) ? cut : kept;
  }

  #cutObject(limits: Limits, members: Members, path: string): Members {
    const { properties, additionalProperties: others = true, maxProperties = Infinity } = formFor(limits, members);
    if (properties === undefined && others === true) return members;
    const names = Object.keys(members);
    const isTooLarge = names.length > maxProperties;
    if (isTooLarge) this.#refuse("maxProperties", path, maxProperties);
    let isSame = !isTooLarge;
    const kept: [string, unknown][] = [];
    for (const name of isTooLarge ? names.slice(0, maxProperties) : names) {
      const member = properties !== undefined && Object.hasOwn(properties, name) ? properties[name] : others;
      if (member === false && (this.#unknownLeft -= 1) < 0) {
        isSame = false;
        continue;
      }
      const value = members[name];
      const cut = typeof member === "object" && isSized(value) ? this.cut(member, value, `${path}/${escapePointer(name)}`) : value;
      if (cut !== value) isSame = false;
      kept.push([name, cut]);
    }
    // Not by assignment, which would set the prototype for a member of the name `__proto__`.
    return isSame ? members : Object.fromEntries(kept);
  }
}

const isSized = (value: unknown): boolean => typeof value === "string" || typeof value === "object";

/** Whether a text has more code points than that. A code point has one or two units. */
function isLonger(text: string, maxLength: number): boolean {
  if (text.length > 2 * maxLength) return true;
  let length = 0;
  for (let at = 0; at < text.length; length += 1) at += (text.codePointAt(at) as number) > 0xffff ? 2 : 1;
  return length > maxLength;
}
