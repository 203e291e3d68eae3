/** Access tokens: RFC 9068 JWTs, valid at this installation for an hour, and no longer than the API key that created them. */
import { errors, jwtVerify, SignJWT } from "jose";
import { decodeId, encodeId } from "../model/id.ts";
import { newUuid, uuidToText, type Uuid } from "../lib/uuid.ts";
import type { Clock } from "../database/database-clock.ts";
import type { Credential, ReadToken, TokenClaims } from "./authenticate.ts";
import { isScope, type Scope } from "./scope.ts";
import { ALGORITHM, TOKEN_LIFE_SECONDS, type SigningKeys } from "./signing-keys.ts";

const TYPE = "at+jwt";

type TokenGrant = Pick<Credential, "accountId" | "keyId" | "environment"> & { scopes: readonly Scope[]; keyExpiresAt: Date | null };
type IssuedToken = { token: string; expiresInSeconds: number };

/** `installation` is the id of the installation, which tokens name as their issuer. It never changes. */
export type TokensParts = { clock: Clock; signingKeys: SigningKeys; installation: Uuid };

export class Tokens {
  readonly #parts: TokensParts;
  readonly #issuer: string;

  constructor(parts: TokensParts) {
    this.#parts = parts;
    this.#issuer = `urn:godwit:${uuidToText(parts.installation)}`;
  }

  /** Returns undefined when the key expires within the current second: times in a token are whole seconds, so it would already be expired. */
  async issue({ accountId, keyId, environment, scopes, keyExpiresAt }: TokenGrant): Promise<IssuedToken | undefined> {
    const nowMs = this.#parts.clock.now();
    const { kid, key } = await this.#parts.signingKeys.signer();
    const now = Math.floor(nowMs / 1_000);
    const expiry = Math.min(now + TOKEN_LIFE_SECONDS, Math.floor((keyExpiresAt?.getTime() ?? Infinity) / 1_000));
    if (expiry <= now) return undefined;
    const client = encodeId("key", keyId);
    const claims = { client_id: client, scope: scopes.join(" "), account_id: encodeId("acct", accountId), environment };
    const token = await new SignJWT(claims)
      .setProtectedHeader({ alg: ALGORITHM, typ: TYPE, kid })
      .setIssuer(this.#issuer)
      .setAudience(this.#issuer)
      .setSubject(client)
      .setJti(uuidToText(newUuid(nowMs)))
      .setIssuedAt(now)
      .setExpirationTime(expiry)
      .sign(key);
    return { token, expiresInSeconds: expiry - now };
  }

  /** Returns undefined for any invalid token, without the reason. Throws when the database is unavailable. */
  readonly read: ReadToken = async (token) => {
    try {
      const { payload } = await jwtVerify(token, async ({ kid = "" }) => (await this.#parts.signingKeys.find(kid)) ?? unknownKey(), {
        algorithms: [ALGORITHM],
        typ: TYPE,
        issuer: this.#issuer,
        audience: this.#issuer,
        requiredClaims: ["exp", "client_id", "account_id", "scope"],
        currentDate: new Date(this.#parts.clock.now()),
      });
      return toClaims(payload);
    } catch (error) {
      if (error instanceof errors.JOSEError) return undefined;
      throw error;
    }
  };
}

function unknownKey(): never {
  throw new errors.JWKSNoMatchingKey();
}

/** The payload has a valid signature of this installation, so it has the form that `issue` wrote. */
function toClaims(payload: Readonly<Record<string, unknown>>): TokenClaims | undefined {
  const accountId = decodeId("acct", String(payload["account_id"]));
  const keyId = decodeId("key", String(payload["client_id"]));
  if (accountId === undefined || keyId === undefined) return undefined;
  const scopes = String(payload["scope"])
    .split(" ")
    .filter((word) => isScope(word));
  return { accountId, keyId, scopes, expiresAtMs: Number(payload["exp"]) * 1_000 };
}
