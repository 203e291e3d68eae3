/** Signing keys, with which access tokens are signed. They are in the database, the private parts encrypted, so that every node uses the
 *  same keys. A key is published before it signs, signs for ninety days, and is kept until the last token that it signed has expired. */
import { recordInstallationChange } from "../audit/record-change.ts";
import { calculateJwkThumbprint, exportJWK, generateKeyPair, importJWK, type CryptoKey, type JWK } from "jose";
import { assert } from "../lib/assert.ts";
import type { Log } from "../model/log.ts";
import type { ChangeOrigin } from "../model/origin.ts";
import type { SecretBox } from "../lib/secret-box.ts";
import type { Clock } from "../database/database-clock.ts";
import type { Database, Tx } from "../database/database.ts";
import {
  deleteSigningKeys,
  insertSigningKey,
  listSigningKeys,
  lockSigningKeys,
  storePrivateKey,
  type SigningKeyRow,
} from "./signing-key-queries.ts";

export const ALGORITHM = "EdDSA";
export const TOKEN_LIFE_SECONDS = 3_600;

const DAY_MS = 86_400_000;
const ROTATE_AFTER_MS = 90 * DAY_MS;
// Clients that cache the published keys read them again at least this often.
const PUBLISH_AHEAD_MS = 15 * 60_000;
// Clocks differ, and a token may expire while its request is in transit.
const LEEWAY_MS = 5 * 60_000;
// A revoked key must become invalid within about a second on every node.
const TRUST_MS = 1_000;
// Another node may have just created a key that is not in the cached list. An invented key id must not cause a query each time.
const TRUST_ABSENCE_MS = 100;

export type SigningKey = { kid: string; publicKey: JWK; activeFromMs: number };

export type SigningKeysParts = { db: Database; clock: Clock; box: SecretBox; log?: Log };

type NewKey = Omit<SigningKeyRow, "active_from">;

export class SigningKeys {
  readonly #parts: SigningKeysParts;
  #listed: { rows: Promise<SigningKeyRow[]>; startedAt: number } | undefined;

  constructor(parts: SigningKeysParts) {
    this.#parts = parts;
  }

