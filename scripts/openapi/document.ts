/** Builds the OpenAPI 3.1 document from the rows of routes, their examples and the table of errors. */
import { isDeepStrictEqual } from "node:util";
import type { ErrorCode } from "../../src/http/codes.ts";
import { HINT, type Schema } from "../../src/http/schema.ts";
import {
  HEADERS,
  headerRefs,
  OAUTH_ERROR_SCHEMA,
  PROBLEM_SCHEMA,
  problemExamples,
  problemResponses,
  sharedResponses,
} from "./responses.ts";
import { SCOPES } from "../../src/access/scope.ts";
import type { Page, PageOperation } from "../../src/api/page.ts";
import type { Route } from "../../src/api/route.ts";

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
/** The codes of a page without a credential, of which the last two are of requests that were not read. */
const UNCHECKED: readonly ErrorCode[] = [
  "internal_server_error",
  "service_unavailable",
  "request_timeout",
  "request_header_fields_too_large",
];
const WITH_SCOPE: readonly ErrorCode[] = ["forbidden_insufficient_scope"];
const WITH_BODY: readonly ErrorCode[] = ["payload_too_large", "unsupported_media_type"];
const IDEMPOTENT: readonly ErrorCode[] = ["invalid_idempotency_key", "idempotency_conflict", "idempotency_key_reused"];

/** The example of an operation: a request and its response. `path` and `query` have the values of its parameters. */
export type OperationExample = {
  path?: Readonly<Record<string, string>>;
  query?: Readonly<Record<string, string | number>>;
  request?: object;
  response: unknown;
};

/** The examples by method and path, such as `POST /v1/messages`, and that of a webhook. `scripts/record-examples.ts` records them. */
export type Examples = Record<string, OperationExample>;

export type DescribedPage = Page & { operation: PageOperation };

/** The contents of the document besides the rows. `event` is the schema of the events that webhook endpoints receive. */
export type DocumentParts = {
  version: string;
  /** The pages that the document describes. */
  pages: readonly DescribedPage[];
  event: Schema;
  examples: Examples;
  /** The tags in the order of the reference, with their descriptions. */
  tags: Readonly<Record<string, string>>;
  /** The groups of tags in the navigation of the reference. */
  tagGroups: Readonly<Record<string, readonly string[]>>;
};

const DESCRIPTION = `Send SMS and WhatsApp messages through any carrier, and follow each message until it is delivered.

Requests and responses are JSON with names in \`snake_case\`. Times are RFC 3339 in UTC. Start with the [Quickstart](/docs/getting-started).

- **Authentication.** Send an API key or an access token as \`Authorization: Bearer …\`. A key belongs to one environment, \`test\` or \`live\`, and has [scopes](/docs/access).
- **Idempotency.** Send an \`Idempotency-Key\` with each POST and PATCH. A repeated request then returns the first response and has no second effect: see [Idempotency](/docs/idempotency).
- **Errors.** An error is an RFC 9457 problem. Decide by \`code\`, and show \`detail\` to people: see [Errors](/docs/errors).
- **Lists.** A list returns \`data\`, \`has_more\` and \`next_cursor\`, newest first. Pass \`next_cursor\` as \`cursor\` to read the next page.
- **Compatibility.** New fields and new values may be added to responses at any time. Ignore fields that you do not know, and handle values that you do not know.`;

