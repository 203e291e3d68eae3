/** Who is signed in. The API key stays in memory; a reload goes on with the access token that it bought, which the tab keeps for an hour
 *  at most. */
import { ApiError, ConnectionError, Godwit } from "godwit-sdk";

export type Scope = string;

export type Identity = {
  keyId: string;
  environment: string;
  name: string | null;
  scopes: readonly Scope[];
};

type Held = { token: string; endsAtMs: number; identity: Identity };
export type EndReason = "signed-out" | "ended";

const STORED = "godwit:session";
// A token that ends while a request is on its way is of no use.
const MARGIN_MS = 30_000;
const ANSWER_MS = 30_000;

export class Session {
  readonly identity: Identity;
  readonly api: Godwit;
  #held: Held;
  /** In memory alone: with it the next token is bought. */
  #key: string | undefined;
  readonly #onEnd: (reason: EndReason) => void;
  #renewing: Promise<string> | undefined;
  #isOver = false;
  readonly #ending: number;

  constructor(held: Held, key: string | undefined, onEnd: (reason: EndReason) => void) {
    this.identity = held.identity;
    this.#held = held;
    this.#key = key;
    this.#onEnd = onEnd;
    this.api = new Godwit({ baseUrl: location.origin, accessToken: (refused) => this.#token(refused) });
    // Without a key nothing follows this token: the end is told when it comes, not at the next click.
    this.#ending = key === undefined ? window.setTimeout(() => this.end("ended"), Math.max(0, held.endsAtMs - Date.now())) : 0;
  }

  may(scope: Scope): boolean {
    return this.identity.scopes.includes(scope);
  }

  end(reason: EndReason): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#key = undefined;
    clearTimeout(this.#ending);
    sessionStorage.removeItem(STORED);
    this.#onEnd(reason);
  }

  async #token(refused: string | undefined): Promise<string> {
    const { token, endsAtMs } = this.#held;
    const isGood = token !== refused && Date.now() < endsAtMs - MARGIN_MS;
    if (isGood) return token;
    if (this.#key === undefined) {
      if (refused !== undefined) this.end("ended");
      return token;
    }
    this.#renewing ??= this.#renew(this.#key).finally(() => (this.#renewing = undefined));
    return this.#renewing;
  }

  async #renew(key: string): Promise<string> {
    try {
      const held = await exchange(key);
      // Who has signed out meanwhile is not signed in again by it.
      if (this.#isOver) return held.token;
      this.#held = held;
      store(held);
    } catch (error) {
      // The key was revoked or has expired. What else went wrong may pass.
      if (!(error instanceof ApiError) || error.status !== 401) throw error;
      this.end("ended");
    }
    return this.#held.token;
  }
}

/** Exchanges the key. Throws what the service says against it. */
export async function signIn(key: string, onEnd: (reason: EndReason) => void): Promise<Session> {
  const held = await exchange(key);
  store(held);
  return new Session(held, key, onEnd);
}

/** The session of this tab before the page was loaded again, if it still lasts. */
export function resume(onEnd: (reason: EndReason) => void): Session | undefined {
  const held = readStored();
  if (held === undefined || held.endsAtMs <= Date.now()) return undefined;
  return new Session(held, undefined, onEnd);
}

/** The key itself is asked about first: to a client that it does not know, the token's route answers with a challenge at which browsers
 *  would ask for a name and a password. */
async function exchange(key: string): Promise<Held> {
  const identity = await identify(key);
  return { ...(await buyToken(identity.keyId, key)), identity };
}

async function identify(key: string): Promise<Identity> {
  const found = await new Godwit({ baseUrl: location.origin, apiKey: key, maxRetries: 1 }).credential.get();
  return { keyId: found.key_id, environment: found.environment, name: found.name, scopes: found.scopes };
}

async function buyToken(keyId: string, key: string): Promise<{ token: string; endsAtMs: number }> {
  const { response, answer } = await post("/v1/oauth/token", { grant_type: "client_credentials", client_id: keyId, client_secret: key });
  if (response.ok) return { token: answer.access_token, endsAtMs: Date.now() + answer.expires_in * 1_000 };
  const { headers, status } = response;
  const fields = { code: answer.code, title: answer.title, detail: answer.detail, requestId: headers.get("x-request-id") };
  throw new ApiError({ ...fields, status, errors: [], requiredScopes: [], retryAfterSeconds: null, headers });
}

type TokenAnswer = { access_token: string; expires_in: number; code: string; title: string; detail: string };

/** What is no answer of the service's is a lost connection: it may pass. */
async function post(path: string, form: Record<string, string>): Promise<{ response: Response; answer: TokenAnswer }> {
  try {
    const response = await fetch(path, { method: "POST", body: new URLSearchParams(form), signal: AbortSignal.timeout(ANSWER_MS) });
    return { response, answer: (await response.json()) as TokenAnswer };
  } catch (error) {
    throw new ConnectionError("no access token could be had", { cause: error });
  }
}

const store = (held: Held): void => sessionStorage.setItem(STORED, JSON.stringify(held));

/** Undefined for what another version of the console may have left there. */
function readStored(): Held | undefined {
  try {
    const held = JSON.parse(sessionStorage.getItem(STORED) ?? "null") as Held;
    const isWhole = typeof held.token === "string" && typeof held.endsAtMs === "number" && Array.isArray(held.identity.scopes);
    return isWhole ? held : undefined;
  } catch {
    return undefined;
  }
}
