/** The OpenAPI description of access tokens. Its two paths are not rows of the API, since one accepts a form and neither a bearer token. */
import { ERRORS, type ErrorCode } from "../http/codes.ts";
import { PROBLEM_TYPE } from "../http/problem.ts";
import { Type } from "../http/schema.ts";
import { SCOPES } from "./scope.ts";

const AccessToken = Type.Object(
  {
    access_token: Type.String({ description: "An RFC 9068 JWT. Send it as `Authorization: Bearer …`." }),
    token_type: Type.Literal("Bearer"),
    expires_in: Type.Integer({ minimum: 1, description: "Seconds: an hour, or until the key expires." }),
    scope: Type.String({ description: "What the token may do, separated by blanks." }),
  },
  { description: "What an API key bought. It dies with its key." },
);

const TokenRequest = Type.Object(
  {
    grant_type: Type.Literal("client_credentials"),
    scope: Type.Optional(
      Type.String({
        description: "What the token shall be able to do, separated by blanks: at most what the key can, which is the default.",
      }),
    ),
    client_id: Type.Optional(Type.String({ description: "The key's id, where it is not sent by HTTP Basic." })),
    client_secret: Type.Optional(Type.String({ description: "The key, where it is not sent by HTTP Basic." })),
  },
  { description: "RFC 6749 §4.4.2. Other parameters are ignored." },
);

const OAuthError = {
  type: "object",
  description: "RFC 6749 §5.2, with the members of a problem beside its own.",
  required: ["error", "error_description", "type", "title", "status", "code", "detail", "request_id"],
  properties: {
    error: {
      type: "string",
      description:
        "The word of RFC 6749: `invalid_request`, `invalid_client`, `invalid_scope`, `unsupported_grant_type`, `temporarily_unavailable` or `server_error`.",
      examples: ["invalid_client"],
    },
    error_description: { type: "string" },
    type: { type: "string", description: "A page about this code." },
    title: { type: "string" },
    status: { type: "integer" },
    code: { type: "string", description: "What clients switch on; may grow." },
    detail: { type: "string" },
    request_id: { type: "string" },
    errors: {
      type: "array",
      items: {
        type: "object",
        required: ["pointer", "code", "detail"],
        properties: { pointer: { type: "string" }, code: { type: "string" }, detail: { type: "string" } },
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
        x: Type.String({ description: "The public key." }),
        kid: Type.String({ description: "Its RFC 7638 thumbprint, as tokens name it." }),
        alg: Type.Literal("EdDSA"),
        use: Type.Literal("sig"),
      }),
    ),
  },
  { description: "RFC 7517." },
);

export const tokenSchemas = { AccessToken, TokenRequest, OAuthError, JwkSet };

const schema = (name: keyof typeof tokenSchemas | "Problem") => ({ schema: { $ref: `#/components/schemas/${name}` } });
const headers = (names: readonly string[]) =>
  Object.fromEntries(["X-Request-ID", ...names].map((name) => [name, { $ref: `#/components/headers/${name}` }]));

type ErrorReply = { codes: readonly ErrorCode[]; has?: readonly string[] };

const errorReply =
  (content: object) =>
  ({ codes, has = [] }: ErrorReply) => ({
    description: codes.map((code) => `\`${code}\`: ${ERRORS[code].title}.`).join(" "),
    headers: headers(has),
    content,
  });
const oauthError = errorReply({ "application/json": schema("OAuthError") });
// An error before the request is read has the form of a problem, since the route is not yet known.
const problem = errorReply({ [PROBLEM_TYPE]: schema("Problem") });

const UNREAD = {
  "408": problem({ codes: ["request_timeout"] }),
  "431": problem({ codes: ["request_header_fields_too_large"] }),
};

export const tokenPaths = {
  "/v1/oauth/token": {
    post: {
      operationId: "post_oauth_token",
      summary: "Buy an access token",
      description:
        "OAuth 2 client credentials: the id of an API key is the client's id, the key its secret. A token lives for an hour, and dies with its key. Errors here are those of RFC 6749, with the members of a problem beside them. There is no `Idempotency-Key`: a repetition buys another token.",
      tags: ["Keys"],
      // The client authenticates by HTTP Basic, or in the form.
      security: [{ client: [] }, {}],
      parameters: [],
      requestBody: { required: true, content: { "application/x-www-form-urlencoded": schema("TokenRequest") } },
      responses: {
        "200": {
          description: "A token.",
          headers: headers(["RateLimit-Policy", "RateLimit"]),
          content: { "application/json": schema("AccessToken") },
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
      summary: "Read the keys that tokens are signed with",
      description:
        "For those who verify tokens without asking us. A key is here a quarter of an hour before it signs, and until the last token that it signed is over. What they cannot tell is whether the API key behind a token still lives.",
      tags: ["Keys"],
      security: [],
      parameters: [],
      responses: {
        "200": { description: "The keys.", headers: headers([]), content: { "application/json": schema("JwkSet") } },
        "500": problem({ codes: ["internal_server_error"] }),
        "503": problem({ codes: ["service_unavailable"], has: ["Retry-After"] }),
        ...UNREAD,
      },
    },
  },
};

/** `messages:read` → `Read messages.` */
const scopeText = (scope: string): string => {
  const [things = "", verb = ""] = scope.split(":");
  return `${verb.charAt(0).toUpperCase()}${verb.slice(1)} ${things}.`;
};

export const oauthSchemes = {
  oauth2: {
    type: "oauth2",
    description: "Access tokens that API keys buy.",
    flows: {
      clientCredentials: { tokenUrl: "/v1/oauth/token", scopes: Object.fromEntries(SCOPES.map((scope) => [scope, scopeText(scope)])) },
    },
  },
  client: { type: "http", scheme: "basic", description: "The id of an API key, and the key." },
};
