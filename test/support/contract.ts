/** Compares the requests and responses of tests with docs/openapi.json. A request that the service refuses is not checked, because tests
 *  send invalid requests on purpose. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import { isDateTime } from "../../src/lib/time.ts";

export const DOCUMENT = join(import.meta.dirname, "..", "..", "docs", "openapi.json");

export type SentRequest = { method: string; path: string; headers: Readonly<Record<string, string>>; body?: unknown };
export type Response = { status: number; headers: Headers; json: unknown; text: string };

type Header = { required?: boolean };
type Declared = { headers?: Record<string, { $ref: string }>; content?: Record<string, object> };
type Operation = {
  parameters?: { name: string; in: string }[];
  requestBody?: { content: Record<string, object> };
  security?: readonly object[];
  responses: Record<string, Declared | { $ref: string }>;
};
type Document = {
  security: readonly object[];
  paths: Record<string, Record<string, Operation>>;
  components: { headers: Record<string, Header>; responses: Record<string, Declared> };
};

const document = JSON.parse(readFileSync(DOCUMENT, "utf8")) as Document;
const paths = Object.entries(document.paths).map(([path, methods]) => ({
  // A path without parameters comes before a path whose parameters would match it.
  rank: path.split("{").length,
  path,
  matches: new RegExp(`^${path.replaceAll(".", "\\.").replaceAll(/\{\w+\}/g, "[^/]+")}$`),
  methods,
}));
paths.sort((one, other) => one.rank - other.rank);

// Every test process compiles the schemas that its exchanges use. Redocly checks the document itself, optimized code costs more than it saves
// in a few uses, and a schema that is not inlined is compiled once.
const ajv = new Ajv2020({ strict: false, meta: false, validateSchema: false, inlineRefs: false, code: { optimize: false } });
ajv.addFormat("date-time", isDateTime);
ajv.addSchema(document, "openapi.json");
const validators = new Map<string, ValidateFunction>();

/** The deviations of a value from the schema at this place in the document. */
function faultsIn(value: unknown, ...place: string[]): string[] {
  const pointer = place.map((name) => encodeURIComponent(name.replaceAll("~", "~0").replaceAll("/", "~1"))).join("/");
  const validate = validators.get(pointer) ?? ajv.compile({ $ref: `openapi.json#/${pointer}` });
  validators.set(pointer, validate);
  return validate(value) ? [] : [ajv.errorsText(validate.errors)];
}

/** Paths whose successful response reports the faults of single items of the request. */
const REPORTING_FAULTS = new Set(["/v1/batches", "/v1/messages/validate", "/v1/suppressions/import"]);

/** The deviations of a request and its response from the document. Pages, probes and the callbacks of carriers are not part of the API, and
 *  not in its document. */
export function violationsOf(request: SentRequest, response: Response): string[] {
  const method = request.method.toLowerCase();
  const { status } = response;
  const { pathname } = new URL(request.path, "http://service.test");
  const found = paths.find(({ matches, methods }) => matches.test(pathname) && methods[method] !== undefined);
  const operation = found?.methods[method];
  if (found === undefined || operation === undefined)
    return pathname.startsWith("/v1/") && status < 400 ? [`${request.method} ${pathname} is not declared`] : [];
  const place = ["paths", found.path, method];
  const faults = [...(status < 400 ? requestFaults(request, operation, place) : []), ...responseFaults(response, operation, place)];
  return faults.map((fault) => `${request.method} ${request.path} → ${status}: ${fault}`);
}

function requestFaults({ path, headers, body }: SentRequest, operation: Operation, place: string[]): string[] {
  const { pathname, searchParams } = new URL(path, "http://service.test");
  const { parameters = [], security = document.security, requestBody } = operation;
  const declared = new Set(parameters.flatMap((each) => (each.in === "query" ? [each.name] : [])));
  const isOpen = security.length === 0 || security.some((each) => Object.keys(each).length === 0);
  const isJson = (headers["content-type"] ?? "application/json").startsWith("application/json");
  const isChecked = isJson && requestBody?.content["application/json"] !== undefined && !REPORTING_FAULTS.has(pathname);
  const json: unknown = typeof body === "string" && isChecked ? JSON.parse(body) : body;
  return [
    ...(isOpen || headers["authorization"] !== undefined ? [] : ["the request has no credentials"]),
    ...[...searchParams.keys()].filter((name) => !declared.has(name)).map((name) => `the parameter ${name} is not declared`),
    ...(isChecked ? faultsIn(json ?? {}, ...place, "requestBody", "content", "application/json", "schema") : []),
  ];
}

function responseFaults({ status, headers, json }: Response, operation: Operation, place: string[]): string[] {
  const response = operation.responses[String(status)];
  if (response === undefined) return ["no such status is declared"];
  const shared = "$ref" in response ? response.$ref.split("/").slice(1) : undefined;
  const declared = "$ref" in response ? document.components.responses[shared?.at(-1) ?? ""] : response;
  const type = (headers.get("content-type") ?? "none").split(";")[0] ?? "";
  const missing = Object.keys(declared?.headers ?? {}).filter(
    (name) => document.components.headers[name]?.required === true && !headers.has(name),
  );
  const isDeclared = Object.hasOwn(declared?.content ?? {}, type) || Object.hasOwn(declared?.content ?? {}, "*/*");
  const isJson = /^application\/(problem\+)?json$/.test(type);
  return [
    ...(isDeclared ? [] : [`${type} is not declared`]),
    ...missing.map((name) => `without ${name}`),
    ...(isDeclared && isJson && !Object.hasOwn(declared?.content ?? {}, "*/*")
      ? faultsIn(json, ...(shared ?? [...place, "responses", String(status)]), "content", type, "schema")
      : []),
  ];
}

export function assertDeclared(request: SentRequest, response: Response): void {
  assert.deepEqual(violationsOf(request, response), [], response.text.slice(0, 500));
}
