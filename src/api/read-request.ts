/** Reads an admitted request, in the same order for every route: JSON, with the limits that later code relies on (UTF-8, depth, number of
 *  values, text that the database can store) → form of the idempotency key → schema and the rules of the route. The claim of the key and the
 *  business rules follow in the feature. */
import { isUtf8 } from "node:buffer";
import { escapePointer, Problem, type Fault } from "../http/problem.ts";
import { Type } from "../http/schema.ts";
import { coerceQuery, compile, compileSized, MAX_FAULTS, textFault, type Checked, type Validate } from "../http/validate.ts";
import {
  fingerprintOf,
  idempotencyClaim,
  lockSecretOf,
  parseIdempotencyKey,
  type IdempotencyClaim,
  type IdempotencyKey,
} from "../idempotency/key.ts";
import { groupDigits } from "../lib/group-digits.ts";
import { findSyntaxFault } from "../lib/json-syntax.ts";
import { countMembers, scanJson } from "../lib/scan-json.ts";
import type { SecretBox } from "../lib/secret-box.ts";
import type { Admitted } from "./admit.ts";
import type { Exchange } from "./exchange.ts";
import type { Call, Route } from "./route.ts";

type Validators = { body: ((value: unknown) => Checked) | undefined; query: Validate; params: Validate | undefined };
/** The members of a call that come from the server and not from the request. */
type CallContext = Pick<Call<never, never, never>, "origin" | "requestId" | "writeProblem" | "isAdmitted" | "gone" | "trace">;
/** A request that the schemas have checked. */
type CheckedRequest = { value: unknown; query: unknown; key: IdempotencyKey | undefined; faults: readonly Fault[] };
/** Reads a request in three steps: parses its body as JSON, checks it against the schemas, and computes its fingerprint. The server may
 *  yield to other requests between the steps, since each takes tens of milliseconds for a body of megabytes. */
export type Reader = {
  parse: (exchange: Exchange) => ParsedBody;
  check: (exchange: Exchange, parsed: ParsedBody) => CheckedRequest;
  read: (admitted: Admitted, checked: CheckedRequest, context: CallContext) => Call<never, never, never>;
};

const NO_BODY: ParsedBody = { value: undefined, isSuspect: false };
const NO_QUERY = Type.Object({}, { additionalProperties: false });

/** Creates the reader of a route, which turns an admitted request into a call: everything is parsed and needs no further check. */
export function createReader(route: Route, box: SecretBox): Reader {
  if (route.compatible !== undefined) return BYTES_READER;
  const lockSecret = lockSecretOf(box);
  const validators: Validators = {
    body: route.body && compileSized(route.body, "body"),
    query: compile(route.query ?? NO_QUERY, "query"),
    params: route.params && compile(route.params, "path"),
  };
  const ofUpload: Validators = { ...validators, body: undefined };
  const parse: Reader["parse"] = ({ body = Buffer.alloc(0), isUpload }) => {
    if (isUpload) return NO_BODY;
    return route.body === undefined ? parseNoBody(body) : parseJsonBody(body);
  };
  const check: Reader["check"] = (exchange, { value, isSuspect }) => {
    if (isSuspect) assertStorable(value);
    const key = route.isIdempotent ? parseIdempotencyKey(exchange.request.headers["idempotency-key"]) : undefined;
    const query = route.query === undefined ? exchange.query : coerceQuery(route.query, exchange.query);
    const faults = findFaults(route, exchange.isUpload ? ofUpload : validators, { params: exchange.params, query, value });
    const refused = route.reportsFaults === true && isObject(value) ? faults.filter((fault) => !("pointer" in fault)) : faults;
    if (refused.length > 0) throw new Problem("invalid_request_payload", { errors: refused });
    return { value, query, key, faults };
  };
  const read: Reader["read"] = ({ exchange, credential }, { value, query, key, faults }, context) => {
    const claimOf = (content: unknown): IdempotencyClaim | undefined =>
      key && idempotencyClaim(lockSecret, credential.environmentKey, key, fingerprintOf(exchange.method, exchange.url, content));
    const claim = exchange.isUpload ? undefined : claimOf(value);
    const header = (name: string): string | undefined => {
      const found = exchange.request.headers[name];
      return typeof found === "string" ? found : undefined;
    };
    // The schemas have checked the values, so they have the types of the handler.
    const parsed = { body: value as never, query: query as never, params: exchange.params as never };
    // No JSON body of a request is a text.
    return {
      ...parsed,
      credential,
      claim,
      claimOf: (sha256) => claimOf(sha256.toString("hex")),
      header,
      faults,
      head: exchange.head,
      address: exchange.origin,
      ...context,
    };
  };
  return { parse, check, read };
}

/** The reader of a compatible API, whose handler reads the bytes itself. */
const BYTES_READER: Reader = {
  parse: ({ body = Buffer.alloc(0) }) => ({ value: body, isSuspect: false }),
  check: (_, { value }) => ({ value, query: undefined, key: undefined, faults: [] }),
  read: ({ exchange, credential }, { value }, context) => ({
    body: value as never,
    query: undefined as never,
    params: exchange.params as never,
    credential,
    claim: undefined,
    claimOf: () => undefined,
    header: (name) => {
      const found = exchange.request.headers[name];
      return typeof found === "string" ? found : undefined;
    },
    faults: [],
    head: exchange.head,
    address: exchange.origin,
    ...context,
  }),
};

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null && !Array.isArray(value);

