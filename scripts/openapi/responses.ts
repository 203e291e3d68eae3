/** The parts of the OpenAPI document that all operations share: problems, their responses and examples, and the headers of responses. */
import { ERRORS, type ErrorCode } from "../../src/http/codes.ts";
import type { Page } from "../../src/api/page.ts";
import { oauthExample, problemExample } from "./problem-examples.ts";
import { PROBLEM_TYPE } from "../../src/http/problem.ts";
import { KNOWN_VALUES } from "../../src/http/schema.ts";

type Json = Record<string, unknown>;

/** Responses of nearly every operation. They are written once, since they would be most of the document otherwise. */
const SHARED: Readonly<Record<string, readonly ErrorCode[]>> = {
  BadRequest: ["invalid_request_payload"],
  BadRequestOrKey: ["invalid_request_payload", "invalid_idempotency_key"],
  Unauthorized: ["unauthorized_missing_token", "unauthorized_invalid_token"],
  ForbiddenAddress: ["forbidden_address"],
  Forbidden: ["forbidden_address", "forbidden_insufficient_scope"],
  NotFound: ["not_found"],
  RequestTimeout: ["request_timeout"],
  Conflict: ["idempotency_conflict"],
  PayloadTooLarge: ["payload_too_large"],
  UnsupportedMediaType: ["unsupported_media_type"],
  KeyReused: ["idempotency_key_reused"],
  TooManyRequests: ["rate_limit_exceeded"],
  HeaderFieldsTooLarge: ["request_header_fields_too_large"],
  InternalServerError: ["internal_server_error"],
  ServiceUnavailable: ["service_unavailable"],
};

const nameOf = (codes: readonly ErrorCode[]): string => codes.toSorted().join(" ");
const SHARED_NAMES = new Map(Object.entries(SHARED).map(([name, codes]) => [nameOf(codes), name]));

export const sharedResponses = (): Json => Object.fromEntries(Object.entries(SHARED).map(([name, codes]) => [name, responseOf(codes)]));

const UNREAD: ReadonlySet<number> = new Set([408, 431]);

/** The responses of an operation with these error codes, by status. */
export function problemResponses(codes: readonly ErrorCode[], write?: Page["writeProblem"]): Record<string, Json> {
  const byStatus = Map.groupBy(new Set(codes), (code) => ERRORS[code].status);
  return Object.fromEntries(
    [...byStatus].map(([status, group]) => {
      // An error before the request is read has the form of a problem, since the page is not yet known.
      if (write !== undefined && !UNREAD.has(status)) return [String(status), oauthResponseOf(group, write)];
      const shared = SHARED_NAMES.get(nameOf(group));
      return [String(status), shared === undefined ? responseOf(group) : { $ref: `#/components/responses/${shared}` }];
    }),
  );
}

// The reference shows the description in one line; the examples have the titles of all codes.
const MAX_TITLES = 2;

const descriptionOf = (codes: readonly ErrorCode[]): string =>
  codes.length <= MAX_TITLES
    ? codes.map((code) => `\`${code}\`: ${ERRORS[code].title}.`).join(" ")
    : `The request was refused: ${codes.map((code) => `\`${code}\``).join(", ")}.`;

// The quota is counted after the credential is known and the request is read.
const WITHOUT_QUOTA: ReadonlySet<number> = new Set([401, 408, 431]);

function responseOf(codes: readonly ErrorCode[]): Json {
  const status = ERRORS[codes[0] ?? "internal_server_error"].status;
  return {
    description: descriptionOf(codes),
    headers: headerRefs([
      "X-Request-ID",
      ...(WITHOUT_QUOTA.has(status) ? [] : ["RateLimit-Policy", "RateLimit"]),
      ...([409, 429, 503].includes(status) || codes.includes("verification_too_soon") ? ["Retry-After"] : []),
      ...([401, 403].includes(status) ? ["WWW-Authenticate"] : []),
    ]),
    content: {
      [PROBLEM_TYPE]: {
        schema: { $ref: "#/components/schemas/Problem" },
        examples: Object.fromEntries(codes.map((code) => [code, { $ref: `#/components/examples/${code}` }])),
      },
    },
  };
}

/** An error of a page that writes errors in the form of RFC 6749. */
const oauthResponseOf = (codes: readonly ErrorCode[], write: NonNullable<Page["writeProblem"]>): Json => ({
  ...responseOf(codes),
  content: {
    "application/json": {
      schema: { $ref: "#/components/schemas/OAuthError" },
      examples: Object.fromEntries(codes.map((code) => [code, { summary: ERRORS[code].title, value: oauthExample(code, write) }])),
    },
  },
});

