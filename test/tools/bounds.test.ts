/** Every part of a request has a bound in its schema, so that validation does a bounded amount of work. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { findSuperLinear } from "../../scripts/lint-rules.ts";
import { settingsSchema, CREATED_PROVIDERS } from "../../src/links/link-definition.ts";
import { LINK_KINDS } from "../../src/links/link-settings.ts";
import { RouteTable, SenderTable } from "../../src/links/plan.ts";
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
  propertyNames?: Schema;
  items?: Schema;
  properties?: Record<string, Schema>;
  additionalProperties?: boolean | Schema;
  oneOf?: Schema[];
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
  if (schema.oneOf !== undefined) return schema.oneOf.flatMap((form) => unbounded(form, path));
  if (types.includes("string") && !isBoundedText(schema)) found.push(`${path}: add maxLength`);
  for (const pattern of [schema.pattern, schema.propertyNames?.pattern])
    if (pattern !== undefined && findSuperLinear(pattern, "u") !== undefined)
      found.push(`${path}: its pattern takes more than linear time`);
  if (types.includes("array")) {
    if (schema.maxItems === undefined) found.push(`${path}: add maxItems`);
    found.push(...unbounded(schema.items ?? {}, `${path}/0`));
  }
  if (types.includes("object")) {
    if (others !== false && schema.maxProperties === undefined) found.push(`${path}: add maxProperties or additionalProperties: false`);
    if (others === true && !CHECKED_BY_KIND.has(path)) found.push(`${path}: add a schema of its members`);
    if (typeof others === "object") found.push(...unbounded(others, `${path}/*`));
    for (const [name, member] of Object.entries(schema.properties ?? {})) found.push(...unbounded(member, `${path}/${name}`));
  }
  if (types.length === 0) found.push(`${path}: add a type`);
  return found;
}

const ROUTES = allRoutes({} as never);

/** Objects whose members depend on something else. */
const CHECKED_BY_KIND: ReadonlySet<string> = new Set([
  // On the provider of the link: the test of stored settings checks them.
  "POST /v1/links /settings",
  "PATCH /v1/links/{id} /settings",
  "POST /v1/messages /carrier_options",
  "POST /v1/messages/validate /carrier_options",
  "POST /v1/batches /defaults/carrier_options",
  "POST /v1/batches /items/0/carrier_options",
  // `test` stores the options of any carrier. The size of the request is their bound.
  "simulator carrier_options ",
  // On the definition of a carrier, which only the operator writes.
  "http /request/body",
  "http /request/auth",
  "http /callbacks/verification",
]);

test("every string, array and object of a request body or query is bounded", () => {
  const found = ROUTES.flatMap(({ method, path, body, documentedBody, query }) =>
    [documentedBody ?? body, query].flatMap((schema) => (schema === undefined ? [] : unbounded(schema as Schema, `${method} ${path} `))),
  );
  assert.deepEqual(found, []);
});

test("every string, array and object of a stored setting is bounded", () => {
  const schemas: [name: string, schema: unknown][] = [
    ...CREATED_PROVIDERS.map((provider) => [`created ${provider} `, settingsSchema(provider)] as [string, unknown]),
    ...Object.entries(LINK_KINDS).flatMap(([provider, { schema, carrierOptions }]): [string, unknown][] => [
      [`${provider} `, schema],
      [`${provider} carrier_options `, carrierOptions?.schema ?? { type: "object", additionalProperties: false }],
    ]),
    ["sender ", SenderTable],
    ["route ", RouteTable],
  ];
  assert.deepEqual(
    schemas.flatMap(([name, schema]) => unbounded(schema as Schema, name)),
    [],
  );
});

test("the check finds what is not bounded", () => {
  assert.deepEqual(
    unbounded(
      {
        type: "object",
        properties: {
          text: { type: ["string", "null"] },
          list: { type: "array", items: {} },
          form: { type: "string", pattern: "^a+$" },
          slow: { type: "string", pattern: "a+b$", maxLength: 9 },
        },
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
      "/slow: its pattern takes more than linear time",
    ],
  );
});

test("the linter finds a regular expression whose time is not linear", () => {
  assert.deepEqual(
    ["\\/+$", "^(a+)+$", "[?#].*$", "^\\/+", "^[a-z]{1,9}$"].map((source) => findSuperLinear(source, "") !== undefined),
    [true, true, true, false, false],
  );
});
