/** Builds the OpenAPI 3.1 document from the rows of routes and the table of errors. */
import { ERRORS, type ErrorCode } from "../http/codes.ts";
import { PROBLEM_TYPE } from "../http/problem.ts";
import { HINT, KNOWN_VALUES, type Schema } from "../http/schema.ts";
import type { Route } from "./route.ts";

type Json = Record<string, unknown>;

const CHECKED: readonly ErrorCode[] = [
  "invalid_request_payload",
  "unauthorized_missing_token",
  "unauthorized_invalid_token",
  "forbidden_address",
  "rate_limit_exceeded",
  "request_timeout",
  "request_header_fields_too_large",
  "internal_server_error",
  "service_unavailable",
];
const WITH_SCOPE: readonly ErrorCode[] = ["forbidden_insufficient_scope"];
const WITH_BODY: readonly ErrorCode[] = ["payload_too_large", "unsupported_media_type"];
const IDEMPOTENT: readonly ErrorCode[] = ["invalid_idempotency_key", "idempotency_conflict", "idempotency_key_reused"];

/** The contents of the document besides the rows. `event` is the schema of the events that webhook endpoints receive. */
export type DocumentParts = {
  version: string;
  event: Schema;
  paths: Readonly<Record<string, object>>;
  schemas: Readonly<Record<string, object>>;
  securitySchemes: Json;
  /** The descriptions of the tags. */
  tags: Readonly<Record<string, string>>;
};

