/** All SQL of the operator's search over all accounts. Each statement reads an index, an environment or a link at a time, and no text. */
import type { AccountId, MessageId, RequestId } from "../model/id.ts";
import type { Channel } from "../links/channel.ts";
import type { Environment, Owner } from "../model/owner.ts";
import { firstUuidAt, uuidTimeMs, type Uuid } from "../lib/uuid.ts";
import type { Queryable } from "../database/database.ts";
import { readPage, scanStatement, type ListPage } from "../database/scan-page.ts";
import { prepare, type Prepared } from "../database/sql.ts";
import { joinMessage } from "./rows.ts";
import type { Message } from "./message.ts";

/** A message as the search shows it: without its text. */
export type FoundMessage = {
  account_id: AccountId;
  account: string;
  environment: Environment;
  id: MessageId;
  direction: Message["direction"];
  channel: Channel;
  status: Message["status"];
  error_code: string | null;
  recipient: string;
  sender: string | null;
  link: string | null;
  provider_message_id: string | null;
  updated_at: Date;
  sent_at: Date | null;
  delivered_at: Date | null;
};

/** `before`: messages that were created earlier than this one. */
export type SearchPage = { before: MessageId; limit: number };

const COLUMNS = `m.account_id, a.name as account, m.environment, m.id, m.direction, m.channel, m.status, m.error ->> 'code' as error_code,
       m.recipient, m.sender, m.link, m.provider_message_id, m.updated_at, m.sent_at, m.delivered_at`;

/** Reads the messages of `found`, a relation with account_id, environment and message_id. */
const searchStatement = (ctes: string, found: string): Prepared =>
  prepare(`
with recursive ${ctes}found as (${found}
)
select ${COLUMNS}
  from (select *
          from found
         where message_id < $2
         order by message_id desc
         limit $3) found
  join accounts a on a.id = found.account_id${joinMessage("found")}
 order by m.id desc`);

const byId = searchStatement(
  "",
  `
  select e.account_id, e.environment, m.id as message_id
    from environments e
   cross join lateral (select id
                         from messages
                        where account_id = e.account_id and environment = e.environment and id = $1
                        limit 1) m`,
);

// The id of a request has the time of the node, and the id of its message the time of the database, which may differ by seconds. The message is
// created when the body has arrived and the account has its turn, within half a minute.
const REQUEST_WINDOW_MS = 60_000;

const byRequest = searchStatement(
  "",
  `
  select e.account_id, e.environment, m.id as message_id
    from environments e
   cross join lateral (select id
                         from messages
                        where account_id = e.account_id and environment = e.environment and id >= $4 and id < $5 and id < $2
                          and right(id::text, 17) = right(($1::uuid)::text, 17)
                        order by id desc
                        limit $3) m`,
);

/** The environments that have a number in an index are found one after the other, each with one probe. */
const ownersBy = (name: string, number: "recipient" | "inbound_sender"): string => `${name} as (
  (select account_id, environment
     from messages
    where ${number} = $1
    order by account_id, environment
    limit 1)
  union all
  select next.account_id, next.environment
    from ${name}
   cross join lateral (select m.account_id, m.environment
                         from messages m
                        where m.${number} = $1 and (m.account_id, m.environment) > (${name}.account_id, ${name}.environment)
                        order by m.account_id, m.environment
                        limit 1) next
), `;

const newestBy = (name: string, number: "recipient" | "inbound_sender"): string => `
  select ${name}.account_id, ${name}.environment, m.id as message_id
    from ${name}
   cross join lateral (select id
                         from messages
                        where ${number} = $1 and account_id = ${name}.account_id and environment = ${name}.environment and id < $2
                        order by id desc
                        limit $3) m`;

const byNumber = searchStatement(
  ownersBy("recipients", "recipient") + ownersBy("writers", "inbound_sender"),
  `${newestBy("recipients", "recipient")}
   union all${newestBy("writers", "inbound_sender")}`,
);

const byCarrierId = searchStatement(
  `links as (
  (select link
     from provider_references
    order by link
    limit 1)
  union all
  select next.link
    from links
   cross join lateral (select r.link
                         from provider_references r
                        where r.link > links.link
                        order by r.link
                        limit 1) next
), `,
  `
  select r.account_id, r.environment, r.message_id
    from links
   cross join lateral (select account_id, environment, message_id
                         from provider_references
                        where link = links.link and provider_message_id = $1 and message_id < $2
                        order by message_id desc
                        limit $3) r`,
);

// More environments than an installation has.
const MAX_ENVIRONMENTS = 20_000;

const newest = prepare(`
select e.account_id as "accountId", e.environment, m.id
  from environments e
 cross join lateral (select id
                       from messages
                      where account_id = e.account_id and environment = e.environment and id >= $1 and id < $2
                      order by id desc
                      limit 1) m
 order by m.id desc
 limit ${MAX_ENVIRONMENTS}`);

const filtered = scanStatement({
  scan: `
  select id, status, link, error
    from messages
   where account_id = $1 and environment = $2 and id >= $5 and id < $6`,
  filter: `($7::text is null or status = $7)
     and ($8::text is null or error ->> 'code' = $8)
     and ($9::text is null or link = $9)`,
  whole: `
  select ${COLUMNS}
    from messages m
    join accounts a on a.id = m.account_id
   where m.account_id = $1 and m.environment = $2 and m.id = found.id`,
});

/** The filters of a list. Null: any. `from`: the least id. */
export type ListFilter = { status: Message["status"] | null; errorCode: string | null; link: string | null; from: Uuid };

/** The newest message of each environment that has one from `from` on and before `before`, the newest first. */
export const findNewest = (db: Queryable, from: Uuid, before: Uuid): Promise<(Owner & { id: MessageId })[]> =>
  db.rows<Owner & { id: MessageId }>({ ...newest, values: [from, before] });

/** A page of the messages of an environment that pass the filter. It reads a bounded part of the environment. */
export const listFiltered = (
  db: Queryable,
  owner: Owner,
  filter: ListFilter,
  page: { before: Uuid; limit: number },
): Promise<ListPage<FoundMessage>> =>
  readPage<FoundMessage>(db, filtered, {
    owner,
    limit: page.limit,
    isFiltered: true,
    values: [filter.from, page.before, filter.status, filter.errorCode, filter.link],
  });

export const findInAllAccounts = (db: Queryable, id: MessageId, { before, limit }: SearchPage): Promise<FoundMessage[]> =>
  db.rows<FoundMessage>({ ...byId, values: [id, before, limit] });

/** The messages that a request has created. */
export const findByRequest = (db: Queryable, id: RequestId, { before, limit }: SearchPage): Promise<FoundMessage[]> => {
  const atMs = uuidTimeMs(id);
  const range = [firstUuidAt(atMs - REQUEST_WINDOW_MS), firstUuidAt(atMs + REQUEST_WINDOW_MS)];
  return db.rows<FoundMessage>({ ...byRequest, values: [id, before, limit, ...range] });
};

/** The messages to and from a number, and the inbound messages to a number of an account. */
export const findByNumber = (db: Queryable, number: string, { before, limit }: SearchPage): Promise<FoundMessage[]> =>
  db.rows<FoundMessage>({ ...byNumber, values: [number, before, limit] });

/** The messages of which a carrier has given this id to the whole or a part, for as long as receipts are matched. */
export const findByCarrierId = (db: Queryable, carrierId: string, { before, limit }: SearchPage): Promise<FoundMessage[]> =>
  db.rows<FoundMessage>({ ...byCarrierId, values: [carrierId, before, limit] });
