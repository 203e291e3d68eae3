/** A schema of the OpenAPI document as a list of fields, in which the fields of nested objects unfold. */
import { escapeHtml } from "./markdown.ts";
import type { MarkdownIt } from "./markdown-it-types.ts";
import type { Schema } from "./openapi-types.ts";

type Schemas = Readonly<Record<string, Schema>>;
/** `within`: the names of the schemas around this one, so that a schema that contains itself ends. `isReply`: the fields are those of a response. */
export type Place = { md: MarkdownIt; schemas: Schemas; within: readonly string[]; isReply: boolean };

// More values would hide the fields below them.
const MAX_OPEN_VALUES = 10;
// A longer pattern explains less than the description of its field.
const MAX_PATTERN = 100;

const code = (text: string): string => `<code>${escapeHtml(text)}</code>`;
const isNull = ({ type }: Schema): boolean => type === "null";

/** The name of a shared schema, such as `Message`. */
export const schemaName = ({ $ref }: Schema): string | undefined => $ref?.slice("#/components/schemas/".length);

/** The schema itself in place of a reference, and in place of a choice between one schema and null. */
function resolve(schema: Schema, schemas: Schemas): Schema {
  const name = schemaName(schema);
  if (name !== undefined) return schemas[name] ?? {};
  const choices = schema.anyOf ?? schema.oneOf ?? [];
  const [only, ...others] = choices.filter((choice) => !isNull(choice));
  if (only === undefined || others.length > 0) return schema;
  const { anyOf: _, oneOf: __, ...rest } = schema;
  const { type = "object", ...whole } = resolve(only, schemas);
  return { ...whole, ...rest, type: choices.some(isNull) ? [type, "null"].flat() : type };
}

/** `string or null`, `array of Message`, `map of string`. */
function typeText(schema: Schema, schemas: Schemas): string {
  const name = schemaName(schema);
  if (name !== undefined) return name;
  const { type, items, additionalProperties, anyOf, oneOf, format } = resolve(schema, schemas);
  const choices = anyOf ?? oneOf;
  if (choices !== undefined) return choices.map((choice) => typeText(choice, schemas)).join(" or ");
  const textOf = (each: string): string => {
    if (each === "array" && items !== undefined) return `array of ${typeText(items, schemas)}`;
    if (each === "object" && typeof additionalProperties === "object") return `map of ${typeText(additionalProperties, schemas)}`;
    return each === "string" && format !== undefined ? `${each} (${format})` : each;
  };
  return [type ?? "any"].flat().map(textOf).join(" or ");
}

const number = (value: number): string => value.toLocaleString("en-US");

function rangeText(least: number | undefined, most: number | undefined, unit: string): string[] {
  if (least === undefined && most === undefined) return [];
  if (most === undefined) return [`at least ${number(least ?? 0)}${unit}`];
  if (least === undefined) return [`up to ${number(most)}${unit}`];
  return [least === most ? `exactly ${number(most)}${unit}` : `${number(least)} to ${number(most)}${unit}`];
}

/** The limits of a value, as HTML. */
function limits(schema: Schema, schemas: Schemas): string[] {
  const each = resolve(schema, schemas);
  return [
    ...(each.const === undefined ? [] : [`always ${code(JSON.stringify(each.const))}`]),
    ...rangeText(each.minLength, each.maxLength, " characters"),
    ...rangeText(each.minimum, each.maximum, ""),
    ...rangeText(each.minItems, each.maxItems, " items"),
    ...rangeText(undefined, each.maxProperties, " entries"),
    ...(each.uniqueItems === true ? ["no item twice"] : []),
    ...(each.pattern === undefined || each.pattern.length > MAX_PATTERN ? [] : [`matches ${code(each.pattern)}`]),
    ...(each.items === undefined ? [] : limits(each.items, schemas).map((limit) => `each ${limit}`)),
  ];
}

/** The values that are permitted, if they are a list. */
function values(schema: Schema, schemas: Schemas): string {
  const { enum: own, items } = resolve(schema, schemas);
  const permitted = own ?? (items === undefined ? undefined : resolve(items, schemas).enum);
  if (permitted === undefined) return "";
  const list = permitted.map((value) => code(String(value))).join(" ");
  return permitted.length <= MAX_OPEN_VALUES
    ? `<p>One of ${list}</p>`
    : `<details><summary>One of ${permitted.length} values</summary><p>${list}</p></details>`;
}

/** The fields of an object, or of the objects in a list, a map or a choice. */
export function fields(schema: Schema, place: Place): string {
  const { schemas, within } = place;
  const name = schemaName(schema);
  if (name !== undefined && within.includes(name)) return "";
  const inside = { ...place, within: name === undefined ? within : [...within, name] };
  const { properties, required = [], items, additionalProperties, anyOf, oneOf } = resolve(schema, schemas);
  if (properties !== undefined) {
    const list = Object.entries(properties).map(([key, field]) => fieldItem(key, field, required.includes(key), inside));
    return list.length === 0 ? "" : `<dl class="fields">${list.join("")}</dl>`;
  }
  const choices = anyOf ?? oneOf ?? [];
  if (choices.length > 0) return choices.map((choice) => folded(choice, inside)).join("");
  const member = items ?? (typeof additionalProperties === "object" ? additionalProperties : undefined);
  return member === undefined ? "" : fields(member, inside);
}

/** One row of a list of fields. `origin` is the part of the request that has the field, where it is not the body. */
export function fieldItem(key: string, field: Schema, isRequired: boolean, place: Place, origin: readonly string[] = []): string {
  const { md, schemas, isReply } = place;
  const { description = "" } = resolve(field, schemas);
  const presence = isReply ? (isRequired ? [] : ["may be absent"]) : isRequired ? ["<strong>required</strong>"] : [];
  const facts = [...origin, escapeHtml(typeText(field, schemas)), ...presence, ...limits(field, schemas)].join(" · ");
  return `<dt>${code(key)} <span>${facts}</span></dt>
<dd>${md.render(description)}${values(field, schemas)}${folded(field, place, code(key))}</dd>`;
}

/** The fields of a nested object, which the reader unfolds. `owner`: the field with the object, or its type. */
export function folded(schema: Schema, place: Place, owner = escapeHtml(typeText(schema, place.schemas))): string {
  const inner = fields(schema, place);
  return inner === "" ? "" : `<details><summary>Fields of ${owner}</summary>${inner}</details>`;
}
