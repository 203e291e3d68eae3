/** Creates, rotates and revokes the keys of an environment over the API. A credential can grant only the scopes that it has itself, and
 *  no longer life than its own. Each write is one transaction with its idempotency key and its stored response, which is encrypted
 *  if it contains a secret. */
import { jsonResponse } from "../http/json-response.ts";
import { Problem } from "../http/problem.ts";
import { Once, type AuditedCall, type Executed, type Replay, type WriteResponse } from "../idempotency/once.ts";
import { isWithin } from "../lib/addresses.ts";
import { encodeId, type KeyId } from "../model/id.ts";
import type { SecretBox } from "../lib/secret-box.ts";
import type { Clock } from "../database/database-clock.ts";
import type { Database, Queryable, Tx } from "../database/database.ts";
import { createKeyIn, expiresTooLate, revokeKeyIn, rotateKeyIn, type CreatedKey } from "./api-key.ts";
import { insufficientScope, invalidToken, type Authenticator, type Credential } from "./authenticate.ts";
import { DEFAULT_OVERLAP_SECONDS, keyRecord, type NewKey, type RotateKey } from "./key-record.ts";
import { countActiveKeys, findKeyOf, lockKeys, type KeyRow, type LockedKey } from "./queries.ts";
import type { Scope } from "./scope.ts";

// Enough for one key for each of many services, and few enough to review.
const MAX_ACTIVE_KEYS = 1_000;

type KeyCall = AuditedCall & { credential: Credential };

export type KeyChangerParts = { db: Database; clock: Clock; box: SecretBox; authenticator: Pick<Authenticator, "forget"> };

export class KeyChanger {
  readonly #parts: KeyChangerParts;
  readonly #once: Once;

  constructor(parts: KeyChangerParts) {
    this.#parts = parts;
    this.#once = new Once(parts.db, parts.clock, parts.box);
  }

