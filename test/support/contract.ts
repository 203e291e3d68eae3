/** Finds the violations of the document in the traffic through the validating proxy. The proxy checks bodies, parameters and credentials;
 *  this file checks statuses, media types and required headers. A request that the service refuses is not checked, because tests send
 *  invalid requests on purpose. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import { isDateTime } from "../../src/http/validate.ts";
import { DOCUMENT } from "./redocly.ts";

export type Exchange = { method: string; path: string; status: number; headers: ReadonlyMap<string, string> };
export type Finding = {
  rule: string;
  level: "error" | "warning" | "note";
  text: string;
  about: { method: string; path: string; status: number; target: "request" | "response"; dataPath?: string };
};

type Header = { required?: boolean };
type Declared = { headers?: Record<string, { $ref: string }>; content?: Record<string, object> };
type Operation = { responses: Record<string, Declared | { $ref: string }> };
type Document = {
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

const isRefusal = (status: number): boolean => status >= 400;

/** Paths whose successful response reports the faults of single items of the request. */
const REPORTING_FAULTS = new Set(["/v1/batches", "/v1/messages/validate", "/v1/suppressions/import"]);

/** Pages, probes and the callbacks of carriers are not part of the API, and not in its document. */
const isApiPath = (path: string): boolean => path.startsWith("/v1/");

export function violationsOf(exchanges: readonly Exchange[], findings: readonly Finding[]): string[] {
  const violations = [...exchanges.flatMap(undeclared), ...findings.filter(isViolation).map(textOf)];
  // A violation in one item of a list occurs in all items, and is reported once.
  return [...new Map(violations.map((each) => [each.replaceAll(/\d+/g, "n"), each])).values()];
}

function isViolation({ rule, level, about: { method, path, status, target } }: Finding): boolean {
  // Undeclared headers of a request do no harm.
  if (level === "note") return false;
  if (rule === "undocumented-endpoint") return isApiPath(path) && status !== 404 && status !== 405;
  if (target === "response") return true;
  return !isRefusal(status) && !(method === "POST" && rule === "schema-consistency" && REPORTING_FAULTS.has(path));
}

const textOf = ({ rule, text, about: { method, path, status, dataPath } }: Finding): string =>
  `${method} ${path} → ${status}: ${text} (${rule}${dataPath === undefined ? "" : `, ${dataPath}`})`;

/** A response, or the shared one that it refers to. */
const resolved = (declared: Declared | { $ref: string } | undefined): Declared | undefined =>
  declared !== undefined && "$ref" in declared ? document.components.responses[declared.$ref.split("/").at(-1) ?? ""] : declared;

/** The deviations of a response from the document in its status, media type and headers. */
function undeclared({ method, path, status, headers }: Exchange): string[] {
  const operation = paths.find(({ matches }) => matches.test(path))?.methods[method.toLowerCase()];
  if (operation === undefined) return [];
  const declared = resolved(operation.responses[String(status)]);
  const response = `${method} ${path} → ${status}`;
  if (declared === undefined) return [`${response}: no such status is declared`];
  const type = (headers.get("content-type") ?? "none").split(";")[0] ?? "";
  const missing = Object.keys(declared.headers ?? {}).filter(
    (name) => document.components.headers[name]?.required === true && !headers.has(name.toLowerCase()),
  );
  return [
    ...(Object.hasOwn(declared.content ?? {}, type) ? [] : [`${response}: ${type} is not declared`]),
    ...missing.map((name) => `${response}: without ${name}`),
  ];
}

const ajv = new Ajv2020({ strict: false });
ajv.addFormat("date-time", isDateTime);
ajv.addSchema(document, "openapi.json");
const validators = new Map<string, ValidateFunction>();

/** Asserts that the status, media type, headers and body of a response are declared in docs/openapi.json. Streams and routes outside the
 *  API are not checked. */
export function assertDeclared(
  method: string,
  target: string,
  { status, headers, json, text }: { status: number; headers: Headers; json: unknown; text: string },
): void {
  const [path = ""] = target.split("?");
  const found = isApiPath(path)
    ? paths.find(({ matches, methods }) => matches.test(path) && methods[method.toLowerCase()] !== undefined)
    : undefined;
  if (found === undefined) return;
  assert.deepEqual(undeclared({ method, path, status, headers: new Map(headers) }), [], text.slice(0, 500));
  const type = (headers.get("content-type") ?? "").split(";")[0] ?? "";
  if (!/^application\/(problem\+)?json$/.test(type)) return;
  const declared = found.methods[method.toLowerCase()]?.responses[String(status)];
  const response =
    declared !== undefined && "$ref" in declared
      ? declared.$ref.split("/").slice(1)
      : ["paths", found.path, method.toLowerCase(), "responses", String(status)];
  const segments = [...response, "content", type, "schema"];
  const pointer = segments.map((name) => encodeURIComponent(name.replaceAll("~", "~0").replaceAll("/", "~1"))).join("/");
  const validate = validators.get(pointer) ?? ajv.compile({ $ref: `openapi.json#/${pointer}` });
  validators.set(pointer, validate);
  assert.ok(
    validate(json),
    `${method} ${path} ${status} does not match docs/openapi.json: ${ajv.errorsText(validate.errors)}\n${text.slice(0, 500)}`,
  );
}
