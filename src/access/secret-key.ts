/** All nodes of one database must hold the same secret key, or one cannot read what another wrote. The database keeps a
 *  keyed hash of a constant, which tells equal from different and nothing else. */
import { createHmac, timingSafeEqual } from "node:crypto";
import type { Database, Queryable, Tx } from "../storage/database.ts";
import { StartupError } from "../storage/startup-error.ts";
import { changeSecretKeyCheck, findSecretKeyCheck, keepSecretKeyCheck } from "./queries.ts";

export type SecretKeys = { secretKey: Buffer; previousSecretKey: Buffer | undefined };

/** Throws unless the key is the database's. Where the key before is the database's, the new one takes its place, and `reseal`
 *  does so with all that was sealed, in the same transaction. */
export async function checkSecretKey(
  db: Database,
  { secretKey, previousSecretKey }: SecretKeys,
  reseal: (tx: Tx) => Promise<void>,
): Promise<void> {
  const mine = checkOf(secretKey);
  const [row] = await keepSecretKeyCheck(db, mine);
  if (row !== undefined && timingSafeEqual(row.secret_key_check, mine)) return;
  const before = previousSecretKey && checkOf(previousSecretKey);
  if (row !== undefined && before !== undefined && timingSafeEqual(row.secret_key_check, before)) {
    return db.transaction(async (tx) => {
      // Another node may have done it meanwhile.
      if ((await changeSecretKeyCheck(tx, before, mine)).length > 0) await reseal(tx);
    });
  }
  throw new StartupError(
    "the secret key differs from the one this database was set up with: start every node with the same GODWIT_SECRET_KEY, " +
      "or, to change it, with the old one as GODWIT_PREVIOUS_SECRET_KEY",
  );
}

/** Whether a key is the database's, the one before it is, neither, or the database has none yet. Changes nothing. */
export async function compareSecretKey(
  db: Queryable,
  { secretKey, previousSecretKey }: SecretKeys,
): Promise<"same" | "previous" | "different" | "none"> {
  const [row] = await findSecretKeyCheck(db);
  const kept = row?.secret_key_check;
  if (!kept) return "none";
  if (timingSafeEqual(kept, checkOf(secretKey))) return "same";
  return previousSecretKey !== undefined && timingSafeEqual(kept, checkOf(previousSecretKey)) ? "previous" : "different";
}

const checkOf = (secretKey: Buffer): Buffer => createHmac("sha256", secretKey).update("godwit secret key check").digest();
