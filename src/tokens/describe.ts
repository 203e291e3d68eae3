/** What the OpenAPI document says of tokens: two paths that are no rows of the API, since one takes a form and neither a credential. */
import { SCOPES } from "../access/scope.ts";
import { Type } from "../http/schema.ts";

const Token = Type.Object(
  {
    access_token: Type.String({ description: "An RFC 9068 JWT. Send it as `Authorization: Bearer …`." }),
    token_type: Type.Literal("Bearer"),
    expires_in: Type.Integer({ description: "Seconds: an hour, or until the key expires." }),
    scope: Type.String({ description: "What the token may do, separated by blanks." }),
  },
  { description: "An access token." },
);

const Form = Type.Object(
  {
    grant_type: Type.Literal("client_credentials"),
    scope: Type.Optional(
      Type.String({ description: "What the token shall be able to do, separated by blanks: at most what the key can." }),
    ),
    client_id: Type.Optional(Type.String({ description: "The key's id, where it is not sent by HTTP Basic." })),
    client_secret: Type.Optional(Type.String({ description: "The key, where it is not sent by HTTP Basic." })),
  },
  { required: ["grant_type"] },
);

const OAuthError = {
  type: "object",
  required: ["error", "error_description", "type", "title", "status", "code", "detail", "request_id"],
  properties: {
    error: {
      type: "string",
      description: "The word of RFC 6749: `invalid_request`, `invalid_client`, `invalid_scope`, `unsupported_grant_type` …",
    },
    error_description: { type: "string" },
    type: { type: "string" },
    title: { type: "string" },
    status: { type: "integer" },
    code: { type: "string" },
    detail: { type: "string" },
    request_id: { type: "string" },
  },
};

const refused = (description: string) => ({ description, content: { "application/json": { schema: OAuthError } } });

const JwkSet = Type.Object({
  keys: Type.Array(
    Type.Object({
      kty: Type.String(),
      crv: Type.String(),
      x: Type.String(),
      kid: Type.String(),
      alg: Type.String(),
      use: Type.String(),
    }),
  ),
});

export const tokenPaths = {
  "/v1/oauth/token": {
    post: {
      operationId: "post_oauth_token",
      summary: "Buy an access token",
      description:
        "OAuth 2 client credentials: the id of an API key is the client's id, the key its secret. A token lives for an hour, and dies with its key. Errors here are those of RFC 6749, with the members of a problem beside them.",
      tags: ["Keys"],
      security: [{ client: [] }, {}],
      requestBody: { required: true, content: { "application/x-www-form-urlencoded": { schema: Form } } },
      responses: {
        "200": { description: "A token.", content: { "application/json": { schema: Token } } },
        "400": refused("The form is not valid, or asks for more than the key has."),
        "401": refused("The key is unknown, expired or revoked."),
        "413": refused("The form is too large."),
        "415": refused("The body is not a form."),
        "429": refused("Over the quota of the key's environment."),
        "500": refused("A fault of ours."),
        "503": refused("The service is stopping, or its database is away."),
      },
    },
  },
  "/.well-known/jwks.json": {
    get: {
      operationId: "get_jwks",
      summary: "Read the keys that tokens are signed with",
      description: "RFC 7517. A key is here a quarter of an hour before it signs, and until the last token that it signed is over.",
      tags: ["Keys"],
      security: [],
      responses: { "200": { description: "The keys.", content: { "application/json": { schema: JwkSet } } } },
    },
  },
};

export const oauthSchemes = {
  oauth2: {
    type: "oauth2",
    description: "Access tokens that API keys buy.",
    flows: { clientCredentials: { tokenUrl: "/v1/oauth/token", scopes: Object.fromEntries(SCOPES.map((scope) => [scope, ""])) } },
  },
  client: { type: "http", scheme: "basic", description: "The id of an API key, and the key." },
};
