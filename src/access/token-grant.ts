/** POST /v1/oauth/token: creates an access token for an API key (RFC 6749 client credentials). It is the only path that accepts a form.
 *  Its errors are those of the RFC, with the members of a problem beside them. */
import { requireAddress, toCredential, type Authenticator, type Credential } from "./authenticate.ts";
import { overQuota, quotaHeaders, type Limiter } from "./limiter.ts";
import type { CredentialRow } from "./queries.ts";
import { isScope, type Scope } from "./scope.ts";
import { Problem } from "../http/problem.ts";
import { encodeId } from "../model/id.ts";
import { CHALLENGE, parseTokenForm, oauthProblem, type Client, type TokenRequest } from "./token-form.ts";
import type { Tokens } from "./tokens.ts";

export type GrantParts = {
  authenticator: Pick<Authenticator, "findKey" | "touch">;
  limiter: Limiter;
  tokens: Tokens;
  metrics: { refusedByQuota(): void };
};
export type GrantResponse = { body: string; headers: Record<string, string> };

export const GRANT_TYPE = "client_credentials";

/** Creates a token for the client that the request names. */
export async function grantToken(parts: GrantParts, request: TokenRequest): Promise<GrantResponse> {
  const { client, grantType, scope } = parseTokenForm(request);
  const row = await findClient(parts, client);
  const credential = toCredential(row);
  const headers = await charge(parts, credential);
  requireAddress(credential, request.peer);
  if (grantType !== GRANT_TYPE)
    throw withHeaders(oauthProblem("unsupported_grant_type", "invalid_request_payload", `grant_type must be ${GRANT_TYPE}`), headers);
  const scopes = requestedScopes(scope, credential);
  if (scopes instanceof Problem) throw withHeaders(scopes, headers);
  const { accountId, keyId, environment } = credential;
  const issued = await parts.tokens.issue({ accountId, keyId, environment, scopes, keyExpiresAt: row.expires_at });
  if (issued === undefined) throw withHeaders(unknownClient(), headers);
  const body = { access_token: issued.token, token_type: "Bearer", expires_in: issued.expiresInSeconds, scope: scopes.join(" ") };
  // RFC 6749 §5.1. Every response of the API has `cache-control: no-store` already.
  return { body: JSON.stringify(body), headers: { ...headers, pragma: "no-cache" } };
}

async function findClient({ authenticator }: GrantParts, { id, secret }: Client): Promise<CredentialRow> {
  const row = await authenticator.findKey(secret);
  if (row === undefined || encodeId("key", row.key_id) !== id) throw unknownClient();
  authenticator.touch(row);
  return row;
}

async function charge({ limiter, metrics }: GrantParts, credential: Credential): Promise<Record<string, string>> {
  const decision = await limiter.take(credential);
  if (decision === undefined) return {};
  const headers = quotaHeaders(credential, decision);
  if (decision.isAdmitted) return headers;
  metrics.refusedByQuota();
  throw withHeaders(overQuota(credential, decision), headers);
}

const unknownClient = (): Problem =>
  oauthProblem(
    "invalid_client",
    "unauthorized_invalid_token",
    "the key is unknown, expired or revoked, or the id is another key's: use an API key of this installation with its own id",
    CHALLENGE,
  );

const withHeaders = (problem: Problem, headers: Record<string, string>): Problem =>
  new Problem(problem.code, {
    detail: problem.detail,
    ...(problem.errors === undefined ? {} : { errors: problem.errors }),
    members: problem.members,
    headers: { ...problem.headers, ...headers },
  });

/** The requested scopes, or by default all scopes of the key. An empty list is refused: a client that computes one must not get all scopes. */
function requestedScopes(text: string | undefined, { scopes }: Credential): Scope[] | Problem {
  if (text === undefined) return [...scopes];
  const words = [...new Set(text.split(" ").filter((word) => word !== ""))];
  const missing = words.filter((word) => !isScope(word) || !scopes.has(word));
  if (words.length > 0 && missing.length === 0) return words.filter((word) => isScope(word));
  // The response repeats only words that have the form of a scope.
  const named = missing.filter((word) => /^[\w:.-]{1,64}$/.test(word)).slice(0, MAX_NAMED);
  const detail = named.length === 0 ? "must be scopes of the key, separated by spaces" : `the key does not have ${named.join(", ")}`;
  return oauthProblem("invalid_scope", "invalid_request_payload", `scope: ${detail}`, {
    errors: [{ pointer: "/scope", code: "invalid_scope", detail }],
  });
}

const MAX_NAMED = 20;

/** The error codes of RFC 6749 for the errors of every route. */
const ERROR_CODES: Readonly<Record<number, string>> = {
  429: "temporarily_unavailable",
  500: "server_error",
  503: "temporarily_unavailable",
};

/** Writes a problem in the form of RFC 6749 §5.2, with the members of the problem beside those of the RFC. */
export function writeOAuthProblem(problem: Problem, origin: string, requestId: string): string {
  const { error = ERROR_CODES[problem.status] ?? "invalid_request", ...members } = JSON.parse(problem.toBody(origin, requestId)) as Record<
    string,
    unknown
  >;
  return JSON.stringify({ error, error_description: members["detail"], ...members });
}
