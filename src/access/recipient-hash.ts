/** The keyed hash of a recipient, by which an erased recipient is recognized. The random key is stored sealed, and does not change with the
 *  secret key: a hash cannot be computed again without the number. PostgreSQL computes the same hash (`hash_recipient`). */
import { createHmac, randomBytes } from "node:crypto";
import type { AccountId } from "../model/id.ts";
import type { SecretBox } from "../lib/secret-box.ts";
import type { Database, Queryable, Tx } from "../database/database.ts";
import { insertRecipientKey, readInstallation, replaceRecipientKey } from "./queries.ts";

const KEY_BYTES = 32;
const BLOCK_BYTES = 64;
const CONTEXT = "recipient key";

/** Returns the hash in hexadecimal digits. It differs for the same number in two accounts. */
export type HashRecipient = (accountId: AccountId, recipient: string) => string;

/** The two blocks of the HMAC, which PostgreSQL needs for the hash. */
function blocksOf(key: Buffer): string {
  const padded = Buffer.alloc(BLOCK_BYTES);
  key.copy(padded);
  return [0x36, 0x5c]
    .map((pad) => padded.map((byte) => byte ^ pad))
    .map((block) => Buffer.from(block).toString("hex"))
    .join("");
}

/** Reads the key, or makes it at the first start, and gives it to the sessions of a pool: of this database, or of its standby. */
export async function openRecipientHasher(db: Database, box: SecretBox, pool = db): Promise<HashRecipient> {
  const sealed = (await readInstallation(db)).recipient_key ?? (await makeKey(db, box));
  const key = Buffer.from(box.open(sealed, CONTEXT), "base64");
  pool.setForSessions("godwit.recipient_key", blocksOf(key));
  return (accountId, recipient) => createHmac("sha256", key).update(accountId).update(recipient, "utf8").digest("hex");
}

/** Another node may make the key at the same time. The first one counts. */
async function makeKey(db: Queryable, box: SecretBox): Promise<string> {
  await insertRecipientKey(db, box.seal(randomBytes(KEY_BYTES).toString("base64"), CONTEXT));
  return (await readInstallation(db)).recipient_key as string;
}

/** Seals the key again after a change of the secret key. */
export async function resealRecipientKey(tx: Tx, box: SecretBox): Promise<void> {
  const { recipient_key: sealed } = await readInstallation(tx);
  if (sealed !== null) await replaceRecipientKey(tx, box.seal(box.open(sealed, CONTEXT), CONTEXT));
}
