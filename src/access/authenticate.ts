/** Authenticates `Authorization: Bearer …`: finds the credential of an API key or of an access token. */
import { Problem } from "../http/problem.ts";
import { addressSet, parseCidr, type AddressSet } from "../lib/addresses.ts";
import { BoundedMap } from "../lib/bounded-map.ts";
import { idKey, type AccountId, type KeyId } from "../model/id.ts";
import { uuidToText } from "../lib/uuid.ts";
import type { Database } from "../database/database.ts";
import type { Environment } from "../model/owner.ts";
import { hashApiKey, hasKeyForm, type RecognizeKey } from "./api-key.ts";
import { CredentialCache, type Lookup } from "./credential-cache.ts";
import { findCredential, findCredentialOf, touchKey, type CredentialRow } from "./queries.ts";
import type { Tier } from "./quota.ts";
import type { Scope } from "./scope.ts";

export type Credential = {
  accountId: AccountId;
  keyId: KeyId;
  keyName: string | null;
  environment: Environment;
  /** Account and environment as one text, by which quota and idempotency keys are separated. */
  environmentKey: string;
  scopes: ReadonlySet<Scope>;
  tier: Tier;
  /** The expiry of the access token itself; null for an API key. */
  tokenExpiresAtMs: number | null;
  /** The expiry of the key, or of its access token if that is earlier. Null: never. */
  expiresAtMs: number | null;
  /** The addresses from which the key may be used, and the CIDR blocks that they were given as. Null: any address. */
  allowedIps: { blocks: readonly string[]; set: AddressSet } | null;
};

/** The content of an access token with a valid signature that has not expired. Whether its key is still active is checked separately. */
export type TokenClaims = { accountId: AccountId; keyId: KeyId; scopes: readonly Scope[]; expiresAtMs: number };

/** Undefined for a token that this installation has not issued, and for an expired one. */
export type ReadToken = (token: string) => Promise<TokenClaims | undefined>;

const TOUCH_EVERY_MS = 60_000;
const MAX_TOUCHED = 10_000;

export type AuthenticatorParts = {
  db: Database;
  /** The connections for credentials that this process has not seen before. */
  strangersDb: Database;
  recognizes: RecognizeKey;
  readToken: ReadToken;
  /** The time of the database, by which tokens expire. */
  now: () => number;
};

export class Authenticator {
  readonly #parts: AuthenticatorParts;
  readonly #cache = new CredentialCache<undefined, Credential>((token) => this.#lookUp(token));
  readonly #touchedAt = new BoundedMap<string, number>(MAX_TOUCHED);

  constructor(parts: AuthenticatorParts) {
    this.#parts = parts;
  }