export function openApiDocument(routes: readonly Route[], parts: DocumentParts): Json {
  const { version, pages, event, examples, tags, tagGroups } = parts;
  const paths: Record<string, Json> = {};
  for (const route of routes) (paths[route.path] ??= {})[route.method.toLowerCase()] = operation(route, examples);
  for (const page of pages) (paths[page.path] ??= {})[page.method.toLowerCase()] = pageOperation(page, page.operation, examples);
  return {
    openapi: "3.1.0",
    info: {
      title: "Godwit API",
      version,
      summary: "A self-hosted messaging API: one retry-safe POST /v1/messages in front of any carrier.",
      description: DESCRIPTION,
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    servers: [{ url: "/" }],
    security: [{ bearer: [] }],
    tags: Object.entries(tags).map(([name, description]) => ({ name, description })),
    "x-tagGroups": Object.entries(tagGroups).map(([name, members]) => ({ name, tags: members })),
    paths,
    webhooks: { event: { post: webhookOperation(event, examples["webhook"]?.request) } },
    components: {
      securitySchemes: SECURITY_SCHEMES,
      schemas: { ...titledSchemas(routes, pages, event), OAuthError: OAUTH_ERROR_SCHEMA, Problem: PROBLEM_SCHEMA },
      responses: sharedResponses(),
      headers: HEADERS,
      examples: problemExamples(),
    },
  };
}

/** The headers of the trace in which a message was sent. */
const TRACE_HEADERS = [
  [
    "traceparent",
    "The W3C trace of the request that sent the message, with a span for this call. Present if that request had a trace, or if the service records traces.",
  ],
  ["tracestate", "The `tracestate` of that request."],
].map(([name = "", description = ""]) => ({ name, in: "header", required: false, description, schema: { type: "string" } }));

const WEBHOOK_HEADERS = [
  ["webhook-id", "The id of the event, the same for every attempt.", "evt_01m7mdhbymfqzak2byjcs4j9f0"],
  ["webhook-timestamp", "The time of this attempt, in seconds since 1970.", "1794907803"],
  [
    "webhook-signature",
    "`v1,` and the base64 HMAC-SHA256 of `id.timestamp.body`. While a secret is rotated there are two signatures, separated by a space.",
    "v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=",
  ],
].map(([name = "", description = "", example = ""]) => ({
  name,
  in: "header",
  required: true,
  description,
  example,
  schema: { type: "string" },
}));

/** The calls that this service makes to endpoints: Standard Webhooks 1.0. */
const webhookOperation = (event: Schema, example: object | undefined): Json => ({
  operationId: "receiveEvent",
  summary: "Receive an event",
  description:
    "Godwit sends each event to every enabled endpoint that subscribes to its type. The request is signed according to Standard Webhooks 1.0: verify the signature before you use the body. Deliveries arrive at least once and in no particular order, so ignore a `webhook-id` that you have already processed. See [Webhooks](/docs/webhooks).",
  tags: ["Webhooks"],
  security: [],
  parameters: [...WEBHOOK_HEADERS, ...TRACE_HEADERS],
  requestBody: { required: true, content: { "application/json": { schema: published(event), example } } },
  responses: {
    "2XX": { description: "Your endpoint has received the event. Respond within 15 seconds." },
    "410": { description: "Your endpoint no longer exists. Godwit disables it." },
    default: { description: "Any other response is a failed attempt. Godwit retries for several days." },
  },
});

function operation(route: Route, examples: Examples): Json {
  const {
    method,
    path,
    operationId,
    summary,
    description,
    tag,
    scope,
    body,
    documentedBody,
    upload,
    query,
    params,
    isIdempotent,
    keepsTrace,
    problems,
  } = route;
  const example: OperationExample = examples[`${method} ${path}`] ?? { response: undefined };
  const codes = [
    ...CHECKED,
    ...(scope === null ? [] : WITH_SCOPE),
    ...(body === undefined ? [] : WITH_BODY),
    ...(isIdempotent ? IDEMPOTENT : []),
    ...problems,
  ];
  return {
    operationId,
    summary,
    description: `${description}\n\n${scope === null ? "No scope is required: any valid credential may call this operation." : `Required scope: \`${scope}\`.`}`,
    tags: [tag],
    security: [{ bearer: [] }, { oauth2: scope === null ? [] : [scope] }],
    parameters: [
      ...parameters(params, "path", example.path),
      ...parameters(query, "query", example.query),
      ...(isIdempotent ? [KEY_PARAMETER] : []),
      ...(keepsTrace ? TRACE_PARAMETERS : []),
      ...parameters(route.headers, "header"),
    ],
    ...(body === undefined
      ? {}
      : {
          requestBody: {
            required: true,
            content: {
              "application/json": { schema: published(documentedBody ?? body), example: example.request },
              ...(upload === undefined ? {} : { [UPLOAD_TYPE]: { schema: BINARY } }),
            },
          },
        }),
    responses: { ...replyResponses(route, example.response), ...problemResponses(codes) },
  };
}

function pageOperation(page: Page, { operationId, summary, description, tag, form, reply }: PageOperation, examples: Examples): Json {
  const { method, path, writeProblem } = page;
  const example = examples[`${method} ${path}`];
  return {
    operationId,
    summary,
    description,
    tags: [tag],
    security: form === undefined ? [] : [{ client: [] }, {}],
    parameters: [],
    ...(form === undefined
      ? {}
      : { requestBody: { required: true, content: { [FORM_TYPE]: { schema: published(form), example: example?.request } } } }),
    responses: {
      "200": {
        description: reply.description,
        headers: headerRefs(["X-Request-ID", ...(form === undefined ? [] : ["RateLimit-Policy", "RateLimit"])]),
        content: { "application/json": { schema: published(reply.schema), example: example?.response } },
      },
      ...problemResponses(form === undefined ? UNCHECKED : [...CHECKED, ...WITH_BODY], writeProblem),
    },
  };
}

// Stands for every type besides JSON.
const UPLOAD_TYPE = "application/octet-stream";
const BINARY = { type: "string", format: "binary" };

const FORM_TYPE = "application/x-www-form-urlencoded";

function replyResponses({ reply, isIdempotent, query }: Route, example: unknown): Record<string, Json> {
  const { status, description, hasLocation, contentType = "application/json", schema, already } = reply;
  const isList = query !== undefined && "cursor" in (query as unknown as { properties: object }).properties;
  const response = (text: string, more: readonly string[]): Json => ({
    description: text,
    headers: headerRefs([
      "X-Request-ID",
      "RateLimit-Policy",
      "RateLimit",
      ...more,
      ...(isList ? ["Link"] : []),
      ...(isIdempotent ? ["Idempotent-Replayed"] : []),
    ]),
    content: { [contentType]: { schema: published(schema), example } },
  });
  return {
    [status]: response(description, hasLocation ? ["Location"] : []),
    // No resource was created, so there is no location.
    ...(already === undefined ? {} : { [already.status]: response(already.description, []) }),
  };
}

function parameters(
  schema: Schema | undefined,
  place: "path" | "query" | "header",
  examples: Readonly<Record<string, unknown>> = {},
): Json[] {
  const { properties = {} } = (schema ?? {}) as { properties?: Record<string, Schema> };
  return Object.entries(properties).map(([name, property]) => {
    const { description, ...rest } = published(withoutNull(property) as Schema);
    return { name, in: place, required: place === "path", description, example: examples[name], schema: rest };
  });
}

/** A query has no null: a parameter is present or absent. */
function withoutNull(schema: Schema): Json {
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

type Titled = { title?: unknown; type?: unknown; description?: unknown };

const plain = (schema: object): Json =>
  JSON.parse(
    JSON.stringify(schema, (key, value: unknown) => {
      if (key === HINT) return undefined;
      const nullable = withNullApart(value);
      if (nullable !== undefined) return nullable;
      const { title, type, description } = (key !== "" && typeof value === "object" && value !== null ? value : {}) as Titled;
      if (key === "" || typeof title !== "string") return withMapping(value);
      const reference = { $ref: `#/components/schemas/${title}` };
      return Array.isArray(type) && type.includes("null") ? { description, anyOf: [reference, { type: "null" }] } : reference;
    }),
  ) as Json;

