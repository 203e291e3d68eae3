/** What a client may do to the keys of its environment. No credential gives more than it has: neither scopes, nor time. Each write is one
 *  transaction with its key and its stored answer, which is sealed where it shows a secret. */
import { invalidToken, type Authenticator, type Credential } from "./authenticate.ts";
import { createKeyIn, rotateKeyIn, type CreatedKey } from "./api-key.ts";
import { countLivingKeys, findKeyOf, lockKeys, revokeKey, type KeyRow } from "./queries.ts";
import type { Scope } from "./scope.ts";
import { Problem } from "../http/problem.ts";
import { Once, type Executed, type Replay, type WriteCall, type WriteResponse } from "../idempotency/once.ts";
import { encodeId, type KeyId } from "../lib/id.ts";
import type { SecretBox } from "../lib/secret-box.ts";
import type { Clock } from "../storage/database-clock.ts";
import type { Database, Queryable, Tx } from "../storage/database.ts";
import { DEFAULT_OVERLAP_SECONDS, keyRecord, type NewKey, type RotateKey } from "./key-record.ts";

// Enough for a key each for many services; few enough to be looked through.
const MAX_LIVING_KEYS = 1_000;

type KeyCall = WriteCall & { credential: Credential };

export type KeyChangerParts = { db: Database; clock: Clock; box: SecretBox; authenticator: Pick<Authenticator, "forget"> };

export class KeyChanger {
  readonly #parts: KeyChangerParts;
  readonly #once: Once;

  constructor(parts: KeyChangerParts) {
    this.#parts = parts;
    this.#once = new Once(parts.db, parts.box);
  }

  async create(call: KeyCall, { scopes, name, expires_at: expiresAt }: NewKey): Promise<Executed | Replay> {
    const { credential } = call;
    // Before a replay, too: it shows the key again.
    assertHolds(credential, scopes);
    return this.#once.write(call, async (tx) => {
      const { expires_at: end } = (await this.#lock(tx, credential)).maker;
      const asked = typeof expiresAt === "string" ? new Date(expiresAt) : end;
      if (end !== null && asked !== null && asked > end) throw outlives(end);
      if (await isFull(tx, credential)) return tooMany();
      const { accountId, environment } = credential;
      const created = await createKeyIn(tx, this.#parts.clock, { accountId, environment, scopes, name: name ?? null, expiresAt: asked });
      return shownOnce(created, 201);
    });
  }

  /** The new key ends when the old one would have, so that rotating is no way to live longer. */
  async rotate(call: KeyCall, id: KeyId | undefined, { overlap_seconds: overlap }: RotateKey): Promise<Executed | Replay> {
    const { credential } = call;
    const found = await findOwn(this.#parts.db, credential, id);
    // They never change.
    assertHolds(credential, found.scopes);
    return this.#once.write(call, async (tx) => {
      const { maker, key: old } = await this.#lock(tx, credential, found.id);
      if (this.#isOver(old)) return new Problem("key_not_active", { detail: "it is revoked or expired: create a new one" });
      const end = earliest(old.expires_at, maker.expires_at);
      const overlapSeconds = overlap ?? DEFAULT_OVERLAP_SECONDS;
      // Without an overlap there are no more keys than before.
      if (overlapSeconds > 0 && (await isFull(tx, credential))) return tooMany();
      return shownOnce(await rotateKeyIn(tx, this.#parts.clock, old, { overlapSeconds, expiresAt: end }), 201);
    });
  }

  /** Also the one that asks. Twice is once. */
  async revoke(credential: Credential, id: KeyId | undefined): Promise<KeyRow> {
    const { db, authenticator } = this.#parts;
    const own = await findOwn(db, credential, id);
    try {
      const [revoked] = await revokeKey(db, credential.accountId, own.id);
      return revoked ?? own;
    } finally {
      // Also when it failed: nobody may know yet how that commit ended.
      authenticator.forget();
    }
  }

  /** The key that asks, itself or through a token, and the one that it asks about, as they are and stay until the commit. What was known of
   *  the first when the request came may be a second old, and who has just been locked out must not leave a key behind. */
  async #lock(tx: Tx, { keyId, ...owner }: Credential, id: KeyId = keyId): Promise<{ maker: KeyRow; key: KeyRow }> {
    const rows = await lockKeys(tx, owner, keyId, id);
    const [maker, key] = [keyId, id].map((each) => rows.find((row) => row.id.equals(each)));
    if (maker === undefined || this.#isOver(maker)) throw invalidToken();
    if (key === undefined) throw noSuchKey();
    return { maker, key };
  }

  #isOver({ revoked_at: revokedAt, expires_at: expiresAt }: KeyRow): boolean {
    return revokedAt !== null || (expiresAt !== null && expiresAt.getTime() <= this.#parts.clock.now());
  }
}

const earliest = (a: Date | null, b: Date | null): Date | null => (a === null || (b !== null && b < a) ? b : a);

/** The key of that name in this environment, whose credential asks. */
export async function findOwn(db: Queryable, credential: Credential, id: KeyId | undefined): Promise<KeyRow> {
  const [key] = id === undefined ? [] : await findKeyOf(db, credential, id);
  if (key === undefined) throw noSuchKey();
  return key;
}

const noSuchKey = (): Problem => new Problem("not_found", { detail: "no such key in this environment" });

const isFull = async (tx: Tx, credential: Credential): Promise<boolean> => (await countLivingKeys(tx, credential)) >= MAX_LIVING_KEYS;
const tooMany = (): Problem => new Problem("too_many_keys", { detail: `an environment may have ${MAX_LIVING_KEYS} that work` });

const outlives = (end: Date): Problem => {
  const detail = `must not be later than the key that makes it, which ends at ${end.toISOString()}`;
  return new Problem("invalid_request_payload", { errors: [{ pointer: "/expires_at", code: "too_late", detail }] });
};

function assertHolds({ scopes }: Credential, wanted: readonly Scope[]): void {
  const missing = wanted.filter((scope) => !scopes.has(scope));
  if (missing.length === 0) return;
  throw new Problem("forbidden_insufficient_scope", {
    detail: `a credential gives no more than it has: this one lacks ${missing.join(", ")}`,
    members: { required_scopes: missing },
    headers: { "www-authenticate": `Bearer realm="godwit", error="insufficient_scope", scope="${missing.join(" ")}"` },
  });
}

const shownOnce = ({ secret, key }: CreatedKey, status: number): WriteResponse => ({
  status,
  location: `/v1/keys/${encodeId("key", key.id)}`,
  body: JSON.stringify({ key: secret, ...keyRecord(key) }),
  eventId: null,
  isSecret: true,
});
