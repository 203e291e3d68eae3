/** Schemas: one definition for types, validation and documentation. */
import Type, { type Static, type TSchema } from "typebox";

/** A readable replacement for "must match pattern …" in faults. The OpenAPI document omits it. */
export const HINT = "x-hint";

/** The current values of a set that may grow. */
export const KNOWN_VALUES = "x-extensible-enum";

/** An optional field of a request: absent and null mean the same. */
export const optional = <S extends TSchema>(schema: S) => Type.Optional(nullable(schema));

/** A value or null, as a list of types and not as a union: then a fault names the field and not the branches of the union. */
export function nullable<S extends TSchema>(schema: S) {
  const { type, enum: values } = schema as { type?: string; enum?: unknown[] };
  const widened = {
    ...schema,
    ...(type === undefined ? {} : { type: [type, "null"] }),
    ...(values === undefined ? {} : { enum: [...values, null] }),
  };
  return Type.Unsafe<Static<S> | null>(widened);
}

/** An object whose members all have one schema. TypeBox's own record uses a pattern that a name with a line break does not match. */
export const recordOf = <S extends TSchema>(value: S, options: object = {}) =>
  Type.Unsafe<Record<string, Static<S>>>({ type: "object", additionalProperties: value, ...options });

/** A closed set of values in requests. */
export const oneOf = <const V extends readonly string[]>(values: V, options: object = {}) =>
  Type.Unsafe<V[number]>({ type: "string", enum: [...values], ...options });

/** An open set of values in responses: the current values are listed, and later versions may add values. Programs find the list in
 *  `x-extensible-enum`, a common extension, from which the types of our SDK are generated. */
export const openEnum = <const V extends readonly string[]>(values: V, description = "") =>
  Type.Unsafe<V[number]>({
    type: "string",
    description: `${description === "" ? "" : `${description} `}One of ${values.join(", ")}; may grow.`,
    [KNOWN_VALUES]: [...values],
    examples: [values[0]],
  });

/** A time in a query. */
export const timeParameter = (description: string) =>
  optional(Type.String({ format: "date-time", [HINT]: "must be an RFC 3339 time such as 2030-01-31T09:00:00Z", description }));

export const timestamp = (description: string) => Type.String({ format: "date-time", description });

export type { Static, TSchema };
export { Type };
