/** The value of `Authorization: Bearer`: an API key, an access token from the caller, or an access token fetched with a key. */
import type { Answer } from "./answer.ts";

/** Set exactly one of the three. */
export type CredentialOptions = {
  /** An API key, `gw_test_…` or `gw_live_…`. Do not use it in a browser: every visitor could read it and use all its scopes. */
  apiKey?: string | undefined;
  /** An access token, or a function that returns one. The function is called before every request, and again after a 401 with the
   *  token that was refused. */
  accessToken?: string | TokenSource | undefined;
  /** The id and the secret of an API key. The client exchanges them for access tokens, which are valid for one hour (RFC 6749, section
   *  4.4). */
  clientCredentials?: ClientCredentials | undefined;
};

/** Returns an access token. After a 401, `refused` is the token that the service did not accept; return a new one. */
export type TokenSource = (refused?: string) => string | Promise<string>;
/** The id and the secret of an API key. `scopes` limits the tokens to some of the key's scopes. */
export type ClientCredentials = { clientId: string; clientSecret: string; scopes?: readonly string[] | undefined };

/** Returns a token. With a refused token, returns a new one if possible. */
export type Credential = (refused?: string) => Promise<string>;

export type TokenRequest = { headers: Readonly<Record<string, string>>; body: string };
export type TokenAnswer = { access_token: string; expires_in?: number };
type FetchToken = (request: TokenRequest) => Promise<Answer<TokenAnswer>>;

// A token is replaced this long before its expiry, so that it does not expire while a request is on its way.
const MARGIN_MS = 60_000;
const DEFAULT_SECONDS = 300;

export function toCredential(options: CredentialOptions, fetchToken: FetchToken): Credential {
  const { apiKey, accessToken, clientCredentials } = options;
  if ([apiKey, accessToken, clientCredentials].filter((given) => given !== undefined).length !== 1)
    throw new TypeError("give exactly one of apiKey, accessToken and clientCredentials");
  if (clientCredentials !== undefined) return exchangeForTokens(clientCredentials, fetchToken);
  const given = apiKey ?? accessToken;
  if (typeof given === "function") return async (refused) => checkToken(await given(refused));
  const token = checkToken(given);
  return async () => token;
}

/** Refuses a token with spaces or line breaks, such as one read from a file. fetch would fail with a misleading network error. */
function checkToken(token: unknown): string {
  if (typeof token === "string" && /^[\x21-\x7e]+$/.test(token)) return token;
  throw new TypeError("a credential is a text of visible ASCII characters, without spaces or line breaks");
}

/** Shares one token among all calls. Calls that wait for a new token share one token request. */
function exchangeForTokens({ clientId, clientSecret, scopes }: ClientCredentials, fetchToken: FetchToken): Credential {
  const basic = btoa(`${encodeURIComponent(checkToken(clientId))}:${encodeURIComponent(checkToken(clientSecret))}`);
  const request: TokenRequest = {
    headers: { authorization: `Basic ${basic}`, "content-type": "application/x-www-form-urlencoded" },
    body: new URLSearchParams({
      grant_type: "client_credentials",
      ...(scopes === undefined ? {} : { scope: scopes.join(" ") }),
    }).toString(),
  };
  let current: { token: string; until: number } | undefined;
  let fetching: Promise<string> | undefined;
  const fetchNew = async (): Promise<string> => {
    const { data } = await fetchToken(request);
    const token = checkToken(data.access_token);
    const lifeMs = (data.expires_in ?? DEFAULT_SECONDS) * 1_000;
    current = { token, until: performance.now() + Math.max(lifeMs - MARGIN_MS, lifeMs / 2) };
    return token;
  };
  return async (refused) => {
    if (current !== undefined && current.token !== refused && performance.now() < current.until) return current.token;
    fetching ??= fetchNew().finally(() => (fetching = undefined));
    return fetching;
  };
}
