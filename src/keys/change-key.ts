/** What a client may do to the keys of its environment. No credential gives more than it has: neither scopes, nor time. Each write is one
 *  transaction with its key and its stored answer, which is sealed where it shows a secret. */
import type { Authenticator, Credential } from "../access/authenticate.ts";
import { createKeyIn, rotateKeyIn, type CreatedKey } from "../access/keys.ts";
import { countLivingKeys, findKeyOf, lockKey, revokeKey, type KeyRow } from "../access/queries.ts";
import type { Scope } from "../access/scope.ts";
import { Problem } from "../http/problem.ts";
import { Once, type Executed, type Replay, type WriteCall, type Written } from "../idempotency/once.ts";
import { encodeId } from "../lib/id.ts";
import type { SecretBox } from "../lib/secret-box.ts";
import type { Uuid } from "../lib/uuid.ts";
import type { Clock } from "../storage/database-clock.ts";
import type { Database, Tx } from "../storage/database.ts";
import { toRecord } from "./key.ts";
import { DEFAULT_OVERLAP_SECONDS, type NewKey, type RotateKey } from "./new-key.ts";

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

  create(call: KeyCall, { scopes, name, expires_at: expiresAt }: NewKey): Promise<Executed | Replay> {
    const { credential } = call;
    return this.#once.write(call, async (tx) => {
      assertHolds(credential, scopes);
      const end = await endOf(tx, credential);
      const asked = typeof expiresAt === "string" ? new Date(expiresAt) : end;
      if (end !== null && asked !== null && asked > end) throw outlives(end);
      if (await isFull(tx, credential)) return tooMany();
      const { accountId, environment } = credential;
      const created = await createKeyIn(tx, this.#parts.clock, { accountId, environment, scopes, name: name ?? null, expiresAt: asked });
      return shownOnce(created, 201);
    });
  }

  /** The new key ends when the old one would have, so that rotating is no way to live longer. */
  rotate(call: KeyCall, id: Uuid | undefined, { overlap_seconds: overlap }: RotateKey): Promise<Executed | Replay> {
    const { credential } = call;
    return this.#once.write(call, async (tx) => {
      const old = await lockOwn(tx, credential, id);
      assertHolds(credential, old.scopes);
      const isOver = old.revoked_at !== null || (old.expires_at !== null && old.expires_at.getTime() <= this.#parts.clock.now());
      if (isOver) return new Problem("key_not_active", { detail: "it is revoked or expired: create a new one" });
      if (await isFull(tx, credential)) return tooMany();
      const end = earliest(old.expires_at, await endOf(tx, credential));
      const rotation = { overlapSeconds: overlap ?? DEFAULT_OVERLAP_SECONDS, expiresAt: end };
      return shownOnce(await rotateKeyIn(tx, this.#parts.clock, old, rotation), 201);
    });
  }

  /** Also the one that asks. Twice is once. */
  async revoke(credential: Credential, id: Uuid | undefined): Promise<KeyRow> {
    const { db, authenticator } = this.#parts;
    const own = id && (await findKeyOf(db, credential, id))[0];
    if (own === undefined) throw noSuchKey();
    try {
      const [revoked] = await revokeKey(db, credential.accountId, own.id);
      return revoked ?? own;
    } finally {
      // Also when it failed: nobody may know yet how that commit ended.
      authenticator.forget();
    }
  }
}

const earliest = (a: Date | null, b: Date | null): Date | null => (a === null || (b !== null && b < a) ? b : a);

/** When the key that asks, itself or through a token, stops working. */
const endOf = async (tx: Tx, { keyId, ...owner }: Credential): Promise<Date | null> =>
  (await findKeyOf(tx, owner, keyId))[0]?.expires_at ?? null;

async function lockOwn(tx: Tx, credential: Credential, id: Uuid | undefined): Promise<KeyRow> {
  const [key] = id === undefined ? [] : await lockKey(tx, credential, id);
  if (key === undefined) throw noSuchKey();
  return key;
}

export const noSuchKey = (): Problem => new Problem("not_found", { detail: "no such key in this environment" });

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

const shownOnce = ({ secret, key }: CreatedKey, status: number): Written => ({
  status,
  location: `/v1/keys/${encodeId("key", key.id)}`,
  body: JSON.stringify({ key: secret, ...toRecord(key) }),
  eventId: null,
  isSecret: true,
});
