/** All SQL of the request log. */
import { batchStatement, column, type Column } from "../database/batch.ts";
import type { Queryable } from "../database/database.ts";
import { readPage, scanStatement, type ListPage } from "../database/scan-page.ts";
import { prepare, sql } from "../database/sql.ts";
import { firstUuidAt, type Uuid } from "../lib/uuid.ts";
import type { KeyId, MessageId, RequestId } from "../model/id.ts";
import type { Owner } from "../model/owner.ts";
import type { LoggedRequest } from "./logged-request.ts";

const columns: readonly Column<LoggedRequest>[] = [
  column("account_id", "uuid", (row) => row.account_id),
  column("environment", "text", (row) => row.environment),
  column("id", "uuid", (row) => row.id),
  column("key_id", "uuid", (row) => row.key_id),
  column("credential", "text", (row) => row.credential),
  column("key_name", "text", (row) => row.key_name),
  column("operation", "text", (row) => row.operation),
  column("method", "text", (row) => row.method),
  column("path", "text", (row) => row.path),
  column("status", "smallint", (row) => row.status),
  column("code", "text", (row) => row.code),
  column("is_replay", "boolean", (row) => row.is_replay),
  column("duration_us", "integer", (row) => row.duration_us),
  column("request_bytes", "integer", (row) => row.request_bytes),
  column("response_bytes", "integer", (row) => row.response_bytes),
  column("peer", "text", (row) => row.peer),
  column("user_agent", "text", (row) => row.user_agent),
  column("message_id", "uuid", (row) => row.message_id),
  column("problem", "text", (row) => row.problem && JSON.stringify(row.problem)),
  column("body", "text", (row) => row.body),
];

const insert = batchStatement(
  columns,
  (items) => `
insert into request_log (account_id, environment, id, key_id, credential, key_name, operation, method, path, status, code, is_replay,
                         duration_us, request_bytes, response_bytes, peer, user_agent, message_id, problem, body)
select account_id, environment, id, key_id, credential, key_name, operation, method, path, status, code, is_replay, duration_us,
       request_bytes, response_bytes, peer, user_agent, message_id, problem::jsonb, body
  from ${items}
on conflict do nothing`,
);

const COLUMNS = columns.map(({ name }) => name).join(", ");

export const insertRequests = (db: Queryable, rows: readonly LoggedRequest[]): Promise<unknown> => db.rows(insert(rows));

export type RequestFilter = {
  /** The range of ids, from the times and the cursor of the request. */
  from: Uuid;
  before: Uuid;
  keyId: KeyId | null;
  messageId: MessageId | null;
  operation: string | null;
  method: string | null;
  /** The first and the last status. */
  statuses: readonly [number, number] | null;
  code: string | null;
};

const FILTER = `($7::uuid is null or key_id = $7)
     and ($8::text is null or operation = $8)
     and ($9::text is null or method = $9)
     and ($10::smallint is null or status between $10 and $11::smallint)
     and ($12::text is null or code = $12)`;

const WHOLE = `
  select ${COLUMNS}
    from request_log r
   where r.account_id = $1 and r.environment = $2 and r.id = found.id`;

const list = scanStatement({
  scan: `
  select id, key_id, operation, method, status, code
    from request_log
   where account_id = $1 and environment = $2 and id >= $5 and id < $6`,
  filter: FILTER,
  whole: WHOLE,
});

const listOfMessage = scanStatement({
  scan: `
  select id, key_id, operation, method, status, code
    from request_log
   where account_id = $1 and environment = $2 and id >= $5 and id < $6 and message_id = $13`,
  filter: FILTER,
  whole: WHOLE,
});

/** A page of the requests of an environment, newest first. */
export function listRequests(db: Queryable, owner: Owner, filter: RequestFilter, limit: number): Promise<ListPage<LoggedRequest>> {
  const { from, before, keyId, messageId, operation, method, statuses, code } = filter;
  const isFiltered = [keyId, operation, method, statuses, code].some((each) => each !== null);
  const values = [from, before, keyId, operation, method, statuses?.[0] ?? null, statuses?.[1] ?? null, code];
  return messageId === null
    ? readPage<LoggedRequest>(db, list, { owner, limit, isFiltered, values })
    : readPage<LoggedRequest>(db, listOfMessage, { owner, limit, isFiltered, values: [...values, messageId] });
}

const find = prepare(`
select ${COLUMNS}
  from request_log
 where account_id = $1 and environment = $2 and id = $3`);

export async function findRequest(db: Queryable, { accountId, environment }: Owner, id: RequestId): Promise<LoggedRequest | undefined> {
  const [row] = await db.rows<LoggedRequest>({ ...find, values: [accountId, environment, id] });
  return row;
}

/** Deletes a batch of the requests from before a time, and of those beyond the newest `kept` of an environment. Returns how many. The statement goes
 *  from one environment to the next by the index. */
export const deleteOldRequests = async (
  db: Queryable,
  { beforeMs, kept, most }: { beforeMs: number; kept: number; most: number },
): Promise<number> =>
  (
    await db.rows(sql`
  with recursive owners as (
    (select account_id, environment
       from request_log
      order by account_id, environment
      limit 1)
    union all
    select next.*
      from owners
     cross join lateral (select account_id, environment
                           from request_log r
                          where (r.account_id, r.environment) > (owners.account_id, owners.environment)
                          order by r.account_id, r.environment
                          limit 1) next
  ), ends as (
    select account_id, environment,
           greatest(${firstUuidAt(beforeMs)}::uuid, (select r.id
                                                       from request_log r
                                                      where r.account_id = owners.account_id and r.environment = owners.environment
                                                      order by r.id desc
                                                     offset ${kept}
                                                      limit 1)) as id
      from owners
  )
  delete from request_log
   where ctid = any (array(select old.ctid
                             from ends
                            cross join lateral (select r.ctid
                                                  from request_log r
                                                 where r.account_id = ends.account_id and r.environment = ends.environment and r.id <= ends.id
                                                 order by r.id
                                                 limit ${most}) old
                            limit ${most}))
  returning 1`)
  ).length;
