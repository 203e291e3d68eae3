/** All SQL of parts: one row for each part of a message that went in several. */
import type { MessageId } from "../lib/id.ts";
import type { Queryable, Tx } from "../storage/database.ts";
import { sql } from "../storage/sql.ts";
import type { KnownPart, Part } from "./part.ts";
import type { Owner } from "../storage/owner.ts";

type Whose = Owner & { id: MessageId };

/** In their order. */
export const readParts = <S, F>(db: Queryable, { accountId, environment, id }: Whose): Promise<KnownPart<S, F>[]> =>
  db.rows<KnownPart<S, F>>(sql`
  select number, provider_message_id, status, error, updated_at
    from message_parts
   where account_id = ${accountId} and environment = ${environment} and message_id = ${id}
   order by number`);

export const storePart = (tx: Tx, { accountId, environment, id }: Whose, part: Part<string, object>, nowMs: number): Promise<unknown[]> =>
  tx.rows(sql`
  update message_parts
     set status = ${part.status}, error = ${part.error && JSON.stringify(part.error)}::json,
         updated_at = to_timestamp(${nowMs / 1_000}::float8)
   where account_id = ${accountId} and environment = ${environment} and message_id = ${id} and number = ${part.number}`);
