/** The OpenAPI description of access tokens. Its two paths are not rows of the API, since one accepts a form and neither a bearer token. */
import { ERRORS, type ErrorCode } from "../../src/http/codes.ts";
import type { Examples } from "./document.ts";
import { problemExample } from "./problem-examples.ts";
import { PROBLEM_TYPE } from "../../src/http/problem.ts";
import { Type } from "../../src/http/schema.ts";
import { SCOPES } from "../../src/access/scope.ts";

const AccessToken = Type.Object(
  {
    access_token: Type.String({ description: "The token, an RFC 9068 JWT. Send it as `Authorization: Bearer …`." }),
    token_type: Type.Literal("Bearer"),
    expires_in: Type.Integer({ minimum: 1, description: "The lifetime in seconds: an hour, or less if the key expires earlier." }),
    scope: Type.String({ description: "The scopes of the token, separated by spaces." }),
  },
  { description: "An access token. It stops working when its API key is revoked or expires." },
);

const TokenRequest = Type.Object(
  {
    grant_type: Type.Literal("client_credentials"),
    scope: Type.Optional(
      Type.String({
        description: "The scopes of the token, separated by spaces. Default: all scopes of the key.",
      }),
    ),
    client_id: Type.Optional(Type.String({ description: "The id of the API key, if it is not sent with HTTP Basic authentication." })),
    client_secret: Type.Optional(Type.String({ description: "The API key, if it is not sent with HTTP Basic authentication." })),
  },
  { description: "RFC 6749 §4.4.2. Other parameters are ignored." },
);

const OAuthError = {
  type: "object",
  description: "An error of RFC 6749 §5.2, with the members of a problem in addition.",
  required: ["error", "error_description", "type", "title", "status", "code", "detail", "request_id"],
  properties: {
    error: {
      type: "string",
      description:
        "The error code of RFC 6749: `invalid_request`, `invalid_client`, `invalid_scope`, `unsupported_grant_type`, `temporarily_unavailable` or `server_error`.",
      examples: ["invalid_client"],
    },
    error_description: { type: "string", description: "An explanation for people." },
    type: { type: "string", description: "The URL of a page that explains this code." },
    title: { type: "string", description: "A short summary of the code." },
    status: { type: "integer", description: "The HTTP status." },
    code: { type: "string", description: "The stable code of the error. New codes may be added." },
    detail: { type: "string", description: "An explanation of this occurrence, for people." },
    request_id: { type: "string", description: "The id of the request." },
    errors: {
      type: "array",
      description: "Every fault of the form.",
      items: {
        type: "object",
        required: ["pointer", "code", "detail"],
        properties: {
          pointer: { type: "string", description: "The invalid parameter, as a JSON pointer." },
          code: { type: "string", description: "The stable code of the fault." },
          detail: { type: "string", description: "An explanation of the fault." },
        },
      },
    },
  },
};

const JwkSet = Type.Object(
  {
    keys: Type.Array(
      Type.Object({
        kty: Type.Literal("OKP"),
        crv: Type.Literal("Ed25519"),
        x: Type.String({ description: "The public key, in base64url." }),
        kid: Type.String({ description: "The RFC 7638 thumbprint of the key, which tokens have in their header." }),
        alg: Type.Literal("EdDSA"),
        use: Type.Literal("sig"),
      }),
      { description: "The keys." },
    ),
  },
  { description: "The public keys of access tokens, as an RFC 7517 key set." },
);

export const tokenSchemas = { AccessToken, TokenRequest, OAuthError, JwkSet };

const schema = (name: keyof typeof tokenSchemas | "Problem") => ({ schema: { $ref: `#/components/schemas/${name}` } });
const headers = (names: readonly string[]) =>
  Object.fromEntries(["X-Request-ID", ...names].map((name) => [name, { $ref: `#/components/headers/${name}` }]));

const OAUTH_ERRORS: Readonly<Record<number, string>> = {
  401: "invalid_client",
  429: "temporarily_unavailable",
  500: "server_error",
  503: "temporarily_unavailable",
};

function oauthExample(code: ErrorCode): object {
  const { detail, errors: _, ...rest } = problemExample(code);
  const text = code === "invalid_request_payload" ? "grant_type: must be client_credentials" : detail;
  return { error: OAUTH_ERRORS[ERRORS[code].status] ?? "invalid_request", error_description: text, ...rest, detail: text };
}

type ErrorReply = { codes: readonly ErrorCode[]; has?: readonly string[] };