type Union = {
  discriminator?: { propertyName: string };
  oneOf?: readonly { title: string; properties: Record<string, { const: string }> }[];
};

/** A union with the schema of each form by the value that distinguishes it. */
function withMapping(value: unknown): unknown {
  const { discriminator, oneOf: forms } = (typeof value === "object" && value !== null ? value : {}) as Union;
  if (discriminator === undefined || forms === undefined) return value;
  const { propertyName } = discriminator;
  const mapping = Object.fromEntries(
    forms.map(({ title, properties }) => [properties[propertyName]?.const ?? "", `#/components/schemas/${title}`]),
  );
  return { ...(value as Union), discriminator: { propertyName, mapping } };
}

type Enum = { type?: unknown; enum?: readonly unknown[]; description?: string };

/** A list of values or null as two schemas: generators take a null in a list for the text "null". */
function withNullApart(value: unknown): Json | undefined {
  const { type, enum: values, description, ...rest } = (typeof value === "object" && value !== null ? value : {}) as Enum;
  if (!Array.isArray(values) || !Array.isArray(type) || !values.includes(null)) return undefined;
  const schema = { type: type.find((name) => name !== "null") as string, enum: values.filter((each) => each !== null), ...rest };
  return { ...(description === undefined ? {} : { description }), anyOf: [schema, { type: "null" }] };
}

