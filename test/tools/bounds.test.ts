/** Every part of a request has a bound in its schema, so that validation does a bounded amount of work. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { allRoutes } from "../../src/routes.ts";

type Schema = {
  type?: string | string[];
  maxLength?: number;
  maxItems?: number;
  maxProperties?: number;
  enum?: unknown[];
  const?: unknown;
  format?: string;
  pattern?: string;
  items?: Schema;
  properties?: Record<string, Schema>;
  additionalProperties?: boolean | Schema;
};

/** A pattern over the whole text without an unlimited repetition matches no long text, and looks at each character once. */
const isBoundedPattern = (pattern: string): boolean =>
  /^\^.*\$$/s.test(pattern) && !/(?<!\\)[*+]|\{\d+,\}/.test(pattern.replaceAll("(?=.*", "").replaceAll(/\[[^\]]*\]/g, "[]"));

const isBoundedText = ({ maxLength, enum: values, const: value, format, pattern }: Schema): boolean =>
  maxLength !== undefined ||
  values !== undefined ||
  value !== undefined ||
  format === "date-time" ||
  (pattern !== undefined && isBoundedPattern(pattern));

/** The parts of a schema without a bound. */
function unbounded(schema: Schema, path: string): string[] {
  const types = [schema.type ?? []].flat();
  const others = schema.additionalProperties ?? true;
  const found: string[] = [];
  if (types.includes("string") && !isBoundedText(schema)) found.push(`${path}: add maxLength`);
  if (types.includes("array")) {
    if (schema.maxItems === undefined) found.push(`${path}: add maxItems`);
    found.push(...unbounded(schema.items ?? {}, `${path}/0`));
  }
  if (types.includes("object")) {
    if (others !== false && schema.maxProperties === undefined) found.push(`${path}: add maxProperties or additionalProperties: false`);
    if (typeof others === "object") found.push(...unbounded(others, `${path}/*`));
    for (const [name, member] of Object.entries(schema.properties ?? {})) found.push(...unbounded(member, `${path}/${name}`));
  }
  if (types.length === 0) found.push(`${path}: add a type`);
  return found;
}

const ROUTES = allRoutes({} as never);

test("every string, array and object of a request body or query is bounded", () => {
  const found = ROUTES.flatMap(({ method, path, body, documentedBody, query }) =>
    [documentedBody ?? body, query].flatMap((schema) => (schema === undefined ? [] : unbounded(schema as Schema, `${method} ${path} `))),
  );
  assert.deepEqual(found, []);
});

test("the check finds what is not bounded", () => {
  assert.deepEqual(
    unbounded(
      {
        type: "object",
        properties: { text: { type: ["string", "null"] }, list: { type: "array", items: {} }, form: { type: "string", pattern: "^a+$" } },
        additionalProperties: { type: "string", pattern: "^[a+]{1,3}$" },
      },
      "",
    ),
    [
      ": add maxProperties or additionalProperties: false",
      "/text: add maxLength",
      "/list: add maxItems",
      "/list/0: add a type",
      "/form: add maxLength",
    ],
  );
});