  /** Returns the credential of the header, or throws a 401 problem. Returns without a promise while the cached result is fresh. */
  authenticate(header: string | undefined): Credential | Promise<Credential> {
    const token = bearerToken(header);
    const cached = this.#cache.fresh(token, undefined);
    if (cached !== undefined) return cached;
    if (this.#cache.isRefused(token)) throw invalidToken();
    if (looksLikeToken(token) || this.#parts.recognizes(token)) return this.#find(token);
    throw hasKeyForm(token) ? invalidToken() : invalidToken(NEITHER_FORM);
  }

  lastEnvironmentOf(header: string | undefined): string | undefined {
    return this.#cache.lastEnvironmentOf(bearerToken(header));
  }

  forget(): void {
    this.#cache.forget();
  }

  /** The active key with this secret. Returns undefined for a made-up key without a query. */
  async findKey(secret: string): Promise<CredentialRow | undefined> {
    if (!this.#parts.recognizes(secret)) return undefined;
    const [row] = await findCredential(this.#databaseFor(secret), hashApiKey(secret));
    return row;
  }

  async #find(token: string): Promise<Credential> {
    return (await this.#cache.find(token, undefined)) ?? refuse();
  }

  async #lookUp(token: string): Promise<Lookup<Credential>> {
    const db = this.#databaseFor(token);
    if (!looksLikeToken(token)) {
      const [row] = await findCredential(db, hashApiKey(token));
      return { credential: row && this.#found(row) };
    }
    const claims = await this.#parts.readToken(token);
    if (claims === undefined) return { isUnissued: true };
    const [row] = await findCredentialOf(db, claims.accountId, claims.keyId);
    return { credential: row && this.#found(row, claims), trustMs: claims.expiresAtMs - this.#parts.now() };
  }

  /** Credentials that this process has seen before do not wait behind those of strangers. */
  #databaseFor(token: string): Database {
    return this.#cache.has(token) ? this.#parts.db : this.#parts.strangersDb;
  }

  #found(row: CredentialRow, token?: TokenClaims): Credential {
    this.touch(row);
    return toCredential(row, token);
  }

  /** Updates `last_used_at` at most once a minute, which is exact enough for people. A failure has no consequence. */
  touch({ account_id: accountId, key_id: keyId }: Pick<CredentialRow, "account_id" | "key_id">): void {
    const name = idKey(keyId);
    const now = performance.now();
    if (now - (this.#touchedAt.get(name) ?? -TOUCH_EVERY_MS) < TOUCH_EVERY_MS) return;
    this.#touchedAt.renew(name, now);
    void touchKey(this.#parts.db, accountId, keyId).catch(() => this.#touchedAt.delete(name));
  }
}

/** The credential of a key, or of a token, which has at most the scopes of its key. */
export function toCredential(row: CredentialRow, token?: TokenClaims): Credential {
  const limit =
    row.requests_per_second === null || row.burst === null ? null : { requestsPerSecond: row.requests_per_second, burst: row.burst };
  return {
    accountId: row.account_id,
    keyId: row.key_id,
    keyName: row.name,
    environment: row.environment,
    environmentKey: `${uuidToText(row.account_id)}/${row.environment}`,
    scopes: new Set(token === undefined ? row.scopes : token.scopes.filter((scope) => row.scopes.includes(scope))),
    tier: { name: row.tier, limit },
    tokenExpiresAtMs: token?.expiresAtMs ?? null,
    expiresAtMs: earliest(token?.expiresAtMs, row.expires_at?.getTime()),
    allowedIps: row.allowed_ips && { blocks: row.allowed_ips, set: addressSet(row.allowed_ips.flatMap((text) => parseCidr(text) ?? [])) },
  };
}

const earliest = (one = Infinity, other = Infinity): number | null => (Math.min(one, other) === Infinity ? null : Math.min(one, other));

/** Throws unless the key may be used from this address. */
export function requireAddress({ allowedIps }: Credential, address: string): void {
  if (allowedIps === null || allowedIps.set.has(address)) return;
  const detail = `this key cannot be used from ${address}`;
  throw new Problem("forbidden_address", { detail, headers: { "www-authenticate": CHALLENGE } });
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

// A key that was cut, or a text from another field, is the usual cause.
const NEITHER_FORM =
  "the credential has neither the form of an API key (gw_test_ or gw_live_, then 40 letters and digits) nor that of an access token; check that it was copied completely";

// One text for all, so that it does not reveal which keys exist.
const UNKNOWN =
  "the credential is unknown, expired or revoked: use an API key of this installation; the command godwit keys create makes one";

export const invalidToken = (detail = UNKNOWN): Problem =>
  new Problem("unauthorized_invalid_token", {
    detail,
    headers: { "www-authenticate": `${CHALLENGE}, error="invalid_token"` },
  });

export function requireScope(credential: Credential, scope: Scope): void {
  if (!credential.scopes.has(scope))
    throw insufficientScope([scope], `this credential lacks the scope ${scope}: use a key that has it, or create one`);
}

export const insufficientScope = (missing: readonly Scope[], detail: string): Problem =>
  new Problem("forbidden_insufficient_scope", {
    detail,
    members: { required_scopes: missing },
    headers: { "www-authenticate": `${CHALLENGE}, error="insufficient_scope", scope="${missing.join(" ")}"` },
  });
