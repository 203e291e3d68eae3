/** The credential of a request as a record: its scopes, its tier and its expiry. */
import { nullable, openEnum, timestamp, Type, type Static } from "../http/schema.ts";
import { encodeId } from "../lib/id.ts";
import { isoTime } from "../lib/time.ts";
import type { Database } from "../storage/database.ts";
import { invalidToken, type Credential } from "./authenticate.ts";
import { findCredentialOf } from "./queries.ts";
import { SCOPES } from "./scope.ts";

const TierRecord = Type.Object(
  {
    name: Type.String({ examples: ["sandbox"] }),
    requests_per_second: nullable(Type.Integer({ description: "Null on a tier without limit." })),
    burst: nullable(Type.Integer({ description: "Null on a tier without limit." })),
  },
  { description: "How often the environment may ask, all its credentials together." },
);

export const CredentialRecord = Type.Object(
  {
    object: Type.Literal("credential"),
    type: openEnum(["api_key", "access_token"]),
    key_id: Type.String({ description: "The key, or the one that bought the token.", examples: ["key_01k9zs3v8mf4tb2xg1qj6n0d5c"] }),
    account_id: Type.String(),
    environment: openEnum(["test", "live"]),
    name: nullable(Type.String({ description: "The key's name, for people." })),
    scopes: Type.Array(openEnum(SCOPES), { description: "What this credential may do: a token may do less than its key." }),
    tier: TierRecord,
    expires_at: nullable(
      timestamp(
        "When it stops working: a token at its own end, or at that of its key if that is sooner. Null for a key that lives until it is revoked.",
      ),
    ),
  },
  { title: "Credential", description: "What the credential of a request is." },
);
export type CredentialRecord = Static<typeof CredentialRecord>;

/** Reads the key again: the cached credential may be a second old, and its key may have been revoked or have expired since. */
export async function readCredential(db: Database, credential: Credential): Promise<CredentialRecord> {
  const [key] = await findCredentialOf(db, credential.accountId, credential.keyId);
  if (key === undefined) throw invalidToken();
  const { scopes, tier, tokenExpiresAtMs } = credential;
  const expiresAtMs = Math.min(tokenExpiresAtMs ?? Infinity, key.expires_at?.getTime() ?? Infinity);
  return {
    object: "credential",
    type: tokenExpiresAtMs === null ? "api_key" : "access_token",
    key_id: encodeId("key", credential.keyId),
    account_id: encodeId("acct", credential.accountId),
    environment: credential.environment,
    name: key.name,
    scopes: SCOPES.filter((scope) => scopes.has(scope)),
    // The tier by which this request was admitted.
    tier: { name: tier.name, requests_per_second: tier.limit?.requestsPerSecond ?? null, burst: tier.limit?.burst ?? null },
    expires_at: expiresAtMs === Infinity ? null : isoTime(expiresAtMs),
  };
}
