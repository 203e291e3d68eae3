/** All SQL of parts: one row for each part of a message that went in several. */
import type { Environment } from "../access/environment.ts";
import type { Uuid } from "../lib/uuid.ts";
import { FURTHER_PARTS } from "../receipts/queries.ts";
import type { Queryable, Tx } from "../storage/database.ts";
import { sql } from "../storage/sql.ts";
import type { KnownPart, Part } from "./part.ts";

type Whose = { accountId: Uuid; environment: Environment; id: Uuid };

// An answer that came late moves nothing: the names in it speak of the parts that are there, or are the first that is known of them.
const IS_NEWS = `(sequence > expected or not exists (
           select from message_parts known
            where known.account_id = accepted.account_id and known.environment = accepted.environment and known.message_id = accepted.message_id))`;

/** The parts of the messages in `accepted` that went in several. Sent again, they have other names, and nothing is known of them yet. */
export const insertParts = `
  insert into message_parts (account_id, environment, message_id, number, provider_message_id, status, updated_at)
  select account_id, environment, message_id, 1, reference_id, 'sent', updated_at
    from accepted
   where further_ids is not null and ${IS_NEWS}
  union all
  select account_id, environment, message_id, part.number + 1, part.id, 'sent', updated_at
    from accepted
   cross join lateral ${FURTHER_PARTS}
   where ${IS_NEWS}
  on conflict (account_id, environment, message_id, number) do update
     set provider_message_id = excluded.provider_message_id, status = excluded.status, error = null, updated_at = excluded.updated_at`;

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