  async create(call: KeyCall, { scopes, name, expires_at: expiresAt, allowed_ips: requestedIps }: NewKey): Promise<Executed | Replay> {
    const { credential, origin } = call;
    // Checked before a replay as well, since a replay shows the key again.
    requireScopes(credential, scopes);
    const allowedIps = grantedIps(credential, requestedIps ?? null);
    const response = await this.#once.write(call, async (tx) => {
      const end = endOf(credential, (await this.#lock(tx, credential)).caller);
      const expiry = typeof expiresAt === "string" ? new Date(expiresAt) : end;
      if (end !== null && expiry !== null && expiry > end) throw expiresTooLate(laterThanCaller(end));
      if (await isFull(tx, credential)) return tooMany();
      const { accountId, environment } = credential;
      const request = { accountId, environment, scopes, name: name ?? null, expiresAt: expiry, allowedIps, origin: origin() };
      return responseWithSecret(await createKeyIn(tx, this.#parts.clock, request));
    });
    return readable(credential, response);
  }

  /** The new key expires when the old one would have expired, so that a rotation does not extend the life of a key. */
  async rotate(call: KeyCall, id: KeyId | undefined, { overlap_seconds: overlap }: RotateKey): Promise<Executed | Replay> {
    const { credential, origin } = call;
    const found = await findOwnKey(this.#parts.db, credential, id);
    // The scopes and the addresses of a key never change.
    requireScopes(credential, found.scopes);
    grantedIps(credential, found.allowed_ips ?? ["0.0.0.0/0", "::/0"]);
    const response = await this.#once.write(call, async (tx) => {
      const { caller, key: old } = await this.#lock(tx, credential, found.id);
      if (old.has_ended) return new Problem("key_not_active", { detail: "the key is revoked or expired: create a new one" });
      const end = earliest(old.expires_at, caller.expires_at);
      requireLongerToken(credential, end);
      const overlapSeconds = overlap ?? DEFAULT_OVERLAP_SECONDS;
      // Without an overlap the number of active keys does not grow.
      if (overlapSeconds > 0 && (await isFull(tx, credential))) return tooMany();
      const rotation = { overlapSeconds, expiresAt: end, origin: origin() };
      return responseWithSecret(await rotateKeyIn(tx, this.#parts.clock, old, rotation));
    });
    return readable(credential, response);
  }

  /** Revokes a key, which may be the key of the request itself. A second revocation changes nothing. */
  async revoke({ credential, origin }: KeyCall, id: KeyId | undefined): Promise<KeyRow> {
    const { db, clock, authenticator } = this.#parts;
    const own = await findOwnKey(db, credential, id);
    try {
      return await db.transaction((tx) => revokeKeyIn(tx, clock, own, origin()));
    } finally {
      // After a failure as well, since the commit may have succeeded.
      authenticator.forget();
    }
  }

  /** Locks the key of the caller and the key to change until the commit. The cached credential of the caller may be a second old, and a
   *  key that has just been revoked must not create another one. */
  async #lock(tx: Tx, { keyId, ...owner }: Credential, id: KeyId = keyId): Promise<{ caller: LockedKey; key: LockedKey }> {
    const rows = await lockKeys(tx, owner, keyId, id);
    const [caller, key] = [keyId, id].map((each) => rows.find((row) => row.id.equals(each)));
    if (caller === undefined || caller.has_ended) throw invalidToken();
    if (key === undefined) throw noSuchKey();
    return { caller, key };
  }
}

const earliest = (a: Date | null, b: Date | null): Date | null => (a === null || (b !== null && b < a) ? b : a);

export async function findOwnKey(db: Queryable, credential: Credential, id: KeyId | undefined): Promise<KeyRow> {
  const [key] = id === undefined ? [] : await findKeyOf(db, credential, id);
  if (key === undefined) throw noSuchKey();
  return key;
}

const noSuchKey = (): Problem => new Problem("not_found", { detail: "no such key in this environment" });

const isFull = async (tx: Tx, credential: Credential): Promise<boolean> => (await countActiveKeys(tx, credential)) >= MAX_ACTIVE_KEYS;
const tooMany = (): Problem => new Problem("too_many_keys", { detail: `an environment can have at most ${MAX_ACTIVE_KEYS} active keys` });

const laterThanCaller = (end: Date): string =>
  `must not be later than the credential that creates it, which expires at ${end.toISOString()}`;

/** The latest expiry of a key that the credential creates: its own, and for an access token that of the token. */
const endOf = ({ tokenExpiresAtMs }: Credential, { expires_at: keyEnd }: LockedKey): Date | null =>
  tokenExpiresAtMs === null ? keyEnd : earliest(new Date(tokenExpiresAtMs), keyEnd);

/** A stolen token must not become a key that outlives it. */
function requireLongerToken({ tokenExpiresAtMs }: Credential, end: Date | null): void {
  if (tokenExpiresAtMs === null || (end !== null && end.getTime() <= tokenExpiresAtMs)) return;
  throw new Problem("key_outlives_credential", { detail: `the token expires at ${new Date(tokenExpiresAtMs).toISOString()}` });
}

/** The addresses of a new key: the requested ones, or those of the credential. They must be within those of the credential. */
function grantedIps({ allowedIps }: Credential, requested: readonly string[] | null): readonly string[] | null {
  if (allowedIps === null || requested === null) return requested ?? allowedIps?.blocks ?? null;
  const outside = requested.findIndex((block) => !allowedIps.blocks.some((outer) => isWithin(block, outer)));
  if (outside === -1) return requested;
  const detail = `${requested[outside]} is not within the addresses of the key that creates it`;
  throw new Problem("invalid_request_payload", { errors: [{ pointer: `/allowed_ips/${outside}`, code: "not_allowed", detail }] });
}

/** A replay shows a key again, but not to a credential that could not have created the key. */
function readable({ expiresAtMs }: Credential, response: Executed | Replay): Executed | Replay {
  if (response.kind === "executed" || expiresAtMs === null || response.status !== 201) return response;
  const { expires_at: end } = JSON.parse(response.body) as { expires_at: string | null };
  if (end !== null && Date.parse(end) <= expiresAtMs) return response;
  throw new Problem("key_outlives_credential", { detail: "the first response has a key that outlives this credential" });
}

function requireScopes({ scopes }: Credential, wanted: readonly Scope[]): void {
  const missing = wanted.filter((scope) => !scopes.has(scope));
  if (missing.length > 0)
    throw insufficientScope(missing, `a credential can grant only scopes that it has: this one lacks ${missing.join(", ")}`);
}

const responseWithSecret = ({ secret, key }: CreatedKey): WriteResponse => ({
  ...jsonResponse({ key: secret, ...keyRecord(key) }, 201),
  location: `/v1/keys/${encodeId("key", key.id)}`,
  isSecret: true,
});
