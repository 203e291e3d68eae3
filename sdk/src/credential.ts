/** What stands behind `Authorization: Bearer`: a key, a token of the caller's making, or one that is fetched for a key. */
import type { Answer } from "./answer.ts";

/** Exactly one of the three. */
export type CredentialOptions = {
  /** `gw_test_…` or `gw_live_…`. Not for browsers: whoever has it can do all it can. */
  apiKey?: string | undefined;
  /** A token, or what gives one. It is asked before every request, and once more, with the token that was refused, after a 401. */
  accessToken?: string | TokenSource | undefined;
  /** An API key's id and secret, which are exchanged for tokens of an hour (RFC 6749, section 4.4). */
  clientCredentials?: ClientCredentials | undefined;
};

export type TokenSource = (refused?: string) => string | Promise<string>;
export type ClientCredentials = { clientId: string; clientSecret: string; scopes?: readonly string[] | undefined };

/** Gives a token; told of one that was refused, another, if there is one. */
export type Credential = (refused?: string) => Promise<string>;

export type TokenRequest = { headers: Readonly<Record<string, string>>; body: string };
export type TokenAnswer = { access_token: string; expires_in?: number };
type FetchToken = (request: TokenRequest) => Promise<Answer<TokenAnswer>>;

// A token that ends while a request is on its way is as good as ended.
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

/** A line break at the end of what a file or a variable held is found here, and not as a failure of the network. */
function checkToken(token: unknown): string {
  if (typeof token === "string" && /^[\x21-\x7e]+$/.test(token)) return token;
  throw new TypeError("a credential is a text of visible ASCII characters, without spaces or line breaks");
}

/** One token for all calls, and one request for it, however many wait. */
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
