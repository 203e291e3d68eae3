/** Generates src/schema.ts (types) and src/operations.ts (methods and paths) from docs/openapi.json. Run it after a change of the
 *  document; a test fails when the files are out of date. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import openapiTS, { astToString, type OpenAPI3, type SchemaObject } from "openapi-typescript";
import ts from "typescript";

type Operation = {
  operationId: string;
  summary: string;
  parameters?: unknown;
  requestBody?: unknown;
  responses: Record<string, unknown>;
};
type Document = {
  paths: Record<string, Record<string, Operation>>;
  webhooks: object;
  components: { schemas: Record<string, SchemaObject>; [name: string]: unknown };
};

type EventForm = { properties: { data: { properties: Record<string, object> } } };

const SDK = join(import.meta.dirname, "..");
const DOCUMENT = join(SDK, "..", "docs", "openapi.json");
const BEGINNING = "made by scripts/generate.ts from docs/openapi.json. Do not edit.";

/** The type of an extensible enum: editors offer the known values, and every other string is accepted. */
function openUnion(schema: SchemaObject): ts.TypeNode | undefined {
  const known = (schema as Record<string, unknown>)["x-extensible-enum"] as readonly string[] | undefined;
  if (known === undefined) return undefined;
  const literal = (value: string): ts.TypeNode => ts.factory.createLiteralTypeNode(ts.factory.createStringLiteral(value));
  // A plain string would absorb the literals of the union.
  const others = ts.factory.createIntersectionTypeNode([
    ts.factory.createKeywordTypeNode(ts.SyntaxKind.StringKeyword),
    ts.factory.createTypeLiteralNode([]),
  ]);
  const isNullable = Array.isArray(schema.type) && (schema.type as string[]).includes("null");
  const none = isNullable ? [ts.factory.createLiteralTypeNode(ts.factory.createNull())] : [];
  return ts.factory.createUnionTypeNode([...known.map(literal), others, ...none]);
}

// In the place of a member that other events have, so that `event.data.message` is a name before `event.type` is compared.
const ABSENT = "x-absent";
// A time that the client sends. The service returns times as texts.
const SENT_TIME = "x-sent-time";

function typeNode(schema: SchemaObject): ts.TypeNode | undefined {
  if (ABSENT in schema) return ts.factory.createKeywordTypeNode(ts.SyntaxKind.UndefinedKeyword);
  return SENT_TIME in schema ? timeOrText(schema) : openUnion(schema);
}

function timeOrText({ type }: SchemaObject): ts.TypeNode {
  const forms = [ts.factory.createKeywordTypeNode(ts.SyntaxKind.StringKeyword), ts.factory.createTypeReferenceNode("Date")];
  const none = Array.isArray(type) ? [ts.factory.createLiteralTypeNode(ts.factory.createNull())] : [];
  return ts.factory.createUnionTypeNode([...forms, ...none]);
}

// Their `type` is any text. With them, a comparison of `type` would leave two forms.
const CATCH_ALLS: ReadonlySet<string> = new Set(["OtherEvent", "OtherContent"]);

type Union = { anyOf: { $ref?: string }[] };

const nameOf = ({ $ref = "" }: { $ref?: string }): string => $ref.split("/").at(-1) ?? "";

const known = (schema: SchemaObject): object => {
  const { anyOf: forms, ...rest } = schema as unknown as Union;
  return { ...rest, anyOf: forms.filter((form) => !CATCH_ALLS.has(nameOf(form))) };
};

/** The schemas with the events and contents that this version knows, which TypeScript tells apart by `type`. */
function knownForms(all: Record<string, SchemaObject>): Record<string, SchemaObject> {
  const schemas = Object.fromEntries(
    Object.entries(all)
      .filter(([name]) => !CATCH_ALLS.has(name))
      .map(([name, schema]) => [name, "anyOf" in schema ? known(schema) : schema]),
  ) as Record<string, SchemaObject>;
  const names = (schemas["Event"] as unknown as Union).anyOf.map(nameOf);
  const dataOf = (name: string) => (schemas[name] as unknown as EventForm).properties.data;
  const absent = Object.fromEntries(
    names.flatMap((name) => Object.keys(dataOf(name).properties).map((each) => [each, { [ABSENT]: true }])),
  );
  const widened = names.map((name) => {
    const form = schemas[name] as unknown as EventForm;
    const data = { ...dataOf(name), properties: { ...absent, ...dataOf(name).properties } };
    return [name, { ...form, properties: { ...form.properties, data } }];
  });
  return { ...schemas, ...Object.fromEntries(widened) } as Record<string, SchemaObject>;
}