export function openApiDocument(routes: readonly Route[], parts: DocumentParts): Json {
  const { version, event, paths: others, schemas, securitySchemes, tags } = parts;
  const paths: Record<string, Json> = {};
  for (const route of routes) (paths[route.path] ??= {})[route.method.toLowerCase()] = operation(route);
  return {
    openapi: "3.1.0",
    info: {
      title: "Godwit",
      version,
      summary: "One retry-safe POST /v1/messages in front of any carrier.",
      description:
        "JSON in `snake_case`, RFC 3339 times in UTC. Values listed for response fields may grow: treat unknown ones as such. Errors are RFC 9457 problems; switch on `code`.",
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    servers: [{ url: "/" }],
    security: [{ bearer: [] }],
    tags: [...new Set(routes.map(({ tag }) => tag))].map((name) => ({ name, description: tags[name] })),
    paths: { ...paths, ...others },
    webhooks: { event: { post: webhookOperation(event) } },
    components: {
      securitySchemes: {
        bearer: { type: "http", scheme: "bearer", description: "An API key: `gw_test_…` or `gw_live_…`." },
        ...securitySchemes,
      },
      schemas: { ...titledSchemas(routes, event), ...schemas, Problem: PROBLEM_SCHEMA },
      headers: HEADERS,
    },
  };
}

/** The headers of the trace in which a message was sent. */
const TRACE_HEADERS = [
  [
    "traceparent",
    "The trace of the request that sent the message, with a span of this call's own. Only where that request named one, or the service records traces.",
  ],
  ["tracestate", "As that request had it."],
].map(([name = "", description = ""]) => ({ name, in: "header", required: false, description, schema: { type: "string" } }));

/** The calls that this service makes to endpoints: Standard Webhooks 1.0. */
const webhookOperation = (event: Schema): Json => ({
  operationId: "webhook_event",
  summary: "An event, as an endpoint is told of it",
  description: "Signed as Standard Webhooks 1.0 says. At least once, in no order: drop repeats by `webhook-id`.",
  tags: ["Webhooks"],
  security: [],
  parameters: [
    ["webhook-id", "The event's id, the same on every try."],
    ["webhook-timestamp", "When this try was made, in seconds since 1970."],
    [
      "webhook-signature",
      "`v1,` and base64 of HMAC-SHA256 over `id.timestamp.body`; two of them, separated by a space, while a secret is rotated.",
    ],
  ]
    .map(([name, description]) => ({ name, in: "header", required: true, description, schema: { type: "string" } }))
    .concat(TRACE_HEADERS),
  requestBody: { required: true, content: { "application/json": { schema: published(event) } } },
  responses: {
    "2XX": { description: "Acknowledged, within 15 seconds." },
    "410": { description: "Tell this endpoint nothing more: it is disabled." },
    default: { description: "Not acknowledged: tried again for days." },
  },
});

function operation(route: Route): Json {
  const { method, path, summary, description, tag, scope, body, documentedBody, query, params, isIdempotent, keepsTrace, problems } = route;
  const codes = [
    ...CHECKED,
    ...(scope === null ? [] : WITH_SCOPE),
    ...(body === undefined ? [] : WITH_BODY),
    ...(isIdempotent ? IDEMPOTENT : []),
    ...problems,
  ];
  return {
    operationId: operationId(method, path),
    summary,
    description: `${description}\n\n${scope === null ? "No scope is needed: any credential may ask." : `Scope: \`${scope}\`.`}`,
    tags: [tag],
    security: [{ bearer: [] }, { oauth2: scope === null ? [] : [scope] }],
    parameters: [
      ...parameters(params, "path"),
      ...parameters(query, "query"),
      ...(isIdempotent ? [KEY_PARAMETER] : []),
      ...(keepsTrace ? TRACE_PARAMETERS : []),
    ],
    ...(body === undefined
      ? {}
      : { requestBody: { required: true, content: { "application/json": { schema: published(documentedBody ?? body) } } } }),
    responses: { ...replyResponses(route), ...problemResponses(codes) },
  };
}

function replyResponses({ reply, isIdempotent }: Route): Record<string, Json> {
  const { status, description, hasLocation, contentType = "application/json", schema, already } = reply;
  const response = (text: string, more: readonly string[]): Json => ({
    description: text,
    headers: headerRefs(["X-Request-ID", "RateLimit-Policy", "RateLimit", ...more, ...(isIdempotent ? ["Idempotent-Replayed"] : [])]),
    content: { [contentType]: { schema: published(schema) } },
  });
  return {
    [status]: response(description, hasLocation ? ["Location"] : []),
    // No resource was created, so there is no location.
    ...(already === undefined ? {} : { [already.status]: response(already.description, []) }),
  };
}

/** `POST /v1/messages/{id}/cancel` → `post_messages_id_cancel` */
const operationId = (method: string, path: string): string =>
  `${method.toLowerCase()}${path
    .replace(/^\/v1/, "")
    .replaceAll(/[/{}]+/g, "_")
    .replace(/_$/, "")}`;

function problemResponses(codes: readonly ErrorCode[]): Record<string, Json> {
  const byStatus = Map.groupBy(codes, (code) => ERRORS[code].status);
  return Object.fromEntries(
    [...byStatus].map(([status, group]) => [
      String(status),
      {
        description: group.map((code) => `\`${code}\`: ${ERRORS[code].title}.`).join(" "),
        headers: headerRefs([
          "X-Request-ID",
          ...([409, 429, 503].includes(status) ? ["Retry-After"] : []),
          ...([401, 403].includes(status) ? ["WWW-Authenticate"] : []),
        ]),
        content: { [PROBLEM_TYPE]: { schema: { $ref: "#/components/schemas/Problem" } } },
      },
    ]),
  );
}

function parameters(schema: Schema | undefined, place: "path" | "query"): Json[] {
  const { properties = {} } = (schema ?? {}) as { properties?: Record<string, Schema> };
  return Object.entries(properties).map(([name, property]) => {
    const { description, ...rest } = withoutNull(published(property));
    return { name, in: place, required: place === "path", ...(description === undefined ? {} : { description }), schema: rest };
  });
}

/** A query has no null: a parameter is present or absent. */
function withoutNull(schema: Json): Json {
  const { type, enum: values, ...rest } = schema as { type?: string | string[]; enum?: unknown[] };
  const kept = Array.isArray(type) ? type.filter((name) => name !== "null") : type;
  return {
    ...rest,
    type: Array.isArray(kept) && kept.length === 1 ? kept[0] : kept,
    ...(values === undefined ? {} : { enum: values.filter((value) => value !== null) }),
  };
}

