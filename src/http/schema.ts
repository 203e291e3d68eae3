/** Schemas: one definition for types, validation and documentation. */
import { explainTime } from "../lib/time.ts";

declare const STATIC: unique symbol;
const OPTIONAL = Symbol("optional");

/** A JSON Schema, with the type of the values that it describes. */
export type Schema<T = unknown> = Readonly<Record<string, unknown>> & { readonly [STATIC]: T };
type Optional<S> = S & { readonly [OPTIONAL]: true };

/** The type of the values that a schema describes. */
export type Static<S extends Schema> = S[typeof STATIC];

type Properties = Readonly<Record<string, Schema>>;
type OptionalName<P> = { [K in keyof P]: P[K] extends Optional<unknown> ? K : never }[keyof P];
type Flat<T> = { [K in keyof T]: T[K] };
type ObjectOf<P extends Properties> = Flat<
  { [K in Exclude<keyof P, OptionalName<P>>]: Static<P[K]> } & { [K in OptionalName<P>]?: Static<P[K]> }
>;

const schemaOf = <T>(fields: object): Schema<T> => fields as Schema<T>;

/** The constructors of schemas. Libraries for this load hundreds of modules, which took half of the time in which a command starts. */
export const Type = {
  String: (options: object = {}) => schemaOf<string>({ type: "string", ...options }),
  Integer: (options: object = {}) => schemaOf<number>({ type: "integer", ...options }),
  Number: (options: object = {}) => schemaOf<number>({ type: "number", ...options }),
  Boolean: (options: object = {}) => schemaOf<boolean>({ type: "boolean", ...options }),
  Null: () => schemaOf<null>({ type: "null" }),
  Literal: <const V extends string | boolean>(value: V) => schemaOf<V>({ type: typeof value, const: value }),
  Array: <S extends Schema>(items: S, options: object = {}) => schemaOf<Static<S>[]>({ type: "array", items, ...options }),
  Object<P extends Properties>(properties: P, options: object = {}) {
    const required = Object.keys(properties).filter((name) => !(OPTIONAL in (properties[name] as Schema)));
    const fields = { type: "object", ...(required.length === 0 ? {} : { required }), properties, ...options };
    return fields as unknown as Schema<ObjectOf<P>> & { readonly properties: P };
  },
  /** An object whose members all have one schema. */
  Record: <S extends Schema>(value: S, options: object = {}) =>
    schemaOf<Record<string, Static<S>>>({ type: "object", additionalProperties: value, ...options }),
  /** A member of an object that may be absent. */
  Optional: <S extends Schema>(schema: S) => ({ ...schema, [OPTIONAL]: true }) as Optional<S>,
  /** A schema whose type is known better than it can be derived. */
  Unsafe: <T>(fields: object) => schemaOf<T>(fields),
};

/** A readable replacement for "must match pattern …" in faults. The OpenAPI document omits it. */
export const HINT = "x-hint";

/** The text, or a function that derives it from the value. The function of a set of values returns the one that was meant, or an empty text. */
export type Hint = string | ((value: string) => string);

/** The current values of a set that may grow. */
export const KNOWN_VALUES = "x-extensible-enum";

/** An optional field of a request: absent and null mean the same. */
export const optional = <S extends Schema>(schema: S) => Type.Optional(nullable(schema));

/** A value or null, as a list of types and not as a union: then a fault names the field and not the branches of the union. */
export function nullable<S extends Schema>(schema: S) {
  const { type, enum: values } = schema as { type?: string; enum?: unknown[] };
  const widened = {
    ...schema,
    ...(type === undefined ? {} : { type: [type, "null"] }),
    ...(values === undefined ? {} : { enum: [...values, null] }),
  };
  return Type.Unsafe<Static<S> | null>(widened);
}

/** A closed set of values in requests. */
export const oneOf = <const V extends readonly string[]>(values: V, options: object = {}) =>
  Type.Unsafe<V[number]>({ type: "string", enum: [...values], ...options });

/** An open set of values in responses: the current values are listed, and later versions may add values. Programs find the list in
 *  `x-extensible-enum`, a common extension, from which the types of our SDK are generated. */
export const openEnum = <const V extends readonly string[]>(values: V, description = "") =>
  Type.Unsafe<V[number]>({
    type: "string",
    description: `${description === "" ? "" : `${description} `}One of ${values.map((value) => `\`${value}\``).join(", ")}; new values may be added.`,
    [KNOWN_VALUES]: [...values],
    examples: [values[0]],
  });

export const environmentField = openEnum(["test", "live"], "The environment of the record.");

/** A time in a request. */
export const timeField = (description: string) => Type.String({ format: "date-time", [HINT]: explainTime, description });

/** A time in a query. */
export const timeParameter = (description: string) => optional(timeField(description));

export const createdByField = nullable(
  Type.String({
    examples: ["key_01k9zs3v8mf4tb2xg1qj6n0d5c"],
    description:
      "The actor that created the record: the id of an API key, `cli:` with a system user, `carrier:` with a link, or `system`. Null for records of version 0.1.",
  }),
);

export const timestamp = (description: string) => Type.String({ format: "date-time", description });
