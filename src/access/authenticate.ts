/** `Authorization: Bearer …` → the credential behind it: an API key, or an access token that one has bought. */
import { Problem } from "../http/problem.ts";
import { idKey, type AccountId, type KeyId } from "../lib/id.ts";
import { uuidToText } from "../lib/uuid.ts";
import type { Database } from "../storage/database.ts";
import { hashApiKey, isApiKey } from "./api-key.ts";
import { findCredential, findCredentialOf, touchKey, type CredentialRow } from "./queries.ts";
import type { Tier } from "./quota.ts";
import type { Scope } from "./scope.ts";
import type { Environment } from "../storage/owner.ts";

export type Credential = {
  accountId: AccountId;
  keyId: KeyId;
  environment: Environment;
  /** Account and environment as one text: what quota and idempotency are kept by. */
  environmentKey: string;
  scopes: ReadonlySet<Scope>;
  tier: Tier;
  /** When the access token ends, by itself; null for an API key. */
  tokenEndsAtMs: number | null;
};

/** The content of an access token with a valid signature that has not expired. Whether its key is still active is checked separately. */
export type TokenClaims = { accountId: AccountId; keyId: KeyId; scopes: readonly Scope[]; expiresAtMs: number };

/** Undefined for a token that this installation has not issued, and for an expired one. */
export type ReadToken = (token: string) => Promise<TokenClaims | undefined>;

// A revoked key must be refused "within a second or so" on every node, so no answer is trusted for longer than that.
const TRUST_MS = 1_000;
// Unknown keys are remembered as well, or a client with a bad key would ask the database each time.
const MAX_REMEMBERED = 10_000;
const TOUCH_EVERY_MS = 60_000;

type Remembered = { credential: Credential | undefined; until: number };

export class Authenticator {
  readonly #db: Database;
  /** By the token itself: hashing it for each request would cost more than all else that is done to admit one. */
  readonly #remembered = new Map<string, Remembered>();
  readonly #asking = new Map<string, Promise<Credential | undefined>>();
  readonly #touchedAt = new Map<string, number>();
  readonly #readToken: ReadToken;
  readonly #now: () => number;

  /** `now` is the database's time, by which tokens end. */
  constructor(db: Database, readToken: ReadToken = async () => undefined, now: () => number = Date.now) {
    this.#db = db;
    this.#readToken = readToken;
    this.#now = now;
  }

  /** Throws a 401 problem unless the header holds a living credential. Without waiting while the answer is fresh. */
  authenticate(header: string | undefined): Credential | Promise<Credential> {
    const token = bearerToken(header);
    const known = this.#remembered.get(token);
    if (known !== undefined && performance.now() < known.until) return known.credential ?? refuse();
    if (!isApiKey(token) && !looksLikeToken(token)) throw invalidToken();
    return this.#lookUp(token);
  }

  /** A key was revoked here: what is remembered of it counts no more. */
  forget(): void {
    this.#remembered.clear();
  }

  async #lookUp(token: string): Promise<Credential> {
    // Requests that come together ask once.
    let asking = this.#asking.get(token);
    if (asking === undefined) {
      asking = this.#remember(token).finally(() => this.#asking.delete(token));
      this.#asking.set(token, asking);
    }
    return (await asking) ?? refuse();
  }

  async #remember(token: string): Promise<Credential | undefined> {
    const askedAt = performance.now();
    if (isApiKey(token)) return this.#keep(token, await this.#ask(hashApiKey(token)), askedAt + TRUST_MS);
    const claims = await this.#readToken(token);
    // Not remembered: nobody knows how many can be made up.
    if (claims === undefined) return undefined;
    const [row] = await findCredentialOf(this.#db, claims.accountId, claims.keyId);
    const credential = row && this.#found(row, claims);
    return this.#keep(token, credential, askedAt + Math.min(TRUST_MS, claims.expiresAtMs - this.#now()));
  }

  #keep(token: string, credential: Credential | undefined, until: number): Credential | undefined {
    if (this.#remembered.size >= MAX_REMEMBERED) this.#remembered.clear();
    this.#remembered.set(token, { credential, until });
    return credential;
  }

  async #ask(hash: Buffer): Promise<Credential | undefined> {
    const [row] = await findCredential(this.#db, hash);
    return row && this.#found(row);
  }

  #found(row: CredentialRow, token?: TokenClaims): Credential {
    this.touch(row);
    return toCredential(row, token);
  }

  /** `last_used_at` is for people: once a minute is exact enough, and a failure costs nothing. */
  touch({ account_id: accountId, key_id: keyId }: Pick<CredentialRow, "account_id" | "key_id">): void {
    const name = idKey(keyId);
    const now = performance.now();
    if (now - (this.#touchedAt.get(name) ?? -TOUCH_EVERY_MS) < TOUCH_EVERY_MS) return;
    if (this.#touchedAt.size >= MAX_REMEMBERED) this.#touchedAt.clear();
    this.#touchedAt.set(name, now);
    void touchKey(this.#db, accountId, keyId).catch(() => this.#touchedAt.delete(name));
  }
}

/** The key itself, or a token that it bought, which has no more than its key. */
export function toCredential(row: CredentialRow, token?: TokenClaims): Credential {
  const limit =
    row.requests_per_second === null || row.burst === null ? null : { requestsPerSecond: row.requests_per_second, burst: row.burst };
  return {
    accountId: row.account_id,
    keyId: row.key_id,
    environment: row.environment,
    environmentKey: `${uuidToText(row.account_id)}/${row.environment}`,
    scopes: new Set(token === undefined ? row.scopes : token.scopes.filter((scope) => row.scopes.includes(scope))),
    tier: { name: row.tier, limit },
    tokenEndsAtMs: token?.expiresAtMs ?? null,
  };
}

// Tokens of this installation have about five hundred characters.
const MAX_TOKEN_LENGTH = 2_048;

/** Whether the text has the form of a JWT: three parts of base64url. */
const looksLikeToken = (text: string): boolean => text.length <= MAX_TOKEN_LENGTH && /^[\w-]+\.[\w-]+\.[\w-]+$/.test(text);

const CHALLENGE = 'Bearer realm="godwit"';

function bearerToken(header: string | undefined): string {
  // RFC 6750: the scheme in any case, one space, then token68 characters.
  const match = header === undefined ? null : /^Bearer +([A-Za-z0-9\-._~+/]+=*)$/i.exec(header);
  if (match?.[1] !== undefined) return match[1];
  throw new Problem("unauthorized_missing_token", {
    detail:
      header === undefined
        ? "send Authorization: Bearer <api key or access token>"
        : "the Authorization header must be: Bearer <api key or access token>",
    headers: { "www-authenticate": CHALLENGE },
  });
}

function refuse(): never {
  throw invalidToken();
}

export const invalidToken = (): Problem =>
  new Problem("unauthorized_invalid_token", {
    detail: "the credential is unknown, expired or revoked",
    headers: { "www-authenticate": `${CHALLENGE}, error="invalid_token"` },
  });

export function requireScope(credential: Credential, scope: Scope): void {
  if (credential.scopes.has(scope)) return;
  throw new Problem("forbidden_insufficient_scope", {
    detail: `this credential lacks the scope ${scope}`,
    members: { required_scopes: [scope] },
    headers: { "www-authenticate": `${CHALLENGE}, error="insufficient_scope", scope="${scope}"` },
  });
}
