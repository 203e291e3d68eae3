/** All SQL of fallbacks: what is tried next, and when. Rows are written by the statements that accept and advance messages. */
import type { AccountId, MessageId } from "../lib/id.ts";
import type { Queryable, Tx } from "../storage/database.ts";
import { sql } from "../storage/sql.ts";
import type { Environment } from "../storage/owner.ts";

export type DueFallback = { message_id: MessageId; account_id: AccountId; environment: Environment };

/** Takes what is due into this process's hands for as long as a lease lasts. The lease only spares others the work: that a step
 *  begins once is up to whoever takes the row away. */
export const claimDueFallbacks = (db: Queryable, leaseMs: number, most: number): Promise<DueFallback[]> =>
  db.rows<DueFallback>(sql`
  update fallbacks f
     set due_at = now() + ${leaseMs}::integer * interval '1 millisecond'
   where f.message_id = any (array(select message_id
                                     from fallbacks
                                    where due_at <= now()
                                    order by due_at
                                    limit ${most}
                                      for update skip locked))
  returning f.message_id, f.account_id, f.environment`);

/** The row goes, and with it the right to begin its next step: none is returned to whoever comes second. The message is locked
 *  before, as it is by the statement that hurries, so that nobody waits for each other. */
export const takeFallback = (tx: Tx, messageId: MessageId): Promise<{ steps: string }[]> =>
  tx.rows<{ steps: string }>(sql`
  delete from fallbacks
   where message_id = ${messageId}
  returning steps`);

/** The message itself was put off, or brought forward. */
export const shiftFallback = (tx: Tx, messageId: MessageId, byMs: number): Promise<unknown[]> =>
  tx.rows(sql`
  update fallbacks
     set due_at = due_at + ${byMs}::float8 * interval '1 millisecond'
   where message_id = ${messageId}`);
