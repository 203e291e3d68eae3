/** The keys that tokens are signed with. They are in the database, private parts sealed, so that every node signs and reads alike. A key
 *  is published before it signs, signs for ninety days, and is known until the last token it signed is over. */
import { calculateJwkThumbprint, exportJWK, generateKeyPair, importJWK, type CryptoKey, type JWK } from "jose";
import { assert } from "../lib/assert.ts";
import { remembered } from "../lib/remembered.ts";
import type { SecretBox } from "../lib/secret-box.ts";
import type { Clock } from "../storage/database-clock.ts";
import type { Database, Tx } from "../storage/database.ts";
import { deleteSigningKeys, insertSigningKey, listSigningKeys, lockSigningKeys, storePrivateKey, type SigningKeyRow } from "./queries.ts";

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

export type SigningKey = { kid: string; publicKey: JWK; activeFromMs: number };

export type SigningKeysParts = { db: Database; clock: Clock; box: SecretBox };

export class SigningKeys {
  readonly #parts: SigningKeysParts;
  #list: () => Promise<SigningKeyRow[]>;

  constructor(parts: SigningKeysParts) {
    this.#parts = parts;
    this.#list = this.#reader();
  }

  /** What others may verify with: those that sign, have signed what still counts, or soon will. */
  async published(): Promise<SigningKey[]> {
    return counting(await this.#list(), this.#parts.clock.now()).map(toSigningKey);
  }

  /** The public key of that name; undefined when nothing that it signed counts. */
  async find(kid: string): Promise<JWK | undefined> {
    return (await this.published()).find((key) => key.kid === kid)?.publicKey;
  }

  /** The key that signs now. Makes the first one, and the next one when its time has come. */
  async signer(): Promise<{ kid: string; key: CryptoKey }> {
    let rows = await this.#list();
    if (isRotationDue(rows, this.#parts.clock.now())) {
      await this.#parts.db.transaction((tx) => this.#makeNext(tx));
      this.#list = this.#reader();
      rows = await this.#list();
    }
    const row = signerAmong(rows, this.#parts.clock.now());
    assert(row !== undefined, "a signing key that was just made is there");
    return { kid: row.kid, key: await importPrivate(row, this.#parts.box) };
  }

  /** A new key, which signs once it has been published for a while. What was signed before goes on counting until it is over; with
   *  `isRevoking` it counts no more, and the new key signs at once. */
  async rotate(isRevoking: boolean): Promise<SigningKey[]> {
    const { db, clock } = this.#parts;
    await db.transaction(async (tx) => {
      await lockSigningKeys(tx);
      if (isRevoking) await deleteSigningKeys(tx, kidsOf(await listSigningKeys(tx)));
      await this.#insert(tx, clock.now() + (isRevoking ? 0 : PUBLISH_AHEAD_MS));
      await this.#deleteOver(tx);
    });
    this.#list = this.#reader();
    return this.published();
  }

  async #makeNext(tx: Tx): Promise<void> {
    const nowMs = this.#parts.clock.now();
    await lockSigningKeys(tx);
    // A neighbour may have made it meanwhile.
    const rows = await listSigningKeys(tx);
    if (!isRotationDue(rows, nowMs)) return;
    await this.#insert(tx, signerAmong(rows, nowMs) === undefined ? nowMs : nowMs + PUBLISH_AHEAD_MS);
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

  #reader(): () => Promise<SigningKeyRow[]> {
    return remembered(TRUST_MS, () => listSigningKeys(this.#parts.db));
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

/** Rows are the newest first. */
const signerAmong = (rows: readonly SigningKeyRow[], nowMs: number): SigningKeyRow | undefined =>
  rows.find(({ active_from: activeFrom }) => activeFrom.getTime() <= nowMs);

/** Whether the newest, which may not sign yet, has had its time; or there is none that can sign. */
function isRotationDue(rows: readonly SigningKeyRow[], nowMs: number): boolean {
  const [newest] = rows;
  return signerAmong(rows, nowMs) === undefined || newest === undefined || newest.active_from.getTime() + ROTATE_AFTER_MS <= nowMs;
}

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
