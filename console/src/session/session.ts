/** The sessions of the signed-in user, one for each API key. The keys stay in memory. A reload continues with the access tokens, which the
 *  tab keeps for at most one hour. */
import { ApiError, ConnectionError, Godwit, type Media } from "godwit-sdk";
import { toApiError } from "./api-error.ts";
import { uploadFile, type Upload } from "./upload-file.ts";

export type Scope = string;

export type Identity = {
  keyId: string;
  accountId: string;
  environment: string;
  name: string | null;
  scopes: readonly Scope[];
};

type TokenGrant = { token: string; endsAtMs: number; identity: Identity };
export type EndReason = "signed-out" | "ended";
export type OnEnd = (reason: EndReason, session: Session) => void;

const STORED = "godwit:session";
// A token is replaced this long before its expiry, so that it does not expire while a request is on its way.
const MARGIN_MS = 30_000;
const TOKEN_TIMEOUT_MS = 30_000;

export class Session {
  readonly identity: Identity;
  readonly api: Godwit;
  #grant: TokenGrant;
  /** The API key that creates the next token. Kept only in memory. */
  #key: string | undefined;
  readonly #onEnd: OnEnd;
  #renewing: Promise<string> | undefined;
  #isEnded = false;
  readonly #ending: number;

  constructor(grant: TokenGrant, key: string | undefined, onEnd: OnEnd) {
    this.identity = grant.identity;
    this.#grant = grant;
    this.#key = key;
    this.#onEnd = onEnd;
    this.api = new Godwit({ baseUrl: location.origin, accessToken: (refused) => this.#token(refused) });
    // Without a key the session ends with its token. A timer ends it then, not the next click.
    this.#ending = key === undefined ? window.setTimeout(() => this.end("ended"), Math.max(0, grant.endsAtMs - Date.now())) : 0;
  }

  /** Makes this session the one that a reload continues with. */
  putFirst(): void {
    forget(this.#grant);
    storeFirst(this.#grant);
  }

  /** Uploads a file with its progress. */
  upload(file: File, upload: Upload): Promise<Media> {
    return uploadFile((refused) => this.#token(refused), file, upload);
  }

  may(scope: Scope): boolean {
    return this.identity.scopes.includes(scope);
  }

  end(reason: EndReason): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#key = undefined;
    clearTimeout(this.#ending);
    forget(this.#grant);
    this.#onEnd(reason, this);
  }

  async #token(refused: string | undefined): Promise<string> {
    const { token, endsAtMs } = this.#grant;
    const isValid = token !== refused && Date.now() < endsAtMs - MARGIN_MS;
    if (isValid) return token;
    if (this.#key === undefined) {
      if (refused !== undefined) this.end("ended");
      return token;
    }
    this.#renewing ??= this.#renew(this.#key).finally(() => (this.#renewing = undefined));
    return this.#renewing;
  }

  async #renew(key: string): Promise<string> {
    try {
      const grant = await exchange(key);
      // A sign-out during the request must stay in effect.
      if (this.#isEnded) return grant.token;
      replace(this.#grant, grant);
      this.#grant = grant;
    } catch (error) {
      // A 401 means that the key was revoked or has expired. Other errors may be temporary.
      if (!(error instanceof ApiError) || error.status !== 401) throw error;
      this.end("ended");
    }
    return this.#grant.token;
  }
}

/** Exchanges the key for a session. Throws the error of the service. */
export async function signIn(key: string, onEnd: OnEnd): Promise<Session> {
  const grant = await exchange(key);
  storeFirst(grant);
  return new Session(grant, key, onEnd);
}

/** Returns the sessions of this tab from before the reload whose tokens are still valid. `current` is undefined if its token is not: the
 *  console must not continue in another environment without a word. */
export function resume(onEnd: OnEnd): { sessions: readonly Session[]; current: Session | undefined } {
  const grants = readStored();
  const sessions = grants.filter(({ endsAtMs }) => endsAtMs > Date.now()).map((grant) => new Session(grant, undefined, onEnd));
  return { sessions, current: sessions.find(({ identity }) => identity.keyId === grants[0]?.identity.keyId) };
}

/** Exchanges the key for a token. Identifies the key first: for an unknown client the token endpoint responds with a challenge, for which
 *  browsers would show a password prompt. */
async function exchange(key: string): Promise<TokenGrant> {
  const identity = await identify(key);
  return { ...(await createToken(identity.keyId, key)), identity };
}

async function identify(key: string): Promise<Identity> {
  const found = await new Godwit({ baseUrl: location.origin, apiKey: key, maxRetries: 1 }).credential.get();
  const { key_id: keyId, account_id: accountId, environment, name, scopes } = found;
  return { keyId, accountId, environment, name, scopes };
}

/** Whether the text has the form of an API key. A text of another form is not sent. */
export const isKeyFormed = (text: string): boolean => /^gw_(test|live)_\w{20,}$/.test(text);
export const KEY_FORM = "A key looks like gw_test_… or gw_live_…";

/** A key that the user typed again, and that does not fit the session. */
export class MismatchedKey extends Error {
  override readonly name = "MismatchedKey";
}

/** Returns a client that uses the API key itself, and not an access token: a token can create only keys that expire with it. Throws if the
 *  key is not valid, or not of the account and the environment of the session. */
export async function confirmKey(key: string, { accountId, environment }: Identity): Promise<Godwit> {
  if (!isKeyFormed(key)) throw new MismatchedKey(`${KEY_FORM}.`);
  const found = await identify(key);
  if (found.accountId !== accountId) throw new MismatchedKey("This key belongs to another account than the session.");
  if (found.environment !== environment)
    throw new MismatchedKey(`This key belongs to ${found.environment}, and you are signed in to ${environment}.`);
  return new Godwit({ baseUrl: location.origin, apiKey: key });
}

async function createToken(keyId: string, key: string): Promise<{ token: string; endsAtMs: number }> {
  const { response, body } = await post("/v1/oauth/token", { grant_type: "client_credentials", client_id: keyId, client_secret: key });
  if (response.ok) return { token: body.access_token, endsAtMs: Date.now() + body.expires_in * 1_000 };
  throw toApiError(response, body);
}

type TokenResponse = { access_token: string; expires_in: number } & Parameters<typeof toApiError>[1];

/** Posts a form. A response that does not come from the service counts as a lost connection, which may be temporary. */
async function post(path: string, form: Record<string, string>): Promise<{ response: Response; body: TokenResponse }> {
  try {
    const response = await fetch(path, { method: "POST", body: new URLSearchParams(form), signal: AbortSignal.timeout(TOKEN_TIMEOUT_MS) });
    return { response, body: (await response.json()) as TokenResponse };
  } catch (error) {
    throw new ConnectionError("no access token could be had", { cause: error });
  }
}

/** The first one is that of the shown session. */
function write(grants: readonly TokenGrant[]): void {
  if (grants.length === 0) sessionStorage.removeItem(STORED);
  else sessionStorage.setItem(STORED, JSON.stringify(grants));
}

const storeFirst = (grant: TokenGrant): void => write([grant, ...readStored()]);
const forget = ({ token }: TokenGrant): void => write(readStored().filter((other) => other.token !== token));
const replace = (before: TokenGrant, after: TokenGrant): void =>
  write(readStored().map((other) => (other.token === before.token ? after : other)));

/** Reads the stored sessions. Drops what another version of the console has stored in a different form. */
function readStored(): TokenGrant[] {
  try {
    const grants: unknown = JSON.parse(sessionStorage.getItem(STORED) ?? "[]");
    return Array.isArray(grants) ? grants.filter(isComplete) : [];
  } catch {
    return [];
  }
}

function isComplete(value: unknown): value is TokenGrant {
  const { token, endsAtMs, identity } = value as TokenGrant;
  return (
    typeof token === "string" && typeof endsAtMs === "number" && typeof identity.accountId === "string" && Array.isArray(identity.scopes)
  );
}
