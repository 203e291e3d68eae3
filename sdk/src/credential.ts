/** The value of `Authorization: Bearer`: an API key, an access token from the caller, or an access token fetched with a key. */
import { hasEnvironment, readVariable } from "./environment.ts";
import { checkOptions, type OptionNames } from "./option-names.ts";
import type { ApiResponse } from "./response.ts";

/** Set one of the three. Without any, the environment variable GODWIT_KEY is the API key. */
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

const CLIENT_CREDENTIALS: OptionNames<ClientCredentials> = { clientId: true, clientSecret: true, scopes: true };

/** Returns a token. With a refused token, returns a new one if possible. */
export type Credential = (refused?: string) => Promise<string>;

export type TokenRequest = { headers: Readonly<Record<string, string>>; body: string };
export type TokenResponse = { access_token: string; expires_in?: number };
type FetchToken = (request: TokenRequest) => Promise<ApiResponse<TokenResponse>>;

// A token is replaced this long before its expiry, so that it does not expire while a request is on its way.
const MARGIN_MS = 60_000;
const DEFAULT_SECONDS = 300;

export function toCredential(options: CredentialOptions, fetchToken: FetchToken): Credential {
  const { apiKey, accessToken, clientCredentials } = options;
  const given = Object.entries({ apiKey, accessToken, clientCredentials }).filter(([, value]) => value !== undefined);
  if (given.length > 1) throw new TypeError(`set only one of the options ${given.map(([name]) => name).join(" and ")}`);
  if (clientCredentials !== undefined) return exchangeForTokens(clientCredentials, fetchToken);
  if (typeof accessToken === "function") return async (refused) => checkToken("the result of accessToken", await accessToken(refused));
  const [name, value] = given[0] ?? ["the environment variable GODWIT_KEY", readVariable("GODWIT_KEY")];
  if (value === undefined) throw new TypeError(missingCredential());
  const token = checkToken(name, value);
  if (name !== "accessToken") checkKeyForm(name, token);
  return async () => token;
}

const missingCredential = (): string =>
  hasEnvironment()
    ? 'there is no API key: set the environment variable GODWIT_KEY, or pass apiKey, such as new Godwit({ apiKey: "gw_test_…" })'
    : 'there is no credential: pass accessToken, such as new Godwit({ accessToken, baseUrl: "/" })';

/** Refuses a token with spaces or line breaks, such as one read from a file. fetch would fail with a misleading network error. The error
 *  does not contain the value, because it is a secret. */
function checkToken(name: string, token: unknown): string {
  if (typeof token === "string" && /^[\x21-\x7e]+$/.test(token)) return token;
  const fault =
    token === ""
      ? "is empty"
      : typeof token === "string"
        ? "contains a space, a line break or a character outside ASCII"
        : "is not a string";
  throw new TypeError(`${name} ${fault}: it must be a credential, such as "gw_test_…"`);
}

/** Refuses a text that no service can have created as an API key, such as the id of a key, or a key of another product. The rest of a key is not
 *  checked: a later version of the service may create longer keys. */
function checkKeyForm(name: string, key: string): void {
  if (!/^gw_(?:test|live)_\w+$/.test(key))
    throw new TypeError(`${name} is not an API key, which begins with gw_test_ or gw_live_; an access token is passed as accessToken`);
}

/** Shares one token among all calls. Calls that wait for a new token share one token request. */
function exchangeForTokens(credentials: ClientCredentials, fetchToken: FetchToken): Credential {
  checkOptions(credentials, CLIENT_CREDENTIALS, "clientCredentials");
  const { clientId, clientSecret, scopes } = credentials;
  const basic = btoa(
    `${encodeURIComponent(checkToken("clientId", clientId))}:${encodeURIComponent(checkToken("clientSecret", clientSecret))}`,
  );
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
    const token = checkToken("access_token of the response", data.access_token);
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
