/** The pages that create access tokens and publish the signing keys. They are pages, since one accepts a form and neither a bearer token. */
import type { Page } from "../api/page.ts";
import { JSON_TYPE } from "../api/responses.ts";
import { Problem } from "../http/problem.ts";
import { Type } from "../http/schema.ts";
import { SCOPES } from "./scope.ts";
import { ALGORITHM, type SigningKeys } from "./signing-keys.ts";
import { GRANT_TYPE, grantToken, writeOAuthProblem, type GrantParts } from "./token-grant.ts";

// The form has four short fields.
const MAX_FORM_BYTES = 8_192;

const AccessToken = Type.Object(
  {
    access_token: Type.String({ description: "The token, an RFC 9068 JWT. Send it as `Authorization: Bearer …`." }),
    token_type: Type.Literal("Bearer"),
    expires_in: Type.Integer({ minimum: 1, description: "The lifetime in seconds: an hour, or less if the key expires earlier." }),
    scope: Type.String({ description: "The scopes of the token, separated by spaces." }),
  },
  { title: "AccessToken", description: "An access token. It stops working when its API key is revoked or expires." },
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
  { title: "TokenRequest", description: "RFC 6749 §4.4.2. Other parameters are ignored." },
);

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
  { title: "JwkSet", description: "The public keys of access tokens, as an RFC 7517 key set." },
);

// A key is listed fifteen minutes before it signs the first token.
const KEY_SET_CACHE = "public, max-age=300";

const TAG = "Keys and tokens";

const TOKEN_PATH = "/v1/oauth/token";
const KEY_SET_PATH = "/.well-known/jwks.json";

/** The metadata of the authorization server (RFC 8414). Its issuer is the address that the client used, since the service does not know its
 *  addresses; the issuer in tokens is the installation. There is no endpoint that revokes a token, so none is named: a token ends with its key. */
function serverMetadata(origin: string): object {
  if (origin === "") throw new Problem("invalid_request_payload", { errors: [NO_HOST] });
  return {
    issuer: origin,
    token_endpoint: `${origin}${TOKEN_PATH}`,
    jwks_uri: `${origin}${KEY_SET_PATH}`,
    scopes_supported: SCOPES,
    response_types_supported: [],
    grant_types_supported: [GRANT_TYPE],
    token_endpoint_auth_methods_supported: ["client_secret_basic", "client_secret_post"],
    service_documentation: `${origin}/docs/access`,
  };
}

const NO_HOST = { header: "Host", code: "invalid_format", detail: "must be the name or the address of the service" };

export function tokenPages({ signingKeys, ...parts }: GrantParts & { signingKeys: SigningKeys }): Page[] {
  return [
    {
      method: "POST",
      path: TOKEN_PATH,
      maxBodyBytes: MAX_FORM_BYTES,
      operation: {
        operationId: "createAccessToken",
        summary: "Create an access token",
        description:
          "Creates an access token with the OAuth 2 client credentials grant: the id of an API key is the client id, and the key is the client secret. A token is valid for one hour, and stops working when its key is revoked. Use tokens to give a program fewer scopes than the key, or to avoid sending the key with each request. Errors have the form of RFC 6749, with the members of a problem in addition. There is no `Idempotency-Key`: a repeated request creates another token. See [Access tokens](/docs/access#access-tokens).",
        tag: TAG,
        form: TokenRequest,
        reply: { description: "The access token.", schema: AccessToken },
      },
      writeProblem: writeOAuthProblem,
      render: async (request) => ({ status: 200, contentType: JSON_TYPE, ...(await grantToken(parts, request)) }),
    },
    {
      method: "GET",
      path: KEY_SET_PATH,
      operation: {
        operationId: "getSigningKeys",
        summary: "Retrieve the signing keys",
        description:
          "Returns the public keys that verify access tokens, so that other services can verify tokens without a request to this one. A key is listed 15 minutes before it signs the first token, and until the last token that it signed has expired. The signature does not show whether the API key of a token has been revoked since. See [Verify tokens in other services](/docs/access#verify-tokens-in-other-services).",
        tag: TAG,
        reply: { description: "The signing keys.", schema: JwkSet },
      },
      render: async () => {
        const keys = (await signingKeys.published()).map(({ kid, publicKey }) => ({ ...publicKey, kid, alg: ALGORITHM, use: "sig" }));
        return { status: 200, contentType: JSON_TYPE, body: JSON.stringify({ keys }), headers: { "cache-control": KEY_SET_CACHE } };
      },
    },
    {
      method: "GET",
      path: "/.well-known/oauth-authorization-server",
      render: async ({ origin }) => ({ status: 200, contentType: JSON_TYPE, body: JSON.stringify(serverMetadata(origin)) }),
    },
  ];
}