/** All schemas with a title, by title. */
function titledSchemas(routes: readonly Route[], pages: readonly DescribedPage[], event: Schema): Record<string, Json> {
  const found: Record<string, Json> = {};
  const visit = (value: unknown): void => {
    if (typeof value !== "object" || value === null) return;
    const { title, ...rest } = value as { title?: unknown; type?: unknown };
    // A place that also accepts null says so itself.
    if (typeof title === "string") {
      const schema = plain(Array.isArray(rest.type) ? { ...rest, type: "object" } : rest);
      if (!isDeepStrictEqual({ ...(found[title] ??= schema), description: "" }, { ...schema, description: "" }))
        throw new Error(`two schemas have the title ${title}`);
    }
    for (const child of Object.values(value)) visit(child);
  };
  visit(routes.map(({ body, documentedBody, reply }) => [documentedBody ?? body, reply.schema]));
  visit(event);
  visit(pages.map(({ operation: { form, reply } }) => [reply.schema, form]));
  return found;
}

const UUID_4 = "[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-4[0-9a-fA-F]{3}-[89abAB][0-9a-fA-F]{3}-[0-9a-fA-F]{12}";

const KEY_PARAMETER: Json = {
  name: "Idempotency-Key",
  in: "header",
  required: false,
  description:
    "A version-4 UUID that you create for this request. For 24 hours, a repeated request with the same key returns the first response and has no second effect. See [Idempotency](/docs/idempotency).",
  // Without an example: a tool that sends it would use one key for every operation.
  schema: { type: "string", pattern: `^(?:"${UUID_4}"|${UUID_4})$` },
};

const TRACE_PARAMETERS: readonly Json[] = [
  [
    "traceparent",
    "The W3C trace that the request belongs to. It is stored with the messages, and webhook calls about them continue it. A malformed value is ignored. See [Tracing](/docs/operation#pass-your-own-trace).",
  ],
  ["tracestate", "Vendor-specific data of the trace, up to 512 characters, which is passed on unchanged."],
].map(([name, description]) => ({ name, in: "header", required: false, description, schema: { type: "string" } }));

const VERBS: Readonly<Record<string, string>> = { read: "Read", write: "Create and change", send: "Send and change", erase: "Erase" };

/** `messages:read` → `Read messages.` */
const scopeText = (scope: string): string => {
  const [things = "", verb = ""] = scope.split(":");
  return `${VERBS[verb] ?? verb} ${things}.`;
};

const SECURITY_SCHEMES = {
  bearer: {
    type: "http",
    scheme: "bearer",
    description: "An API key, `gw_test_…` or `gw_live_…`, or an access token. See [Access](/docs/access).",
  },
  oauth2: {
    type: "oauth2",
    description: "An access token, created with an API key.",
    flows: {
      clientCredentials: { tokenUrl: "/v1/oauth/token", scopes: Object.fromEntries(SCOPES.map((scope) => [scope, scopeText(scope)])) },
    },
  },
  client: { type: "http", scheme: "basic", description: "The id of an API key as the user name, and the key as the password." },
};
