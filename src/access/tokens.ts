/** Access tokens: RFC 9068 JWTs, valid at this installation for an hour, and no longer than the API key that created them. */
import { errors, jwtVerify, SignJWT } from "jose";
import { decodeId, encodeId, type AccountId, type KeyId } from "../model/id.ts";
import { newUuid, uuidToText } from "../lib/uuid.ts";
import type { Clock } from "../database/database-clock.ts";
import type { Database } from "../database/database.ts";
import type { Environment } from "../model/owner.ts";
import type { ReadToken, TokenClaims } from "./authenticate.ts";
import { isScope, type Scope } from "./scope.ts";
import { readInstallation } from "./queries.ts";
import { ALGORITHM, TOKEN_LIFE_SECONDS, type SigningKeys } from "./signing-keys.ts";

const TYPE = "at+jwt";

export type TokenGrant = {
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

  /** Returns undefined when the key expires within the current second: times in a token are whole seconds, so it would already be expired. */
  async issue({ accountId, keyId, environment, scopes, keyExpiresAt }: TokenGrant): Promise<IssuedToken | undefined> {
    const nowMs = this.#parts.clock.now();
    const { kid, key } = await this.#parts.signingKeys.signer();
    const issuer = await this.#findIssuer();
    const now = Math.floor(nowMs / 1_000);
    const expiry = Math.min(now + TOKEN_LIFE_SECONDS, Math.floor((keyExpiresAt?.getTime() ?? Infinity) / 1_000));
    if (expiry <= now) return undefined;
    const client = encodeId("key", keyId);
    const claims = { client_id: client, scope: scopes.join(" "), account_id: encodeId("acct", accountId), environment };
    const token = await new SignJWT(claims)
      .setProtectedHeader({ alg: ALGORITHM, typ: TYPE, kid })
      .setIssuer(issuer)
      .setAudience(issuer)
      .setSubject(client)
      .setJti(uuidToText(newUuid(nowMs)))
      .setIssuedAt(now)
      .setExpirationTime(expiry)
      .sign(key);
    return { token, expiresInSeconds: expiry - now };
  }

  /** Returns undefined for any invalid token, without the reason. Throws when the database is unavailable. */
  readonly read: ReadToken = async (token) => {
    const issuer = await this.#findIssuer();
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

  /** The issuer never changes, so it is cached. A failure is not cached. */
  #findIssuer(): Promise<string> {
    this.#issuer ??= issuerOf(this.#parts.db).catch((error: unknown) => {
      this.#issuer = undefined;
      throw error;
    });
    return this.#issuer;
  }
}

/** The issuer that tokens name: the id of the installation. */
const issuerOf = async (db: Database): Promise<string> => `urn:godwit:${uuidToText((await readInstallation(db)).id)}`;

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
