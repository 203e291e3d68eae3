/** Fallbacks: the messages that are sent, one after the other, when a message is not delivered. The accept statement writes the rows and
 *  the advance statement makes them due early; all other SQL of fallbacks is here. */
import type { AccountId, MessageId } from "../model/id.ts";
import type { Channel } from "../links/channel.ts";
import type { Queryable, Tx } from "../database/database.ts";
import type { Environment } from "../model/owner.ts";
import { sql } from "../database/sql.ts";
import type { Content } from "./message.ts";

/** A step is decided when the message is accepted. A later change of its template does not change the step. */
export type FallbackStep = {
  channel: Channel;
  content: Content;
  /** The content that the record shows, if the content is a secret. */
  shown: Content | null;
  /** How long the previous message has to be delivered. */
  afterSeconds: number;
};

/** The steps as JSON, sealed if they contain a secret, and the time at which the first is due unless the message fails earlier. */
export type NewFallback = { steps: string; dueAtMs: number };

export type DueFallback = { message_id: MessageId; account_id: AccountId; environment: Environment };

/** Claims due fallbacks for as long as a lease lasts. The lease only saves other nodes the work: a step starts once because only one
 *  transaction can remove the row. */
export const claimDueFallbacks = (
  db: Queryable,
  { dueMs, leaseEndMs }: { dueMs: number; leaseEndMs: number },
  most: number,
): Promise<DueFallback[]> =>
  db.rows<DueFallback>(sql`
  update fallbacks f
     set due_at = ${new Date(leaseEndMs)}
   where f.message_id = any (array(select message_id
                                     from fallbacks
                                    where due_at <= ${new Date(dueMs)}
                                    order by due_at
                                    limit ${most}
                                      for update skip locked))
  returning f.message_id, f.account_id, f.environment`);

/** Removes the fallback of a message and returns its steps. The transaction that gets the steps may start the next one; a second
 *  transaction gets nothing. The caller locks the message first, as the advance statement does, so that the two cannot deadlock. */
export const removeFallback = (tx: Tx, messageId: MessageId): Promise<{ steps: string }[]> =>
  tx.rows<{ steps: string }>(sql`
  delete from fallbacks
   where message_id = ${messageId}
  returning steps`);

/** Moves the due time of a fallback, because an edit moved the time of its message. Returns the steps. */
export const shiftFallback = (tx: Tx, messageId: MessageId, byMs: number): Promise<{ steps: string }[]> =>
  tx.rows<{ steps: string }>(sql`
  update fallbacks
     set due_at = due_at + ${byMs}::float8 * interval '1 millisecond'
   where message_id = ${messageId}
  returning steps`);

/** The time until which a message or a step of its fallback can be sent: each step has the time to live of the message. */
export const latestSendMs = (startMs: number, ttlMs: number, afterSeconds: readonly number[]): number =>
  afterSeconds.reduce((sumMs, seconds) => sumMs + seconds * 1_000, startMs + ttlMs);
