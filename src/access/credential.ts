/** The credential of a request as a record: its scopes, its tier and its expiry. */
import { environmentField, nullable, openEnum, timestamp, Type, type Static } from "../http/schema.ts";
import { encodeId } from "../model/id.ts";
import { isoTime } from "../lib/time.ts";
import type { Database } from "../database/database.ts";
import { invalidToken, type Credential } from "./authenticate.ts";
import { findCredentialOf } from "./queries.ts";
import { SCOPES } from "./scope.ts";

const TierRecord = Type.Object(
  {
    name: Type.String({ examples: ["sandbox"], description: "The name of the tier." }),
    requests_per_second: nullable(Type.Integer({ description: "The requests per second. Null on a tier without a limit." })),
    burst: nullable(Type.Integer({ description: "The number of requests that may arrive at once. Null on a tier without a limit." })),
  },
  { description: "The quota of the environment, shared by all its credentials." },
);

export const CredentialRecord = Type.Object(
  {
    object: Type.Literal("credential"),
    type: openEnum(["api_key", "access_token"], "The kind of credential."),
    key_id: Type.String({
      description: "The id of the key. For an access token, of the key that created it.",
      examples: ["key_01k9zs3v8mf4tb2xg1qj6n0d5c"],
    }),
    account_id: Type.String({ description: "The id of the account." }),
    environment: environmentField,
    name: nullable(Type.String({ description: "The name of the key." })),
    scopes: Type.Array(openEnum(SCOPES), { description: "The permissions of this credential. A token can have fewer than its key." }),
    tier: TierRecord,
    expires_at: nullable(
      timestamp(
        "The time at which the credential stops working. For a token, its own expiry or that of its key, whichever is earlier. Null for a key that is valid until it is revoked.",
      ),
    ),
  },
  { title: "Credential", description: "The credential of a request." },
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
