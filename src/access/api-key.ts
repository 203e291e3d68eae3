/** API keys: their form, their creation and their rotation. A key is `gw_live_` and 32 random base-62 digits (190 bits), then eight digits
 *  of a checksum. The checksum is keyed by the installation, so that a mistyped or made-up key is recognised without the database. Keys of
 *  the first form have six digits of a CRC instead. Only the hash of a key is stored. */
import { createHmac, hash } from "node:crypto";
import { crc32 } from "node:zlib";
import { randomBase62, toBase62 } from "../lib/base62.ts";
import { newId, type AccountId } from "../lib/id.ts";
import type { Clock } from "../storage/database-clock.ts";
import type { Database, Tx } from "../storage/database.ts";
import type { Environment } from "../storage/owner.ts";
import { expireKey, findChecksumSecret, insertKey, insertKeyHash, type KeyRow } from "./queries.ts";
import type { Scope } from "./scope.ts";

const SECRET_DIGITS = 32;
const CHECKSUM_DIGITS = 8;
// 62^8 is greater than 2^47, so six bytes without their highest bit always fit.
const CHECKSUM_BYTES = 6;
const MAX_CHECKSUM = 2 ** 47;
const CRC_DIGITS = 6;
const FORM = new RegExp(`^gw_(?:test|live)_[0-9A-Za-z]{${SECRET_DIGITS + CHECKSUM_DIGITS}}$`);
const FIRST_FORM = new RegExp(`^gw_(?:test|live)_[0-9A-Za-z]{${SECRET_DIGITS + CRC_DIGITS}}$`);
const HINT_DIGITS = 4;

function checksum(text: string, checksumSecret: Buffer): string {
  const bytes = createHmac("sha256", checksumSecret).update(text).digest();
  return toBase62(bytes.readUIntBE(0, CHECKSUM_BYTES) % MAX_CHECKSUM, CHECKSUM_DIGITS);
}

export function newApiKey(environment: Environment, checksumSecret: Buffer): string {
  const text = `gw_${environment}_${randomBase62(SECRET_DIGITS)}`;
  return text + checksum(text, checksumSecret);
}

/** Whether the installation with this secret made the key. */
export const hasKeyedChecksum = (text: string, checksumSecret: Buffer): boolean =>
  FORM.test(text) && checksum(text.slice(0, -CHECKSUM_DIGITS), checksumSecret) === text.slice(-CHECKSUM_DIGITS);

/** Whether the text is a key of the first form, which anybody can make up. */
export const isOfFirstForm = (text: string): boolean =>
  FIRST_FORM.test(text) && toBase62(crc32(text.slice(0, -CRC_DIGITS)), CRC_DIGITS) === text.slice(-CRC_DIGITS);

/** A plain SHA-256 is enough: 190 random bits cannot be guessed, so a slow hash has no benefit. */
export const hashApiKey = (text: string): Buffer => hash("sha256", text, "buffer");

/** The beginning of the key, such as `gw_live_Ab3x…`, by which people recognise it. */
export const apiKeyHint = (text: string): string => `${text.slice(0, "gw_live_".length + HINT_DIGITS)}…`;

export type KeyRequest = {
  accountId: AccountId;
  environment: Environment;
  scopes: readonly Scope[];
  name: string | null;
  expiresAt: Date | null;
};

/** Only this result contains the secret. The database has its hash. */
export type CreatedKey = { secret: string; key: KeyRow };

export const createKey = async (db: Database, clock: Clock, request: KeyRequest): Promise<CreatedKey> =>
  db.transaction((tx) => createKeyIn(tx, clock, request));

export async function createKeyIn(
  tx: Tx,
  clock: Clock,
  { accountId, environment, scopes, name, expiresAt }: KeyRequest,
): Promise<CreatedKey> {
  const secret = newApiKey(environment, await findChecksumSecret(tx));
  const id = newId("key", clock.now());
  const [key] = await insertKey(tx, { accountId, id, environment, scopes, name, expiresAt, hint: apiKeyHint(secret) });
  await insertKeyHash(tx, hashApiKey(secret), accountId, id);
  return { secret, key: key as KeyRow };
}

/** Creates a new key with the scopes of the old one. The old key works until the overlap ends. */
export const rotateKey = async (db: Database, clock: Clock, old: KeyRow, overlapSeconds: number): Promise<CreatedKey> =>
  db.transaction((tx) => rotateKeyIn(tx, clock, old, { overlapSeconds, expiresAt: null }));

export type Rotation = { overlapSeconds: number; expiresAt: Date | null };

export async function rotateKeyIn(tx: Tx, clock: Clock, old: KeyRow, { overlapSeconds, expiresAt }: Rotation): Promise<CreatedKey> {
  const { account_id: accountId, environment, scopes, name } = old;
  const created = await createKeyIn(tx, clock, { accountId, environment, scopes, name, expiresAt });
  await expireKey(tx, accountId, old.id, overlapSeconds);
  return created;
}