const errorReply =
  (type: string, name: "OAuthError" | "Problem", exampleOf: (code: ErrorCode) => object) =>
  ({ codes, has = [] }: ErrorReply) => ({
    description: codes.map((code) => `\`${code}\`: ${ERRORS[code].title}.`).join(" "),
    headers: headers(has),
    content: {
      [type]: {
        ...schema(name),
        examples: Object.fromEntries(codes.map((code) => [code, { summary: ERRORS[code].title, value: exampleOf(code) }])),
      },
    },
  });
const oauthError = errorReply("application/json", "OAuthError", oauthExample);
// An error before the request is read has the form of a problem, since the route is not yet known.
const problem = errorReply(PROBLEM_TYPE, "Problem", problemExample);

const UNREAD = {
  "408": problem({ codes: ["request_timeout"] }),
  "431": problem({ codes: ["request_header_fields_too_large"] }),
};

export const tokenPaths = (examples: Examples) => ({
  "/v1/oauth/token": {
    post: {
      operationId: "post_oauth_token",
      summary: "Create an access token",
      description:
        "Creates an access token with the OAuth 2 client credentials grant: the id of an API key is the client id, and the key is the client secret. A token is valid for one hour, and stops working when its key is revoked. Use tokens to give a program fewer scopes than the key, or to avoid sending the key with each request. Errors have the form of RFC 6749, with the members of a problem in addition. There is no `Idempotency-Key`: a repeated request creates another token. See [Access tokens](/docs/access#access-tokens).",
      tags: ["Keys and tokens"],
      // The client authenticates by HTTP Basic, or in the form.
      security: [{ client: [] }, {}],
      parameters: [],
      requestBody: {
        required: true,
        content: {
          "application/x-www-form-urlencoded": {
            ...schema("TokenRequest"),
            example: examples["POST /v1/oauth/token"]?.request,
          },
        },
      },
      responses: {
        "200": {
          description: "The access token.",
          headers: headers(["RateLimit-Policy", "RateLimit"]),
          content: { "application/json": { ...schema("AccessToken"), example: examples["POST /v1/oauth/token"]?.response } },
        },
        "400": oauthError({ codes: ["invalid_request_payload"] }),
        "403": oauthError({ codes: ["forbidden_address"] }),
        "401": oauthError({ codes: ["unauthorized_missing_token", "unauthorized_invalid_token"], has: ["WWW-Authenticate"] }),
        "413": oauthError({ codes: ["payload_too_large"] }),
        "415": oauthError({ codes: ["unsupported_media_type"] }),
        "429": oauthError({ codes: ["rate_limit_exceeded"], has: ["Retry-After"] }),
        "500": oauthError({ codes: ["internal_server_error"] }),
        "503": oauthError({ codes: ["service_unavailable"], has: ["Retry-After"] }),
        ...UNREAD,
      },
    },
  },
  "/.well-known/jwks.json": {
    get: {
      operationId: "get_jwks",
      summary: "Retrieve the signing keys",
      description:
        "Returns the public keys that verify access tokens, so that other services can verify tokens without a request to this one. A key is listed 15 minutes before it signs the first token, and until the last token that it signed has expired. The signature does not show whether the API key of a token has been revoked since. See [Verify tokens in other services](/docs/access#verify-tokens-in-other-services).",
      tags: ["Keys and tokens"],
      security: [],
      parameters: [],
      responses: {
        "200": {
          description: "The signing keys.",
          headers: headers([]),
          content: { "application/json": { ...schema("JwkSet"), example: examples["GET /.well-known/jwks.json"]?.response } },
        },
        "500": problem({ codes: ["internal_server_error"] }),
        "503": problem({ codes: ["service_unavailable"], has: ["Retry-After"] }),
        ...UNREAD,
      },
    },
  },
});

const VERBS: Readonly<Record<string, string>> = { read: "Read", write: "Create and change", send: "Send and change", erase: "Erase" };

/** `messages:read` → `Read messages.` */
const scopeText = (scope: string): string => {
  const [things = "", verb = ""] = scope.split(":");
  return `${VERBS[verb] ?? verb} ${things}.`;
};

export const oauthSchemes = {
  oauth2: {
    type: "oauth2",
    description: "An access token, created with an API key.",
    flows: {
      clientCredentials: { tokenUrl: "/v1/oauth/token", scopes: Object.fromEntries(SCOPES.map((scope) => [scope, scopeText(scope)])) },
    },
  },
  client: { type: "http", scheme: "basic", description: "The id of an API key as the user name, and the key as the password." },
};