function findFaults(
  route: Route,
  validators: Validators,
  { params, query, value }: { params: unknown; query: unknown; value: unknown },
): Fault[] {
  const { faults: ofBody, sized } = validators.body?.(value) ?? { faults: [], sized: undefined };
  const ofQuery = route.query === undefined && isEmpty(query) ? [] : validators.query(query);
  const faults = [...(validators.params?.(params) ?? []), ...ofQuery, ...ofBody];
  // The rules see only parts of an allowed size.
  if (route.check !== undefined && isObject(sized)) faults.push(...withoutRepeats(route.check(sized), faults));
  return faults.slice(0, MAX_FAULTS);
}

const isEmpty = (query: unknown): boolean => Object.keys(query as object).length === 0;

/** One fault for each value is enough. */
function withoutRepeats(more: readonly Fault[], known: readonly Fault[]): readonly Fault[] {
  if (more.length === 0 || known.length === 0) return more;
  const pointers = new Set(known.map((fault) => ("pointer" in fault ? fault.pointer : undefined)));
  return more.filter((fault) => !("pointer" in fault && pointers.has(fault.pointer)));
}

const MAX_DEPTH = 32;
// Thirty-two for each of the thousand items of a batch. A body of 64 kB has fewer in any case.
const MAX_VALUES = 32_768;

const invalidBody = (detail: string, code: string, pointer = ""): Problem =>
  new Problem("invalid_request_payload", { errors: [{ pointer, code, detail }] });

/** `isSuspect`: the value may contain a text or a number that cannot be stored. */
export type ParsedBody = { value: unknown; isSuspect: boolean };

/** Parses a body. The caller passes a suspect value to `assertStorable`, for a large body in another turn of the event loop. */
export function parseJsonBody(bytes: Buffer): ParsedBody {
  if (bytes.length === 0) throw invalidBody("a JSON object is required", "required");
  if (!isUtf8(bytes)) throw invalidBody("is not UTF-8", "invalid_encoding");
  const { isTooDeep, hasTooMany, mayHaveInfinity, members } = scanJson(bytes, { maxDepth: MAX_DEPTH, maxValues: MAX_VALUES });
  if (isTooDeep) throw invalidBody(`is nested more than ${MAX_DEPTH} levels deep`, "too_deep");
  if (hasTooMany) throw invalidBody(`has more than ${groupDigits(MAX_VALUES)} values`, "too_many");
  const text = bytes.toString("utf8");
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw invalidBody(`is not valid JSON${placeOfFault(text)}`, "invalid_json");
  }
  // Programs disagree on which of two equal names counts.
  if (countMembers(value) !== members) throw invalidBody(`repeats a name${placeOfFault(text)}`, "repeated_name");
  // In valid JSON in UTF-8, only an escape can contain the refused characters.
  return { value, isSuspect: mayHaveInfinity || text.includes("\\u") };
}

/** The body of an action without fields: none, or an empty object or list, as many clients send. */
function parseNoBody(bytes: Buffer): ParsedBody {
  if (bytes.length === 0) return NO_BODY;
  const { value } = parseJsonBody(bytes);
  if (typeof value !== "object" || value === null) throw invalidBody("must be an object", "invalid_type");
  const [name] = Object.keys(value);
  if (name === undefined) return NO_BODY;
  throw invalidBody("must be absent: this action has no fields", "unknown_field", `/${escapePointer(name)}`);
}

// A body of the usual size. The search in the two megabytes of a batch would take 40 ms.
const MAX_SEARCHED = 65_536;

function placeOfFault(text: string): string {
  const searched = text.slice(0, MAX_SEARCHED);
  const fault = findSyntaxFault(searched);
  if (fault === undefined || (fault.isAtEnd && searched.length < text.length)) return "";
  return ` in line ${fault.line}, column ${fault.column}: ${fault.detail}`;
}

/** Throws if the database cannot store a text or a number of the value. */
export function assertStorable(value: unknown): void {
  const fault = findFault(value);
  if (fault !== undefined) throw invalidBody(fault.detail, fault.code, toPointer(fault.path));
}

/** The path to the faulty value, innermost name first. It is built only on the way out of a faulty value. */
type ValueFault = { path: string[]; code: string; detail: string };

function findFault(value: unknown): ValueFault | undefined {
  if (typeof value === "string") return faultyText(value);
  if (typeof value === "number")
    return Number.isFinite(value) ? undefined : { path: [], code: "out_of_range", detail: "is too large a number" };
  if (typeof value !== "object" || value === null) return undefined;
  for (const name of Object.keys(value)) {
    const inName = Array.isArray(value) ? undefined : faultyText(name);
    if (inName !== undefined) return inName;
    const inside = findFault((value as Record<string, unknown>)[name]);
    if (inside !== undefined) return { ...inside, path: [...inside.path, name] };
  }
  return undefined;
}

function faultyText(text: string): ValueFault | undefined {
  const detail = textFault(text);
  return detail === undefined ? undefined : { path: [], code: "invalid_character", detail };
}

const toPointer = (path: readonly string[]): string =>
  path
    .toReversed()
    .map((name) => `/${escapePointer(name)}`)
    .join("");
