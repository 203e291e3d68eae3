/** Converts the schemas of the OpenAPI document to Python types: a class for each object. */

export type Schema = {
  $ref?: string;
  type?: string | readonly string[];
  format?: string;
  enum?: readonly (string | null)[];
  /** A list of values, or null; or the forms of an event or a content. */
  anyOf?: readonly Schema[];
  /** The forms of a content in a request. */
  oneOf?: readonly Schema[];
  const?: string | number | boolean;
  "x-extensible-enum"?: readonly string[];
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: readonly string[];
  additionalProperties?: boolean | Schema;
};

const SCALARS: Readonly<Record<string, string>> = { string: "str", integer: "int", number: "float", boolean: "bool" };
const KEYWORDS = new Set(["from", "import", "class", "def", "in", "is", "not", "pass", "global", "lambda", "with", "as", "for"]);
// A field with such a name is read as a key.
const MEMBERS_OF_DICT = new Set(["clear", "copy", "fromkeys", "get", "items", "keys", "pop", "popitem", "setdefault", "update", "values"]);

const pascal = (name: string): string => name.replaceAll(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase());
const literal = (values: readonly unknown[]): string =>
  `Literal[${values.map((value) => (typeof value === "boolean" ? (value ? "True" : "False") : JSON.stringify(value))).join(", ")}]`;

/** The Python type of a schema. `name` is the name of the class of an object that has none in the document. */
export function typeOf(schema: Schema, name: string): string {
  const forms = schema.anyOf ?? schema.oneOf;
  if (forms !== undefined) return unionOf(forms, name);
  const given = typeof schema.type === "string" ? [schema.type] : (schema.type ?? []);
  const isNullable = given.includes("null") || schema.enum?.includes(null) === true;
  const type = plainType(
    schema,
    given.find((each) => each !== "null"),
    name,
  );
  return isNullable && type !== "Json" ? `${type} | None` : type;
}

// Their `type` is any text. With them, a comparison of `type` would leave two forms.
const CATCH_ALLS: ReadonlySet<string> = new Set(["OtherEvent", "OtherContent"]);

const unionOf = (forms: readonly Schema[], name: string): string =>
  forms
    .map((form) => (form.type === "null" ? "None" : typeOf(form, name)))
    .filter((type) => !CATCH_ALLS.has(type))
    .join(" | ");

function plainType(schema: Schema, type: string | undefined, name: string): string {
  if (schema.$ref !== undefined) return schema.$ref.split("/").at(-1) ?? "Json";
  if (schema.const !== undefined) return literal([schema.const]);
  if (schema.enum !== undefined) return literal(schema.enum.filter((value) => value !== null));
  // The service may return further values in later versions.
  if (schema["x-extensible-enum"] !== undefined) return `${literal(schema["x-extensible-enum"])} | str`;
  if (type === "array") return `list[${typeOf(schema.items ?? {}, `${name}Item`)}]`;
  if (type !== "object") return SCALARS[type ?? ""] ?? "Json";
  if (schema.properties !== undefined) return name;
  const { additionalProperties: values } = schema;
  return `dict[str, ${typeof values === "object" ? typeOf(values, `${name}Value`) : "Json"}]`;
}

/** `TypedDict`: the keyword arguments of a call. `Record`: an object that the service returns, whose fields are attributes. */
export type Base = "TypedDict" | "Record";

/** The class of an object, after those of the objects inside it. */
export function classOf(base: Base, name: string, { properties = {}, required = [] }: Schema): string[] {
  const inner = Object.entries(properties).flatMap(([key, schema]) => innerTypes(base, `${name}${pascal(key)}`, schema));
  const rows = Object.entries(properties).map(([key, schema]) => {
    const text = typeOf(schema, `${name}${pascal(key)}`);
    // The service returns times as texts. A client sends them as either.
    const type = base === "TypedDict" && schema.format === "date-time" ? `datetime | ${text}` : text;
    return [key, required.includes(key) || base === "Record" ? type : `NotRequired[${type}]`] as const;
  });
  // A keyword cannot be the name of a field, but it can be a key.
  if (base === "TypedDict" && rows.some(([key]) => KEYWORDS.has(key))) {
    const items = rows.map(([key, type]) => `${JSON.stringify(key)}: ${JSON.stringify(type)}`);
    return [...inner, `${name} = TypedDict(${JSON.stringify(name)}, {${items.join(", ")}})`];
  }
  const attributes = base === "TypedDict" ? rows : rows.filter(([key]) => !KEYWORDS.has(key) && !MEMBERS_OF_DICT.has(key));
  const fields = attributes.length === 0 ? ["    pass"] : attributes.map(([key, type]) => `    ${key}: ${type}`);
  return [...inner, `class ${name}(${base}):\n${fields.join("\n")}`];
}

function innerTypes(base: Base, name: string, schema: Schema): string[] {
  if (schema.$ref !== undefined) return [];
  if (schema.properties !== undefined) return classOf(base, name, schema);
  if (schema.items !== undefined) return innerTypes(base, `${name}Item`, schema.items);
  return typeof schema.additionalProperties === "object" ? innerTypes(base, `${name}Value`, schema.additionalProperties) : [];
}

/** `inputs`: the names of the schemas that clients send. The others are those of responses. */
export function typesText(
  title: string,
  schemas: Readonly<Record<string, Schema>>,
  inputs: ReadonlySet<string>,
  others: readonly string[],
): string {
  const named = Object.entries(schemas).flatMap(([name, schema]) => {
    const base = inputs.has(name) ? "TypedDict" : "Record";
    if (schema.properties !== undefined) return CATCH_ALLS.has(name) ? [] : classOf(base, name, schema);
    return [...innerTypes(base, name, schema), `${name}: TypeAlias = ${JSON.stringify(typeOf(schema, name))}`];
  });
  const head = `"""${title}"""\n\nfrom __future__ import annotations\n\nfrom datetime import datetime\nfrom typing import Literal, NotRequired, TypeAlias, TypedDict\n\nfrom ._records import Record\n\n# Many records have a field named object, which would hide the type.\nJson: TypeAlias = object`;
  return `${[head, ...named, ...others].join("\n\n\n")}\n`;
}