// No operation responds with this code: the method of an operation is allowed.
const WITHOUT_OPERATION: ErrorCode = "method_not_allowed";

/** One example for each error code, which the responses refer to. */
export const problemExamples = (): Json =>
  Object.fromEntries(
    (Object.keys(ERRORS) as ErrorCode[])
      .filter((code) => code !== WITHOUT_OPERATION)
      .map((code) => [code, { summary: ERRORS[code].title, value: problemExample(code) }]),
  );

export const HEADERS: Record<string, Json> = {
  "X-Request-ID": {
    description: "The id of this request. Quote it when you report a problem.",
    required: true,
    example: "req_01m7mdf0hreef9w557a2vkhnsc",
    schema: { type: "string", pattern: "^req_[0-9a-z]{26}$" },
  },
  "RateLimit-Policy": {
    description:
      'The quota of the environment, such as `"sandbox";q=50;w=2`: up to q requests in w seconds. Absent on a tier without a limit. See [Rate limits](/docs/limits#rate-limits).',
    example: '"sandbox";q=50;w=2',
    schema: { type: "string" },
  },
  RateLimit: {
    description: 'The remaining quota, such as `"sandbox";r=49;t=1`: r more requests now, and the full quota again in t seconds.',
    example: '"sandbox";r=49;t=1',
    schema: { type: "string" },
  },
  Link: {
    description: 'The next page of a list, with `rel="next"`. Absent on the last page.',
    example: '</v1/messages?limit=20&cursor=AQGZ…>; rel="next"',
    schema: { type: "string" },
  },
  Location: { description: "The path of the created record.", schema: { type: "string" } },
  "Idempotent-Replayed": {
    description: "`true` if this is the stored response of an earlier request with the same idempotency key.",
    example: "true",
    schema: { type: "string" },
  },
  "Retry-After": { description: "The number of seconds to wait before the next attempt.", example: 1, schema: { type: "integer" } },
  "WWW-Authenticate": {
    description: "The authentication that is required: RFC 6750, and RFC 7617 where access tokens are created.",
    example: 'Bearer realm="godwit"',
    schema: { type: "string" },
  },
};

export const headerRefs = (names: readonly string[]): Json =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));

export const PROBLEM_SCHEMA = {
  type: "object",
  description: "An error in the form of RFC 9457. See [Errors](/docs/errors).",
  required: ["type", "title", "status", "code", "detail", "request_id"],
  properties: {
    type: { type: "string", description: "The URL of a page that explains this code." },
    title: { type: "string", description: "A short summary of the code, the same for every error with this code." },
    status: { type: "integer", description: "The HTTP status." },
    code: {
      type: "string",
      description: "The stable code of the error, for decisions in programs. New codes may be added.",
      [KNOWN_VALUES]: Object.keys(ERRORS),
      examples: ["invalid_request_payload"],
    },
    detail: { type: "string", description: "An explanation of this occurrence, for people." },
    request_id: { type: "string", description: "The id of the request, as in the `X-Request-ID` header." },
    required_scopes: {
      type: "array",
      description: "The scopes that the credential lacks, with `forbidden_insufficient_scope`.",
      items: { type: "string" },
    },
    errors: {
      type: "array",
      description: "Every fault of the request. Each has one of `pointer`, `parameter` and `header`.",
      items: {
        type: "object",
        required: ["code", "detail"],
        properties: {
          pointer: { type: "string", description: "The invalid value in the body, as a JSON pointer (RFC 6901)." },
          parameter: { type: "string", description: "The invalid parameter of the query or the path." },
          header: { type: "string", description: "The invalid header." },
          code: { type: "string", description: "The stable code of the fault, such as `required`." },
          detail: { type: "string", description: "An explanation of the fault, for people." },
        },
      },
    },
  },
};

const { required_scopes: _, code, errors, ...members } = PROBLEM_SCHEMA.properties;
// A form has no other parts.
const { parameter: __, header: ___, ...fault } = errors.items.properties;

export const OAUTH_ERROR_SCHEMA: Json = {
  type: "object",
  description: "An error of RFC 6749 §5.2, with the members of a problem in addition.",
  required: ["error", "error_description", ...PROBLEM_SCHEMA.required],
  properties: {
    error: {
      type: "string",
      description:
        "The error code of RFC 6749: `invalid_request`, `invalid_client`, `invalid_scope`, `unsupported_grant_type`, `temporarily_unavailable` or `server_error`.",
      examples: ["invalid_client"],
    },
    error_description: { type: "string", description: "An explanation for people." },
    ...members,
    code: { type: "string", description: code.description },
    errors: {
      type: "array",
      description: "Every fault of the form.",
      items: { type: "object", required: Object.keys(fault), properties: fault },
    },
  },
};
