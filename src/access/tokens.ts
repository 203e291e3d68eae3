/** Access tokens: RFC 9068 JWTs, good for an hour at this installation, and no longer than the API key that bought them. */
import { errors, jwtVerify, SignJWT } from "jose";
import { isScope, type Scope } from "./scope.ts";
import type { ReadToken, TokenClaims } from "./authenticate.ts";
import { decodeId, encodeId, type AccountId, type KeyId } from "../lib/id.ts";
import { newUuid, uuidToText } from "../lib/uuid.ts";
import type { Clock } from "../storage/database-clock.ts";
import type { Database } from "../storage/database.ts";
import { findInstallation } from "./signing-key-queries.ts";
import { ALGORITHM, TOKEN_LIFE_SECONDS, type SigningKeys } from "./signing-keys.ts";
import type { Environment } from "../storage/owner.ts";

const TYPE = "at+jwt";

export type TokenOrder = {
  accountId: AccountId;
  keyId: KeyId;
  environment: Environment;
  scopes: readonly Scope[];
  keyExpiresAt: Date | null;
};
export type IssuedToken = { token: string; expiresInSeconds: number };

export type TokensParts = { db: Database; clock: Clock; signingKeys: SigningKeys };

export class Tokens {
  readonly #parts: TokensParts;
  #issuer: Promise<string> | undefined;

  constructor(parts: TokensParts) {
    this.#parts = parts;
  }

  /** Undefined when the key ends within this very second: a token counts whole ones, and would be over at once. */
  async issue({ accountId, keyId, environment, scopes, keyExpiresAt }: TokenOrder): Promise<IssuedToken | undefined> {
    const nowMs = this.#parts.clock.now();
    const { kid, key } = await this.#parts.signingKeys.signer();
    const issuer = await this.#named();
    const now = Math.floor(nowMs / 1_000);
    const ends = Math.min(now + TOKEN_LIFE_SECONDS, Math.floor((keyExpiresAt?.getTime() ?? Infinity) / 1_000));
    if (ends <= now) return undefined;
    const client = encodeId("key", keyId);
    const claims = { client_id: client, scope: scopes.join(" "), account_id: encodeId("acct", accountId), environment };
    const token = await new SignJWT(claims)
      .setProtectedHeader({ alg: ALGORITHM, typ: TYPE, kid })
      .setIssuer(issuer)
      .setAudience(issuer)
      .setSubject(client)
      .setJti(uuidToText(newUuid(nowMs)))
      .setIssuedAt(now)
      .setExpirationTime(ends)
      .sign(key);
    return { token, expiresInSeconds: ends - now };
  }

  /** What is wrong with a token is nobody's business; that the database is away is. */
  readonly read: ReadToken = async (token) => {
    const issuer = await this.#named();
    try {
      const { payload } = await jwtVerify(token, async ({ kid = "" }) => (await this.#parts.signingKeys.find(kid)) ?? unknownKey(), {
        algorithms: [ALGORITHM],
        typ: TYPE,
        issuer,
        audience: issuer,
        requiredClaims: ["exp", "client_id", "account_id", "scope"],
        currentDate: new Date(this.#parts.clock.now()),
      });
      return toClaims(payload);
    } catch (error) {
      if (error instanceof errors.JOSEError) return undefined;
      throw error;
    }
  };

  /** It never changes; a failure to ask is not remembered. */
  #named(): Promise<string> {
    this.#issuer ??= findInstallation(this.#parts.db).catch((error: unknown) => {
      this.#issuer = undefined;
      throw error;
    });
    return this.#issuer;
  }
}

function unknownKey(): never {
  throw new errors.JWKSNoMatchingKey();
}

/** Signed by us, so it has the form that we gave it. */
function toClaims(payload: Readonly<Record<string, unknown>>): TokenClaims | undefined {
  const accountId = decodeId("acct", String(payload["account_id"]));
  const keyId = decodeId("key", String(payload["client_id"]));
  if (accountId === undefined || keyId === undefined) return undefined;
  const scopes = String(payload["scope"])
    .split(" ")
    .filter((word) => isScope(word));
  return { accountId, keyId, scopes, expiresAtMs: Number(payload["exp"]) * 1_000 };
}
