/** The keys that tokens are signed with. They are in the database, private parts sealed, so that every node signs and reads alike. A key
 *  is published before it signs, signs for ninety days, and is known until the last token it signed is over. */
import { calculateJwkThumbprint, exportJWK, generateKeyPair, importJWK, type CryptoKey, type JWK } from "jose";
import { assert } from "../lib/assert.ts";
import type { SecretBox } from "../lib/secret-box.ts";
import type { Clock } from "../storage/database-clock.ts";
import type { Database, Tx } from "../storage/database.ts";
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
// Whoever keeps a copy of the published keys looks again at least this often.
const PUBLISH_AHEAD_MS = 15 * 60_000;
// Clocks differ, and a token may be under way when it ends.
const LEEWAY_MS = 5 * 60_000;
// A key that was revoked must stop counting within a second or so on every node.
const TRUST_MS = 1_000;
// A key that is not known here may have been made by a neighbour just now; or by nobody, which must not cost a question each.
const TRUST_ABSENCE_MS = 100;

export type SigningKey = { kid: string; publicKey: JWK; activeFromMs: number };

export type SigningKeysParts = { db: Database; clock: Clock; box: SecretBox };

export class SigningKeys {
  readonly #parts: SigningKeysParts;
  #listed: { rows: Promise<SigningKeyRow[]>; askedAt: number } | undefined;

  constructor(parts: SigningKeysParts) {
    this.#parts = parts;
  }

  /** What others may verify with: those that sign, have signed what still counts, or soon will. */
  async published(): Promise<SigningKey[]> {
    return counting(await this.#list(), this.#parts.clock.now()).map(toSigningKey);
  }

  /** The public key of that name; undefined when nothing that it signed counts. */
  async find(kid: string): Promise<JWK | undefined> {
    for (const trustMs of [TRUST_MS, TRUST_ABSENCE_MS]) {
      const found = counting(await this.#list(trustMs), this.#parts.clock.now()).find((row) => row.kid === kid);
      if (found !== undefined) return found.public_key;
    }
    return undefined;
  }

  /** The key that signs now. Makes the first one, and the next one when its time has come. */
  async signer(): Promise<{ kid: string; key: CryptoKey }> {
    let rows = await this.#list();
    if (isRotationDue(rows, this.#parts.clock.now())) {
      await this.#parts.db.transaction((tx) => this.#makeNext(tx));
      rows = await this.#list(0);
    }
    const row = signerAmong(rows, this.#parts.clock.now());
    assert(row !== undefined, "a signing key that was just made is there");
    return { kid: row.kid, key: await importPrivate(row, this.#parts.box) };
  }

  /** A new key, which signs once it has been published for a while; one that waits to sign already is it. What was signed before goes
   *  on counting until it is over; with `isRevoking` it counts no more, and the new key signs at once. */
  async rotate(isRevoking: boolean): Promise<SigningKey[]> {
    const { db, clock } = this.#parts;
    await db.transaction(async (tx) => {
      await lockSigningKeys(tx);
      const rows = await listSigningKeys(tx);
      const nowMs = clock.now();
      if (isRevoking) await deleteSigningKeys(tx, kidsOf(rows));
      else if (rows.some(({ active_from: activeFrom }) => activeFrom.getTime() > nowMs)) return;
      await this.#insert(tx, isRevoking || rows.length === 0 ? nowMs : nowMs + PUBLISH_AHEAD_MS);
      await this.#deleteOver(tx);
    });
    return counting(await this.#list(0), clock.now()).map(toSigningKey);
  }

  async #makeNext(tx: Tx): Promise<void> {
    await lockSigningKeys(tx);
    // A neighbour may have made it meanwhile.
    const rows = await listSigningKeys(tx);
    const nowMs = this.#parts.clock.now();
    if (!isRotationDue(rows, nowMs)) return;
    await this.#insert(tx, rows.length === 0 ? nowMs : nowMs + PUBLISH_AHEAD_MS);
    await this.#deleteOver(tx);
  }

  async #insert(tx: Tx, activeFromMs: number): Promise<void> {
    const pair = await generateKeyPair(ALGORITHM, { crv: "Ed25519", extractable: true });
    const publicKey = await exportJWK(pair.publicKey);
    const kid = await calculateJwkThumbprint(publicKey);
    const privateKey = this.#parts.box.seal(JSON.stringify(await exportJWK(pair.privateKey)), placeOf(kid));
    await insertSigningKey(tx, { kid, public_key: publicKey, private_key: privateKey, active_from: new Date(activeFromMs) });
  }

  async #deleteOver(tx: Tx): Promise<void> {
    const rows = await listSigningKeys(tx);
    const kept = new Set(kidsOf(counting(rows, this.#parts.clock.now())));
    await deleteSigningKeys(
      tx,
      kidsOf(rows).filter((kid) => !kept.has(kid)),
    );
  }

  /** Read at most so long ago. */
  #list(trustMs = TRUST_MS): Promise<SigningKeyRow[]> {
    if (this.#listed === undefined || performance.now() - this.#listed.askedAt >= trustMs)
      this.#listed = { rows: listSigningKeys(this.#parts.db), askedAt: performance.now() };
    return this.#listed.rows;
  }
}

const kidsOf = (rows: readonly SigningKeyRow[]): string[] => rows.map(({ kid }) => kid);

const placeOf = (kid: string): string => `signing key ${kid}`;

const toSigningKey = ({ kid, public_key: publicKey, active_from: activeFrom }: SigningKeyRow): SigningKey => ({
  kid,
  publicKey,
  activeFromMs: activeFrom.getTime(),
});

const importPrivate = async ({ kid, private_key: sealed }: SigningKeyRow, box: SecretBox): Promise<CryptoKey> =>
  (await importJWK(JSON.parse(box.open(sealed, placeOf(kid))) as JWK, ALGORITHM)) as CryptoKey;

/** Rows are the newest first. Where none has reached its time the first to reach it signs: there is nobody else, and it may have been
 *  made this moment by a node whose clock is a little ahead. */
const signerAmong = (rows: readonly SigningKeyRow[], nowMs: number): SigningKeyRow | undefined =>
  rows.find(({ active_from: activeFrom }) => activeFrom.getTime() <= nowMs) ?? rows.at(-1);

/** Whether the newest, which may not sign yet, has had its time; or there is none. */
const isRotationDue = ([newest]: readonly SigningKeyRow[], nowMs: number): boolean =>
  newest === undefined || newest.active_from.getTime() + ROTATE_AFTER_MS <= nowMs;

/** Those of which something may still count: without a successor that has signed for as long as a token lives. */
const counting = (rows: readonly SigningKeyRow[], nowMs: number): SigningKeyRow[] =>
  rows.filter((_, index) => {
    const successor = rows[index - 1];
    return successor === undefined || nowMs < successor.active_from.getTime() + TOKEN_LIFE_SECONDS * 1_000 + LEEWAY_MS;
  });

/** Seals the private keys anew, when the server's secret key has changed. */
export async function resealSigningKeys(tx: Tx, box: SecretBox): Promise<void> {
  for (const { kid, private_key: sealed } of await listSigningKeys(tx)) {
    const place = placeOf(kid);
    await storePrivateKey(tx, kid, box.seal(box.open(sealed, place), place));
  }
}
