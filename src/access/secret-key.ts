/** All nodes of one database must hold the same secret key, or one cannot read what another wrote. The database keeps a
 *  keyed hash of a constant, which tells equal from different and nothing else. */
import { createHmac, timingSafeEqual } from "node:crypto";
import type { Database } from "../storage/database.ts";
import { StartupError } from "../storage/startup-error.ts";
import { keepSecretKeyCheck } from "./queries.ts";

export async function checkSecretKey(db: Database, secretKey: Buffer): Promise<void> {
  const mine = createHmac("sha256", secretKey).update("godwit secret key check").digest();
  const [row] = await keepSecretKeyCheck(db, mine);
  if (row !== undefined && timingSafeEqual(row.secret_key_check, mine)) return;
  throw new StartupError(
    "the secret key differs from the one this database was set up with: start every node with the same GODWIT_SECRET_KEY",
  );
}