/** A schema for the document: plain JSON, without the keywords of this project, and with titled schemas by reference. */
function published(schema: Schema): Json {
  const { title } = schema as { title?: string };
  return title === undefined ? plain(schema) : { $ref: `#/components/schemas/${title}` };
}

const plain = (schema: object): Json =>
  JSON.parse(
    JSON.stringify(schema, (key, value: unknown) => {
      if (key === HINT) return undefined;
      const title = key !== "" && typeof value === "object" && value !== null ? (value as { title?: unknown }).title : undefined;
      return typeof title === "string" ? { $ref: `#/components/schemas/${title}` } : value;
    }),
  ) as Json;

/** All schemas with a title, by title. */
function titledSchemas(routes: readonly Route[], event: Schema): Record<string, Json> {
  const found: Record<string, Json> = {};
  const visit = (value: unknown): void => {
    if (typeof value !== "object" || value === null) return;
    const { title, ...rest } = value as { title?: unknown };
    if (typeof title === "string") found[title] ??= plain(rest);
    for (const child of Object.values(value)) visit(child);
  };
  for (const schema of [...routes.flatMap(({ body, documentedBody, reply }) => [documentedBody ?? body, reply.schema]), event])
    visit(schema);
  return found;
}

const KEY_PARAMETER: Json = {
  name: "Idempotency-Key",
  in: "header",
  required: false,
  description: "A version-4 UUID of your own for this request. Repeating the request with it is safe for 24 hours.",
  schema: { type: "string", examples: ["3f2a1c64-9b1e-4d7a-8c55-0e6b7f3a9d21"] },
};

const TRACE_PARAMETERS: readonly Json[] = [
  [
    "traceparent",
    "The trace that the request belongs to, as W3C Trace Context says it. It is kept with the messages, and webhooks that tell of them carry it on. One that is malformed is ignored.",
  ],
  ["tracestate", "What tracing systems add to it: up to 512 characters, passed on as they are."],
].map(([name, description]) => ({ name, in: "header", required: false, description, schema: { type: "string" } }));

const HEADERS: Record<string, Json> = {
  "X-Request-ID": {
    description: "Names this request; quote it in reports.",
    required: true,
    schema: { type: "string", pattern: "^req_[0-9a-z]{26}$" },
  },
  "RateLimit-Policy": {
    description: 'The quota, such as `"sandbox";q=50;w=2`: q requests in w seconds. Absent on a tier without limit.',
    schema: { type: "string" },
  },
  RateLimit: {
    description: 'What is left, such as `"sandbox";r=49;t=1`: r requests, full again in t seconds.',
    schema: { type: "string" },
  },
  Location: { description: "Where the record can be read.", schema: { type: "string" } },
  "Idempotent-Replayed": { description: "`true` when this is the stored answer of an earlier request.", schema: { type: "string" } },
  "Retry-After": { description: "Seconds to wait.", schema: { type: "integer" } },
  "WWW-Authenticate": { description: "How to authenticate: RFC 6750, and RFC 7617 where tokens are bought.", schema: { type: "string" } },
};

const headerRefs = (names: readonly string[]): Json =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));

const PROBLEM_SCHEMA: Json = {
  type: "object",
  description: "RFC 9457.",
  required: ["type", "title", "status", "code", "detail", "request_id"],
  properties: {
    type: { type: "string", description: "A page about this code." },
    title: { type: "string" },
    status: { type: "integer" },
    code: {
      type: "string",
      description: "What clients switch on; may grow.",
      [KNOWN_VALUES]: Object.keys(ERRORS),
      examples: ["invalid_request_payload"],
    },
    detail: { type: "string" },
    request_id: { type: "string" },
    required_scopes: { type: "array", items: { type: "string" } },
    errors: {
      type: "array",
      description: "Every fault, each with one of `pointer` (body), `parameter` (query or path) and `header`.",
      items: {
        type: "object",
        required: ["code", "detail"],
        properties: {
          pointer: { type: "string" },
          parameter: { type: "string" },
          header: { type: "string" },
          code: { type: "string" },
          detail: { type: "string" },
        },
      },
    },
  },
};
