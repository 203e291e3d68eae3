/** The order of checks, the same for every route: credential → quota → scope → media type and size → JSON → key form →
 *  schema → (the feature:) idempotency claim → business rules. Routing comes before, in the server. */
import type { FastifyReply, FastifyRequest } from "fastify";
import { requireScope, type Authenticator, type Credential } from "../access/authenticate.ts";
import { overQuota, quotaHeaders, type Limiter, type QuotaDecision } from "../access/limiter.ts";
import { Problem, type Fault } from "../http/problem.ts";
import { Type } from "../http/schema.ts";
import { fingerprintOf, idempotencyClaim, parseIdempotencyKey, type IdempotencyClaim } from "../idempotency/key.ts";
import { BODY_LIMIT_BYTES, tooLarge, unsupportedMediaType } from "./responses.ts";
import { parseJsonBody } from "../http/json-body.ts";
import type { Metrics } from "./metrics.ts";
import type { Call, Route } from "./route.ts";
import { coerceQuery, compile, type Validate } from "../http/validate.ts";

export type Access = { authenticator: Authenticator; limiter: Limiter; metrics: Metrics };

/** Who may, and how often: before a byte of the body is read. Without waiting while credential and quota are at hand,
 *  which is nearly always. */
export function admit(route: Route, request: FastifyRequest, reply: FastifyReply, access: Access): Credential | Promise<Credential> {
  const credential = access.authenticator.authenticate(request.headers.authorization);
  if (credential instanceof Promise) return credential.then((found) => admitWithin(route, request, reply, access, found));
  return admitWithin(route, request, reply, access, credential);
}

function admitWithin(
  route: Route,
  request: FastifyRequest,
  reply: FastifyReply,
  access: Access,
  credential: Credential,
): Credential | Promise<Credential> {
  const check = (decision: QuotaDecision | undefined): Credential => {
    if (decision !== undefined) checkQuota(reply, access.metrics, credential, decision);
    if (route.scope !== null) requireScope(credential, route.scope);
    if (route.body !== undefined) checkMediaType(request, route.maxBodyBytes);
    return credential;
  };
  const taken = access.limiter.take(credential);
  return taken instanceof Promise ? taken.then(check) : check(taken);
}

/** What a request costs beyond the one it was admitted for, once its body tells. */
export async function chargeMore(route: Route, value: unknown, credential: Credential, reply: FastifyReply, access: Access): Promise<void> {
  // What costs more than the bucket ever has is to be had for all of it.
  const more = Math.min(route.cost?.(value) ?? 1, credential.tier.limit?.burst ?? Infinity) - 1;
  const decision = more > 0 ? await access.limiter.take(credential, more) : undefined;
  if (decision !== undefined) checkQuota(reply, access.metrics, credential, decision);
}

function checkQuota(reply: FastifyReply, metrics: Metrics, credential: Credential, decision: QuotaDecision): void {
  reply.headers(quotaHeaders(credential, decision));
  if (decision.isAdmitted) return;
  metrics.refusedByQuota();
  throw overQuota(credential, decision);
}

// An allow-list: the lenient parsing of media types has been a source of bypasses.
const JSON_MEDIA_TYPE = /^application\/json(?:[ \t]*;[ \t]*charset="?utf-8"?)?$/i;

function checkMediaType({ headers }: FastifyRequest, maxBodyBytes = BODY_LIMIT_BYTES): void {
  const encoding = headers["content-encoding"];
  const isPlain = encoding === undefined || encoding === "identity";
  if (!isPlain || !JSON_MEDIA_TYPE.test(headers["content-type"] ?? "")) throw unsupportedMediaType();
  const length = Number(headers["content-length"] ?? 0);
  if (length > maxBodyBytes) throw tooLarge(maxBodyBytes);
}

type Validators = { body: Validate | undefined; query: Validate; params: Validate | undefined };
/** What the server gives to a call besides what the request says. */
type Surroundings = Pick<Call<never, never, never>, "writeProblem" | "isAdmitted" | "gone" | "trace">;
/** A request in two steps: its body is JSON, and says what it should. */
export type Reader = {
  parse: (request: FastifyRequest) => unknown;
  read: (request: FastifyRequest, value: unknown, credential: Credential, surroundings: Surroundings) => Call<never, never, never>;
};

const NO_QUERY = Type.Object({}, { additionalProperties: false });

/** What a route makes of an admitted request: everything parsed, nothing to check again. */
export function createReader(route: Route): Reader {
  const validators: Validators = {
    body: route.body && compile(route.body, "body"),
    query: compile(route.query ?? NO_QUERY, "query"),
    params: route.params && compile(route.params, "path"),
  };
  const parse: Reader["parse"] = (request) =>
    route.body === undefined ? undefined : parseJsonBody((request.body as Buffer | undefined) ?? Buffer.alloc(0));
  const read: Reader["read"] = (request, value, credential, surroundings) => {
    const key = route.isIdempotent ? parseIdempotencyKey(request.headers["idempotency-key"]) : undefined;
    const query = route.query === undefined ? request.query : coerceQuery(route.query, request.query as Record<string, unknown>);
    const faults = findFaults(route, validators, { params: request.params, query, value });
    const refused = route.tellsFaults === true && isObject(value) ? faults.filter((fault) => !("pointer" in fault)) : faults;
    if (refused.length > 0) throw new Problem("invalid_request_payload", { errors: refused });
    const claim: IdempotencyClaim | undefined =
      key === undefined ? undefined : idempotencyClaim(credential.environmentKey, key, fingerprintOf(request.method, request.url, value));
    const header = (name: string): string | undefined => {
      const found = request.headers[name];
      return typeof found === "string" ? found : undefined;
    };
    // What the schemas have checked is what the handler's types say.
    const parsed = { body: value as never, query: query as never, params: request.params as never };
    return { ...parsed, credential, claim, header, faults, ...surroundings };
  };
  return { parse, read };
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null && !Array.isArray(value);

function findFaults(
  route: Route,
  validators: Validators,
  { params, query, value }: { params: unknown; query: unknown; value: unknown },
): Fault[] {
  const faults = [...(validators.params?.(params) ?? []), ...validators.query(query), ...(validators.body?.(value) ?? [])];
  if (route.check !== undefined && isObject(value)) faults.push(...withoutRepeats(route.check(value), faults));
  return faults;
}

/** One fault a place is enough. */
const withoutRepeats = (more: readonly Fault[], known: readonly Fault[]): Fault[] =>
  more.filter((fault) => !known.some((other) => "pointer" in other && "pointer" in fault && other.pointer === fault.pointer));
