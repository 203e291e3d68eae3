/** Schemas: one definition types, validates and documents. */
import Type, { type Static, type TSchema } from "typebox";

/** Text for people in place of "must match pattern …". Shown in faults, left out of the OpenAPI document. */
export const HINT = "x-hint";

/** Today's values of a set that may grow. */
export const KNOWN_VALUES = "x-extensible-enum";

/** An optional field of a request: absent and null mean the same. */
export const optional = <S extends TSchema>(schema: S) => Type.Optional(nullable(schema));

/** Value or null, as a list of types rather than a union: a fault then speaks of the field, not of branches. */
export function nullable<S extends TSchema>(schema: S) {
  const { type, enum: values } = schema as { type?: string; enum?: unknown[] };
  const widened = {
    ...schema,
    ...(type === undefined ? {} : { type: [type, "null"] }),
    ...(values === undefined ? {} : { enum: [...values, null] }),
  };
  return Type.Unsafe<Static<S> | null>(widened);
}

/** An object whose members all fit one schema. (TypeBox's own record is a pattern that a line break escapes.) */
export const recordOf = <S extends TSchema>(value: S, options: object = {}) =>
  Type.Unsafe<Record<string, Static<S>>>({ type: "object", additionalProperties: value, ...options });

/** A closed set of words in requests. */
export const oneOf = <const V extends readonly string[]>(values: V, options: object = {}) =>
  Type.Unsafe<V[number]>({ type: "string", enum: [...values], ...options });

/** Words in responses: today's are listed, tomorrow may bring more, so the schema does not close the set. The list for programs
 *  (our SDK's types are made from it) goes by the name that others use for it, too. */
export const openEnum = <const V extends readonly string[]>(values: V, description = "") =>
  Type.Unsafe<V[number]>({
    type: "string",
    description: `${description === "" ? "" : `${description} `}One of ${values.join(", ")}; may grow.`,
    [KNOWN_VALUES]: [...values],
    examples: [values[0]],
  });

/** A moment in a query. */
export const timeParameter = (description: string) =>
  optional(Type.String({ format: "date-time", [HINT]: "must be an RFC 3339 time such as 2030-01-31T09:00:00Z", description }));

export const timestamp = (description: string) => Type.String({ format: "date-time", description });

export type { Static, TSchema };
export { Type };
