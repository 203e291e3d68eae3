/** Erases the consent of a recipient: suppressions, their history and service windows. Active opt-outs stay as keyed hashes, so that the
 *  recipient gets no messages although the number is not stored any more. */
import type { Recipient } from "../model/phone-number.ts";
import type { Tx } from "../database/database.ts";
import type { Owner } from "../model/owner.ts";
import { deleteConsent, keepErasedOptOuts } from "./queries.ts";
import { lockConsent } from "./refusal.ts";

/** Returns how many suppressions were erased, active or lifted. The caller's transaction keeps sends to the recipient out. */
export async function eraseConsent(tx: Tx, owner: Owner, recipient: Recipient, nowMs: number): Promise<{ suppressions: number }> {
  await lockConsent(tx, [{ ...owner, recipient }]);
  await keepErasedOptOuts(tx, owner, recipient, nowMs);
  return { suppressions: await deleteConsent(tx, owner, recipient) };
}
