/** The checks of a request, in the same order for every route: credential → quota → scope → media type and size → JSON → form of the
 *  idempotency key → schema → (in the feature:) idempotency claim → business rules. The server finds the route before. */
import { requireAddress, requireScope, type Authenticator, type Credential } from "../access/authenticate.ts";
import { overQuota, quotaHeaders, type Limiter, type QuotaDecision } from "../access/limiter.ts";
import { assertStorable, parseJsonBody, type ParsedBody } from "../http/json-body.ts";
import { Problem, type Fault } from "../http/problem.ts";
import { Type } from "../http/schema.ts";
import { coerceQuery, compile, compileSized, MAX_FAULTS, type Checked, type Validate } from "../http/validate.ts";
import {
  fingerprintOf,
  idempotencyClaim,
  lockSecretOf,
  parseIdempotencyKey,
  type IdempotencyClaim,
  type IdempotencyKey,
} from "../idempotency/key.ts";
import type { SecretBox } from "../lib/secret-box.ts";
import type { Exchange } from "./exchange.ts";
import type { Metrics } from "./metrics.ts";
import { BODY_LIMIT_BYTES, tooLarge, unsupportedMediaType } from "./responses.ts";
import type { Call, Route } from "./route.ts";

export type Access = { authenticator: Authenticator; limiter: Limiter; metrics: Metrics };

/** Checks credential, quota, scope and media type before the body is read. Returns without a promise while the credential is cached and
 *  this node has quota, which is nearly always. */
export function admit(route: Route, exchange: Exchange, access: Access): Credential | Promise<Credential> {
  const credential = access.authenticator.authenticate(exchange.request.headers.authorization);
  if (credential instanceof Promise) return credential.then((found) => admitWithin(route, exchange, access, found));
  return admitWithin(route, exchange, access, credential);
}

/** Whether the credential is still valid: false after its key was revoked, true while the database is unavailable. */
export const isAdmitted = async (authenticator: Authenticator, { request }: Exchange): Promise<boolean> => {
  try {
    await authenticator.authenticate(request.headers.authorization);
    return true;
  } catch (error) {
    return !(error instanceof Problem && error.status === 401);
  }
};

function admitWithin(route: Route, exchange: Exchange, access: Access, credential: Credential): Credential | Promise<Credential> {
  exchange.credential = credential;
  const taken = access.limiter.take(credential);
  if (taken instanceof Promise) return taken.then((decision) => checkAccess(route, exchange, access, { credential, decision }));
  return checkAccess(route, exchange, access, { credential, decision: taken });
}

function checkAccess(
  route: Route,
  exchange: Exchange,
  { metrics }: Access,
  { credential, decision }: { credential: Credential; decision: QuotaDecision | undefined },
): Credential {
  if (decision !== undefined) checkQuota(exchange, metrics, credential, decision);
  requireAddress(credential, exchange.ip);
  if (route.scope !== null) requireScope(credential, route.scope);
  if (route.body !== undefined) checkMediaType(exchange, route.maxBodyBytes);
  return credential;
}

/** Charges the cost of a request beyond the first unit, once the body shows it. */
export async function chargeMore(route: Route, value: unknown, exchange: Exchange, { limiter, metrics }: Access): Promise<void> {
  const credential = exchange.credential as Credential;
  // A request that costs more than the burst is charged the whole burst; otherwise it could never be admitted.
  const more = Math.min(route.cost?.(value) ?? 1, credential.tier.limit?.burst ?? Infinity) - 1;
  const decision = more > 0 ? await limiter.take(credential, more) : undefined;
  if (decision !== undefined) checkQuota(exchange, metrics, credential, decision);
}

function checkQuota(exchange: Exchange, metrics: Metrics, credential: Credential, decision: QuotaDecision): void {
  exchange.headers(quotaHeaders(credential, decision));
  if (decision.isAdmitted) return;
  metrics.refusedByQuota();
  throw overQuota(credential, decision);
}

// An allow-list: the lenient parsing of media types has been a source of bypasses.
const JSON_MEDIA_TYPE = /^application\/json(?:[ \t]*;[ \t]*charset="?utf-8"?)?$/i;

function checkMediaType({ request: { headers } }: Exchange, maxBodyBytes = BODY_LIMIT_BYTES): void {
  const encoding = headers["content-encoding"];
  const isPlain = encoding === undefined || encoding === "identity";
  if (!isPlain || !JSON_MEDIA_TYPE.test(headers["content-type"] ?? "")) throw unsupportedMediaType();
  const length = Number(headers["content-length"] ?? 0);
  if (length > maxBodyBytes) throw tooLarge(maxBodyBytes);
}

type Validators = { body: ((value: unknown) => Checked) | undefined; query: Validate; params: Validate | undefined };
/** The members of a call that come from the server and not from the request. */
type CallContext = Pick<Call<never, never, never>, "origin" | "writeProblem" | "isAdmitted" | "gone" | "trace">;
/** A request that the schemas have checked. */
type CheckedRequest = { value: unknown; query: unknown; key: IdempotencyKey | undefined; faults: readonly Fault[] };
/** Reads a request in three steps: parses its body as JSON, checks it against the schemas, and computes its fingerprint. The server may
 *  yield to other requests between the steps, since each takes tens of milliseconds for a body of megabytes. */
export type Reader = {
  parse: (exchange: Exchange) => ParsedBody;
  check: (exchange: Exchange, parsed: ParsedBody) => CheckedRequest;
  read: (exchange: Exchange, checked: CheckedRequest, context: CallContext) => Call<never, never, never>;
};

const NO_BODY: ParsedBody = { value: undefined, isSuspect: false };
const NO_QUERY = Type.Object({}, { additionalProperties: false });

/** Creates the reader of a route, which turns an admitted request into a call: everything is parsed and needs no further check. */
export function createReader(route: Route, box: SecretBox): Reader {
  const lockSecret = lockSecretOf(box);
  const validators: Validators = {
    body: route.body && compileSized(route.body, "body"),
    query: compile(route.query ?? NO_QUERY, "query"),
    params: route.params && compile(route.params, "path"),
  };
  const parse: Reader["parse"] = ({ body = Buffer.alloc(0) }) => (route.body === undefined ? NO_BODY : parseJsonBody(body));
  const check: Reader["check"] = (exchange, { value, isSuspect }) => {
    if (isSuspect) assertStorable(value);
    const key = route.isIdempotent ? parseIdempotencyKey(exchange.request.headers["idempotency-key"]) : undefined;
    const query = route.query === undefined ? exchange.query : coerceQuery(route.query, exchange.query);
    const faults = findFaults(route, validators, { params: exchange.params, query, value });
    const refused = route.reportsFaults === true && isObject(value) ? faults.filter((fault) => !("pointer" in fault)) : faults;
    if (refused.length > 0) throw new Problem("invalid_request_payload", { errors: refused });
    return { value, query, key, faults };
  };
  const read: Reader["read"] = (exchange, { value, query, key, faults }, context) => {
    const credential = exchange.credential as Credential;
    const claim: IdempotencyClaim | undefined =
      key && idempotencyClaim(lockSecret, credential.environmentKey, key, fingerprintOf(exchange.method, exchange.url, value));
    const header = (name: string): string | undefined => {
      const found = exchange.request.headers[name];
      return typeof found === "string" ? found : undefined;
    };
    // The schemas have checked the values, so they have the types of the handler.
    const parsed = { body: value as never, query: query as never, params: exchange.params as never };
    return { ...parsed, credential, claim, header, faults, ...context };
  };
  return { parse, check, read };
}

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
