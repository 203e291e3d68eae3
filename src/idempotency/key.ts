/** The `Idempotency-Key` header, and the claim that a request makes with it. */
import { hash } from "node:crypto";
import canonicalize from "canonicalize";
import { Problem } from "../http/problem.ts";
import { idKey } from "../model/id.ts";
import type { SecretBox } from "../lib/secret-box.ts";
import { uuidFromText, type Uuid } from "../lib/uuid.ts";

/** The UUID that a client chose for a request. */
export type IdempotencyKey = Uuid & { readonly idempotencyKey: unique symbol };

const VERSION_4 =
  /^(?:"([0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12})"|([0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}))$/i;

/** Returns undefined without a header. Node joins repeated headers with a comma, and no UUID contains one. */
export function parseIdempotencyKey(header: string | readonly string[] | undefined): IdempotencyKey | undefined {
  if (header === undefined) return undefined;
  const match = typeof header === "string" ? VERSION_4.exec(header) : null;
  const text = match?.[1] ?? match?.[2];
  if (text !== undefined) return uuidFromText(text) as IdempotencyKey;
  throw new Problem("invalid_idempotency_key", {
    errors: [
      {
        header: "Idempotency-Key",
        code: "invalid_format",
        detail:
          "must be exactly one version-4 UUID, such as crypto.randomUUID() or uuid.uuid4() returns; keep your own reference in client_reference",
      },
    ],
  });
}

/** Hashes the method, the path with its query, and the canonical body (RFC 8785), so that the order of members and white space do not count. */
export const fingerprintOf = (method: string, target: string, body: unknown): Buffer =>
  sha256(`${method} ${target}\n${canonicalize(body) ?? ""}`);

/** The claim of a request on its key. `lock` and `scopedKey` are the same on every node, and differ for the same key of two environments. */
export type IdempotencyClaim = { key: IdempotencyKey; lock: Buffer; scopedKey: string; fingerprint: Buffer };

// The lock of a key is an advisory lock, whose number has 64 bits.
const LOCK_BYTES = 8;

/** The secret with which the numbers of locks are computed. */
export type LockSecret = string & { readonly lockSecret: unique symbol };

export const lockSecretOf = (box: SecretBox): LockSecret => box.mac("", "idempotency lock").toString("hex") as LockSecret;

/** The number of the lock depends on a secret: without it, no client can find another key with the same lock, so a request cannot hold up one
 *  of another account. A hash that begins with the secret is enough for a number that is never shown, and costs every request a quarter
 *  of an HMAC. Nodes with different secret keys have different locks; then the unique key of the table decides. */
export function idempotencyClaim(secret: LockSecret, environmentKey: string, key: IdempotencyKey, fingerprint: Buffer): IdempotencyClaim {
  const scopedKey = `${environmentKey}/${idKey(key)}`;
  return { key, fingerprint, scopedKey, lock: sha256(secret + scopedKey).subarray(0, LOCK_BYTES) };
}

/** The fastest form of the hash. */
const sha256 = (text: string): Buffer => Buffer.from(hash("sha256", text, "binary" as "hex"), "binary");