  /** The public keys with which tokens can be verified: keys that sign, that will sign soon, or whose tokens are still valid. */
  async published(): Promise<SigningKey[]> {
    return verifyingKeys(await this.#list(), this.#parts.clock.now()).map(toSigningKey);
  }

  /** The public key with this id, or undefined when no token that it signed can be valid. */
  async find(kid: string): Promise<JWK | undefined> {
    for (const trustMs of [TRUST_MS, TRUST_ABSENCE_MS]) {
      const found = verifyingKeys(await this.#list(trustMs), this.#parts.clock.now()).find((row) => row.kid === kid);
      if (found !== undefined) return found.public_key;
    }
    return undefined;
  }

  /** The key that signs now. Creates the first key, and the next one when the rotation is due. A key that the secret key cannot open
   *  signs nothing, and another one replaces it at once. */
  async signer(): Promise<{ kid: string; key: CryptoKey }> {
    let rows = this.#openable(await this.#list());
    if (isRotationDue(rows, this.#parts.clock.now())) {
      const key = await this.#newKey();
      await this.#parts.db.transaction(async (tx) => {
        await lockSigningKeys(tx);
        // Another node may have created it meanwhile.
        const present = await listSigningKeys(tx);
        const openable = this.#openable(present);
        if (!isRotationDue(openable, this.#parts.clock.now())) return;
        await this.#store(tx, key, openable);
        if (openable.length < present.length)
          this.#parts.log?.warn(
            { event: "access.signing_key_unreadable", keys: present.length - openable.length },
            "signing keys cannot be opened with the secret key",
          );
      });
      rows = this.#openable(await this.#list(0));
    }
    const row = signerAmong(rows, this.#parts.clock.now());
    assert(row !== undefined, "a signing key that was just created exists");
    return { kid: row.kid, key: await importPrivate(row, this.#parts.box) };
  }

  /** Creates a new key, which signs after it has been published for a while. A key that already waits to sign is used instead. Tokens
   *  of the old keys stay valid until they expire. With `isRevoking` they become invalid, and the new key signs at once. */
  async rotate(isRevoking: boolean, origin: ChangeOrigin): Promise<SigningKey[]> {
    const { db, clock } = this.#parts;
    const key = await this.#newKey();
    await db.transaction(async (tx) => {
      await lockSigningKeys(tx);
      const nowMs = clock.now();
      if (isRevoking) await deleteSigningKeys(tx, kidsOf(await listSigningKeys(tx)));
      const rows = this.#openable(await listSigningKeys(tx));
      if (rows.some(({ active_from: activeFrom }) => activeFrom.getTime() > nowMs)) return;
      await this.#store(tx, key, rows);
      const target = { type: "signing_key", id: null } as const;
      await recordInstallationChange(tx, nowMs, origin, { action: "signing_key.rotated", target, changes: { revokes: isRevoking } });
    });
    return verifyingKeys(await this.#list(0), clock.now()).map(toSigningKey);
  }

  #openable(rows: readonly SigningKeyRow[]): SigningKeyRow[] {
    return rows.filter(({ kid, private_key: sealed }) => this.#parts.box.canOpen(sealed, sealContext(kid)));
  }

  /** Stores a key, and deletes those that have expired. The first key signs at once. */
  async #store(tx: Tx, key: NewKey, before: readonly SigningKeyRow[]): Promise<void> {
    const nowMs = this.#parts.clock.now();
    await insertSigningKey(tx, { ...key, active_from: new Date(before.length === 0 ? nowMs : nowMs + PUBLISH_AHEAD_MS) });
    const rows = await listSigningKeys(tx);
    const kept = new Set(kidsOf(validKeys(rows, nowMs)));
    const expired = kidsOf(rows).filter((kid) => !kept.has(kid));
    await deleteSigningKeys(tx, expired);
  }

  /** Makes a key before the transaction that stores it. */
  async #newKey(): Promise<NewKey> {
    const pair = await generateKeyPair(ALGORITHM, { crv: "Ed25519", extractable: true });
    const publicKey = await exportJWK(pair.publicKey);
    const kid = await calculateJwkThumbprint(publicKey);
    const privateKey = this.#parts.box.seal(JSON.stringify(await exportJWK(pair.privateKey)), sealContext(kid));
    return { kid, public_key: publicKey, private_key: privateKey };
  }

  /** The keys, from a list that is at most this old. */
  #list(trustMs = TRUST_MS): Promise<SigningKeyRow[]> {
    if (this.#listed === undefined || performance.now() - this.#listed.startedAt >= trustMs)
      this.#listed = { rows: listSigningKeys(this.#parts.db), startedAt: performance.now() };
    return this.#listed.rows;
  }
}

const kidsOf = (rows: readonly SigningKeyRow[]): string[] => rows.map(({ kid }) => kid);

/** Binds an encrypted private key to its id. */
const sealContext = (kid: string): string => `signing key ${kid}`;

const toSigningKey = ({ kid, public_key: publicKey, active_from: activeFrom }: SigningKeyRow): SigningKey => ({
  kid,
  publicKey,
  activeFromMs: activeFrom.getTime(),
});

const importPrivate = async ({ kid, private_key: sealed }: SigningKeyRow, box: SecretBox): Promise<CryptoKey> =>
  (await importJWK(JSON.parse(box.open(sealed, sealContext(kid))) as JWK, ALGORITHM)) as CryptoKey;

/** The newest key that is active; rows are the newest first. Without an active key, the oldest one signs: there is no other, and a node
 *  whose clock is a little ahead may have just created it. */
const signerAmong = (rows: readonly SigningKeyRow[], nowMs: number): SigningKeyRow | undefined =>
  rows.find(({ active_from: activeFrom }) => activeFrom.getTime() <= nowMs) ?? rows.at(-1);

/** Whether the newest key, which may not sign yet, has signed for its whole period, or there is none. */
const isRotationDue = ([newest]: readonly SigningKeyRow[], nowMs: number): boolean =>
  newest === undefined || newest.active_from.getTime() + ROTATE_AFTER_MS <= nowMs;

/** The keys whose tokens may still be valid: those without a successor that has signed for longer than the life of a token. */
const validKeys = (rows: readonly SigningKeyRow[], nowMs: number): SigningKeyRow[] =>
  rows.filter((_, index) => {
    const successor = rows[index - 1];
    return successor === undefined || nowMs < successor.active_from.getTime() + TOKEN_LIFE_SECONDS * 1_000 + LEEWAY_MS;
  });

/** Valid keys whose public part can be read. */
const verifyingKeys = (rows: readonly SigningKeyRow[], nowMs: number): SigningKeyRow[] =>
  validKeys(rows, nowMs).filter(({ public_key: key }) => (key as JWK | null)?.kty === "OKP");

/** Encrypts the private keys again after a change of the secret key, as far as they can be opened. */
export async function resealSigningKeys(tx: Tx, box: SecretBox): Promise<void> {
  for (const { kid, private_key: sealed } of await listSigningKeys(tx)) {
    const resealed = box.reseal(sealed, sealContext(kid));
    if (resealed !== undefined) await storePrivateKey(tx, kid, resealed);
  }
}
