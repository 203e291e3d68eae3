/** The texts and examples of the OpenAPI document: every operation is described, and every example fits its schema. */
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { Ajv2020 } from "ajv/dist/2020.js";
import { isDateTime } from "../../src/lib/time.ts";
import { decodeId } from "../../src/model/id.ts";
import { uuidTimeMs } from "../../src/lib/uuid.ts";

type Reference = { $ref: string };
type Example = { value: unknown };
type Media = { schema: object; example?: unknown; examples?: Record<string, Example | Reference> };
type Response = { content?: Record<string, Media> };
type Operation = {
  summary: string;
  description: string;
  tags: string[];
  parameters: { name: string; description?: string }[];
  requestBody?: { content: Record<string, Media> };
  responses: Record<string, Response | Reference>;
};
type Schema = { description?: string; const?: unknown; properties?: Record<string, Schema>; items?: Schema; $ref?: string };
type Document = {
  tags: { name: string; description: string }[];
  "x-tagGroups": { name: string; tags: string[] }[];
  paths: Record<string, Record<string, Operation>>;
  webhooks: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema>; [kind: string]: Record<string, unknown> };
};

const DOCS = join(import.meta.dirname, "..", "..", "docs");
const document = JSON.parse(readFileSync(join(DOCS, "openapi.json"), "utf8")) as Document;
const ajv = new Ajv2020({ strict: false, allErrors: true, formats: { binary: true } });
ajv.addFormat("date-time", isDateTime);
ajv.addSchema(document, "openapi.json");

/** Every operation, with its name and its place in the document. */
const OPERATIONS = (["paths", "webhooks"] as const).flatMap((part) =>
  Object.entries(document[part]).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ name: `${method} ${path}`, place: [part, path, method], operation })),
  ),
);

const placeOf = ({ $ref }: Reference): string[] => $ref.split("/").slice(1);
const resolved = <T extends object>(member: T | Reference): T => {
  if (!("$ref" in member)) return member;
  const [, kind = "", name = ""] = placeOf(member);
  return document.components[kind]?.[name] as T;
};

/** Validates a value with the schema of the media type at a place of the document. */
function assertFits(place: readonly string[], value: unknown): void {
  const pointer = [...place, "schema"].map((name) => encodeURIComponent(name.replaceAll("~", "~0").replaceAll("/", "~1"))).join("/");
  const validate = ajv.compile({ $ref: `openapi.json#/${pointer}` });
  assert.ok(validate(value), `${pointer}: ${JSON.stringify(validate.errors)}\n${JSON.stringify(value)}`);
}

const examplesOf = ({ example, examples }: Media): unknown[] =>
  example === undefined ? Object.values(examples ?? {}).map((each) => resolved<Example>(each).value) : [example];

test("every request and every response has an example that fits its schema", () => {
  for (const { name, place, operation } of OPERATIONS) {
    for (const [type, media] of Object.entries(operation.requestBody?.content ?? {})) {
      // The bytes of a file.
      if (type === "application/octet-stream") continue;
      assert.ok(media.example !== undefined, `${name}: an example of the request`);
      assertFits([...place, "requestBody", "content", type], media.example);
    }
    for (const [status, response] of Object.entries(operation.responses)) {
      const at = "$ref" in response ? placeOf(response) : [...place, "responses", status];
      for (const [type, media] of Object.entries(resolved<Response>(response).content ?? {})) {
        const values = examplesOf(media);
        assert.ok(values.length > 0, `${name}: an example of ${status}`);
        for (const value of values) assertFits([...at, "content", type], value);
      }
    }
  }
});

test("an example has no member that its schema does not declare", () => {
  // The schemas of responses permit further members, so that later versions can add some.
  const undeclared = (schema: Schema, value: unknown, path: string): string[] => {
    const own = schema.$ref === undefined ? schema : (document.components.schemas[schema.$ref.split("/").at(-1) ?? ""] ?? {});
    if (Array.isArray(value)) return value.flatMap((item, index) => undeclared(own.items ?? {}, item, `${path}/${index}`));
    const { properties } = own;
    if (typeof value !== "object" || value === null || properties === undefined) return [];
    return Object.entries(value).flatMap(([name, member]) =>
      properties[name] === undefined ? [`${path}/${name}`] : undeclared(properties[name], member, `${path}/${name}`),
    );
  };
  const found = OPERATIONS.flatMap(({ name, operation }) =>
    [operation.requestBody ?? {}, ...Object.values(operation.responses).map((each) => resolved<Response>(each))]
      .flatMap(({ content = {} }) => Object.values(content))
      .flatMap((media) => examplesOf(media).flatMap((value) => undeclared(media.schema, value, name))),
  );
  assert.deepEqual(found, []);
});

test("the ids of examples contain the times of their records", () => {
  let checked = 0;
  const visit = (value: unknown): void => {
    if (typeof value !== "object" || value === null) return;
    const { id, created_at: createdAt } = value as { id?: unknown; created_at?: unknown };
    const [prefix = ""] = String(id).split("_");
    if (typeof id === "string" && typeof createdAt === "string") {
      const decoded = decodeId(prefix as "msg", id);
      assert.ok(decoded !== undefined, id);
      assert.equal(new Date(uuidTimeMs(decoded)).toISOString(), createdAt, id);
      checked += 1;
    }
    for (const member of Object.values(value)) visit(member);
  };
  visit([document.paths, document.webhooks]);
  assert.ok(checked > 50);
});

test("every operation, parameter, schema and field is described", () => {
  for (const { name, operation } of OPERATIONS) {
    assert.match(operation.summary, /^[A-Z][\w ]+$/, name);
    assert.match(operation.description, /\]\(\/docs\/[\w-]+/, `${name} links to its page`);
    for (const { name: parameter, description } of operation.parameters) assert.ok(description, `${name} ${parameter}`);
  }
  const undescribed = (schema: Schema, path: string): string[] => [
    ...Object.entries(schema.properties ?? {}).flatMap(([name, field]) => [
      ...(field.description === undefined && field.$ref === undefined && field.const === undefined ? [`${path}.${name}`] : []),
      ...undescribed(field, `${path}.${name}`),
    ]),
    ...(schema.items === undefined ? [] : undescribed(schema.items, `${path}[]`)),
  ];
  const schemas = Object.entries(document.components.schemas);
  assert.deepEqual(
    schemas.flatMap(([name, schema]) => [...(schema.description === undefined ? [name] : []), ...undescribed(schema, name)]),
    [],
  );
});

test("links of the document lead to pages and headings that exist", () => {
  const links = [...JSON.stringify(document).matchAll(/\]\(\/docs\/([\w-]+)(?:#([\w-]+))?\)/g)];
  assert.ok(links.length > 50);
  for (const [link, page = "", anchor] of links) {
    const path = join(DOCS, `${page}.md`);
    assert.ok(existsSync(path), link);
    const headings = Array.from(readFileSync(path, "utf8").matchAll(/^#+ (.*)$/gm), ([, heading = ""]) => slug(heading));
    assert.ok(anchor === undefined || headings.includes(anchor), link);
  }
});

/** The anchor of a heading, as the pages of the documentation have it. */
const slug = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\w\s-]/g, "")
    .trim()
    .replaceAll(/\s+/g, "-");

test("every tag is described and in one group, in the order of the reference", () => {
  const names = document.tags.map(({ name }) => name);
  assert.deepEqual(
    document["x-tagGroups"].flatMap(({ tags }) => tags),
    names,
  );
  const used = OPERATIONS.flatMap(({ operation }) => operation.tags);
  assert.deepEqual([...new Set(used)].toSorted(), names.toSorted());
});
