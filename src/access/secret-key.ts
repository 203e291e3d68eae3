/** Checks that all nodes of one database have the same secret key, so that each can read the secrets that another one wrote. The database
 *  has a keyed hash of a constant, which shows only whether two keys are equal. */
import { createHmac, timingSafeEqual } from "node:crypto";
import { existsSync } from "node:fs";
import type { Database, Queryable, Tx } from "../database/database.ts";
import { StartupError } from "../database/startup-error.ts";
import { readOrMakeSecretKey, secretKeyPath } from "../embedded/data-directory.ts";
import { changeSecretKeyCheck, readInstallation, storeSecretKeyCheck } from "./queries.ts";

export type SecretKeys = { secretKey: Buffer; previousSecretKey: Buffer | undefined };

/** Returns the key in the data directory. Creates one only for a database that has never had a key: a new key could not decrypt its secrets,
 *  and would look like the right one in a backup. */
export async function readDirectoryKey(db: Queryable, dataDir: string, mayCreate: boolean): Promise<Buffer> {
  // The database is read first: another process stores the file before it stores the check.
  const { secret_key_check: stored } = await readInstallation(db);
  const path = secretKeyPath(dataDir);
  if (existsSync(path) || (stored === null && mayCreate)) return readOrMakeSecretKey(dataDir);
  if (stored === null) throw new StartupError(`${path} does not exist yet: start the service once, which creates it`);
  throw new StartupError(
    `${path} is missing, with which this database was set up: copy it from where you keep it apart from the backups, ` +
      "or set GODWIT_SECRET_KEY to its content (docs/emergencies.md, Secret key is lost)",
  );
}

/** Throws unless the database uses this key. If it uses the previous key, the new key replaces it, and `reseal` encrypts all stored
 *  secrets again in the same transaction. */
export async function checkSecretKey(
  db: Database,
  { secretKey, previousSecretKey }: SecretKeys,
  reseal: (tx: Tx) => Promise<void>,
): Promise<void> {
  const mine = keyCheck(secretKey);
  const [row] = await storeSecretKeyCheck(db, mine);
  if (row !== undefined && timingSafeEqual(row.secret_key_check, mine)) return;
  const before = previousSecretKey && keyCheck(previousSecretKey);
  if (row !== undefined && before !== undefined && timingSafeEqual(row.secret_key_check, before)) {
    return db.transaction(async (tx) => {
      // Another node may have changed the key meanwhile.
      if ((await changeSecretKeyCheck(tx, before, mine)).length > 0) await reseal(tx);
    });
  }
  throw new StartupError(
    "the secret key differs from the one this database was set up with: start every node with the same GODWIT_SECRET_KEY, " +
      "or, to change it, with the old one as GODWIT_PREVIOUS_SECRET_KEY",
  );
}

/** Compares the keys with the key of the database, which may have none yet. Changes nothing. */
export async function compareSecretKey(
  db: Queryable,
  { secretKey, previousSecretKey }: SecretKeys,
): Promise<"same" | "previous" | "different" | "none"> {
  const { secret_key_check: stored } = await readInstallation(db);
  if (stored === null) return "none";
  if (timingSafeEqual(stored, keyCheck(secretKey))) return "same";
  return previousSecretKey !== undefined && timingSafeEqual(stored, keyCheck(previousSecretKey)) ? "previous" : "different";
}

const keyCheck = (secretKey: Buffer): Buffer => createHmac("sha256", secretKey).update("godwit secret key check").digest();
