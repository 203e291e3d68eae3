/** Creates, rotates and revokes the keys of an environment over the API. A credential can grant only the scopes that it has itself, and
 *  no longer life than its own. Each write is one transaction with its idempotency key and its stored response, which is encrypted
 *  where it contains a secret. */
import { Problem } from "../http/problem.ts";
import { Once, type Executed, type Replay, type WriteCall, type WriteResponse } from "../idempotency/once.ts";
import { encodeId, type KeyId } from "../lib/id.ts";
import type { SecretBox } from "../lib/secret-box.ts";
import type { Clock } from "../storage/database-clock.ts";
import type { Database, Queryable, Tx } from "../storage/database.ts";
import { createKeyIn, rotateKeyIn, type CreatedKey } from "./api-key.ts";
import { invalidToken, type Authenticator, type Credential } from "./authenticate.ts";
import { DEFAULT_OVERLAP_SECONDS, keyRecord, type NewKey, type RotateKey } from "./key-record.ts";
import { countActiveKeys, findKeyOf, lockKeys, revokeKey, type KeyRow, type LockedKey } from "./queries.ts";
import type { Scope } from "./scope.ts";

// Enough for one key for each of many services, and few enough to review.
const MAX_ACTIVE_KEYS = 1_000;

type KeyCall = WriteCall & { credential: Credential };

export type KeyChangerParts = { db: Database; clock: Clock; box: SecretBox; authenticator: Pick<Authenticator, "forget"> };

export class KeyChanger {
  readonly #parts: KeyChangerParts;
  readonly #once: Once;

  constructor(parts: KeyChangerParts) {
    this.#parts = parts;
    this.#once = new Once(parts.db, parts.clock, parts.box);
  }

  async create(call: KeyCall, { scopes, name, expires_at: expiresAt }: NewKey): Promise<Executed | Replay> {
    const { credential } = call;
    // Checked before a replay as well, since a replay shows the key again.
    requireScopes(credential, scopes);
    return this.#once.write(call, async (tx) => {
      const { expires_at: end } = (await this.#lock(tx, credential)).caller;
      const expiry = typeof expiresAt === "string" ? new Date(expiresAt) : end;
      if (end !== null && expiry !== null && expiry > end) throw expiresTooLate(end);
      if (await isFull(tx, credential)) return tooMany();
      const { accountId, environment } = credential;
      const created = await createKeyIn(tx, this.#parts.clock, { accountId, environment, scopes, name: name ?? null, expiresAt: expiry });
      return responseWithSecret(created, 201);
    });
  }

  /** The new key expires when the old one would have expired, so that a rotation does not extend the life of a key. */
  async rotate(call: KeyCall, id: KeyId | undefined, { overlap_seconds: overlap }: RotateKey): Promise<Executed | Replay> {
    const { credential } = call;
    const found = await findOwnKey(this.#parts.db, credential, id);
    // The scopes of a key never change.
    requireScopes(credential, found.scopes);
    return this.#once.write(call, async (tx) => {
      const { caller, key: old } = await this.#lock(tx, credential, found.id);
      if (old.has_ended) return new Problem("key_not_active", { detail: "it is revoked or expired: create a new one" });
      const end = earliest(old.expires_at, caller.expires_at);
      const overlapSeconds = overlap ?? DEFAULT_OVERLAP_SECONDS;
      // Without an overlap the number of active keys does not grow.
      if (overlapSeconds > 0 && (await isFull(tx, credential))) return tooMany();
      return responseWithSecret(await rotateKeyIn(tx, this.#parts.clock, old, { overlapSeconds, expiresAt: end }), 201);
    });
  }

  /** Revokes a key, which may be the key of the request itself. A second revocation changes nothing. */
  async revoke(credential: Credential, id: KeyId | undefined): Promise<KeyRow> {
    const { db, authenticator } = this.#parts;
    const own = await findOwnKey(db, credential, id);
    try {
      const [revoked] = await revokeKey(db, credential.accountId, own.id);
      return revoked ?? own;
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

/** The key with this id in the environment of the credential. */
export async function findOwnKey(db: Queryable, credential: Credential, id: KeyId | undefined): Promise<KeyRow> {
  const [key] = id === undefined ? [] : await findKeyOf(db, credential, id);
  if (key === undefined) throw noSuchKey();
  return key;
}

const noSuchKey = (): Problem => new Problem("not_found", { detail: "no such key in this environment" });

const isFull = async (tx: Tx, credential: Credential): Promise<boolean> => (await countActiveKeys(tx, credential)) >= MAX_ACTIVE_KEYS;
const tooMany = (): Problem => new Problem("too_many_keys", { detail: `an environment may have ${MAX_ACTIVE_KEYS} that work` });

const expiresTooLate = (end: Date): Problem => {
  const detail = `must not be later than the key that makes it, which ends at ${end.toISOString()}`;
  return new Problem("invalid_request_payload", { errors: [{ pointer: "/expires_at", code: "too_late", detail }] });
};

function requireScopes({ scopes }: Credential, wanted: readonly Scope[]): void {
  const missing = wanted.filter((scope) => !scopes.has(scope));
  if (missing.length === 0) return;
  throw new Problem("forbidden_insufficient_scope", {
    detail: `a credential gives no more than it has: this one lacks ${missing.join(", ")}`,
    members: { required_scopes: missing },
    headers: { "www-authenticate": `Bearer realm="godwit", error="insufficient_scope", scope="${missing.join(" ")}"` },
  });
}

const responseWithSecret = ({ secret, key }: CreatedKey, status: number): WriteResponse => ({
  status,
  location: `/v1/keys/${encodeId("key", key.id)}`,
  body: JSON.stringify({ key: secret, ...keyRecord(key) }),
  eventId: null,
  isSecret: true,
});