type Schemas = Record<string, SchemaObject>;

/** The names of the schemas that requests refer to, also inside of others. */
function sentSchemas(paths: Document["paths"], schemas: Schemas): ReadonlySet<string> {
  const found = new Set<string>();
  const visit = (value: unknown): void => {
    const names = Array.from(JSON.stringify(value ?? null).matchAll(/"#\/components\/schemas\/(\w+)"/g), ([, name = ""]) => name);
    for (const name of names.filter((each) => !found.has(each))) {
      found.add(name);
      visit(schemas[name]);
    }
  };
  for (const { requestBody } of Object.values(paths).flatMap((methods) => Object.values(methods))) visit(requestBody);
  return found;
}

/** Marks the times in a schema, or in the parameters of an operation. */
const markTimes = <T>(value: T): T =>
  JSON.parse(
    JSON.stringify(value, (_, each: unknown) =>
      (each as SchemaObject | null)?.format === "date-time" ? { ...(each as SchemaObject), [SENT_TIME]: true } : each,
    ),
  ) as T;

/** Drops the examples of operations, but not fields with the name `example`, which are in the schemas. */
const withoutExamples = <T extends object>(operations: T): T =>
  JSON.parse(JSON.stringify(operations, (key, value: unknown) => (key === "example" ? undefined : value))) as T;

/** Drops the error responses, which have one schema for all operations, and the examples. Without them the types have a fifth of the size. */
function shortened({ paths, webhooks, components, ...rest }: Document): Document {
  const { responses: _responses, examples: _examples, schemas, ...kept } = components;
  const successful = (operation: Operation): Operation => ({
    ...operation,
    ...(operation.parameters === undefined ? {} : { parameters: markTimes(operation.parameters) }),
    responses: Object.fromEntries(Object.entries(operation.responses).filter(([status]) => status.startsWith("2"))),
  });
  const rows = Object.entries(paths).map(([path, methods]) => [
    path,
    Object.fromEntries(Object.entries(methods).map(([method, operation]) => [method, successful(operation)])),
  ]);
  const shown = withoutExamples(Object.fromEntries(rows) as Document["paths"]);
  const sent = sentSchemas(paths, schemas);
  const marked = Object.fromEntries(
    Object.entries(knownForms(schemas)).map(([name, schema]) => [name, sent.has(name) ? markTimes(schema) : schema]),
  );
  return { ...rest, paths: shown, webhooks: withoutExamples(webhooks), components: { ...kept, schemas: marked } };
}

async function schemaText(document: Document): Promise<string> {
  const nodes = await openapiTS(shortened(document) as unknown as OpenAPI3, {
    silent: true,
    transform: typeNode,
    rootTypes: true,
    rootTypesNoSchemaPrefix: true,
  });
  return `/** The types of the API, ${BEGINNING} */\n\n${astToString(nodes)}`;
}

function operationsText({ paths }: Document): string {
  const rows = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { operationId }]) => `  ${operationId}: ["${method.toUpperCase()}", "${path}"],`),
  );
  return `/** Every operation of the API by its name, ${BEGINNING} */\n\nexport const OPERATIONS = {\n${rows.join("\n")}\n} as const;\n`;
}

// These take a form, or no credential. credential.ts calls the token endpoint itself.
const OTHERS: ReadonlySet<string> = new Set(["/v1/oauth/token", "/.well-known/jwks.json"]);

/** Reads the document without the paths that have no method. */
export function readDocument(): Document {
  const { paths, ...rest } = JSON.parse(readFileSync(DOCUMENT, "utf8")) as Document;
  return { ...rest, paths: Object.fromEntries(Object.entries(paths).filter(([path]) => !OTHERS.has(path))) };
}

/** Returns the text of each generated file by its path. */
export async function generated(): Promise<ReadonlyMap<string, string>> {
  const document = readDocument();
  return new Map([
    [join(SDK, "src", "schema.ts"), await schemaText(document)],
    [join(SDK, "src", "operations.ts"), operationsText(document)],
  ]);
}

if (import.meta.main) for (const [path, text] of await generated()) writeFileSync(path, text);
