/** All SQL of events: what happened, and the timeline of a message, which also has what moved nothing. */
import type { Environment } from "../access/environment.ts";
import type { Uuid } from "../lib/uuid.ts";
import { batchStatement, column, type Column } from "../storage/batch.ts";
import type { Queryable } from "../storage/database.ts";
import { sql } from "../storage/sql.ts";

/** An event of a message, written with the change it reports; `record` is the message's record after it. */
type NewEvent = { id: Uuid; type: string; record: string };
export type Evented = { event: NewEvent | null };

export const eventColumns: readonly Column<Evented>[] = [
  column("event_id", "uuid", ({ event }) => event?.id ?? null),
  column("event_type", "text", ({ event }) => event?.type ?? null),
  column("record", "text", ({ event }) => event?.record ?? null),
];

/** The first events of the messages in `accepted`. */
export const insertFirstEvents = `
  insert into events (account_id, environment, id, type, message_id, sequence, record)
  select account_id, environment, event_id, event_type, message_id, sequence, record
    from accepted
   where event_id is not null`;

/** An entry of a timeline: an event with what led to it, or a signal that moved nothing. */
export type NewEntry = {
  id: Uuid;
  type: string;
  /** Null for what changed nothing. */
  record: string | null;
  previousStatus: string | null;
  /** JSON. */
  detail: string | null;
  isIgnored: boolean;
};

export const entryColumns: readonly Column<{ entry: NewEntry }>[] = [
  column("event_id", "uuid", ({ entry }) => entry.id),
  column("event_type", "text", ({ entry }) => entry.type),
  column("record", "text", ({ entry }) => entry.record),
  column("previous_status", "text", ({ entry }) => entry.previousStatus),
  column("detail", "text", ({ entry }) => entry.detail),
  column("is_ignored", "boolean", ({ entry }) => entry.isIgnored),
];

// A carrier that repeats itself for ever must not fill the database.
const MAX_IGNORED = 100;

/** The entries of the changes in `accepted`. */
export const insertEntries = `
  insert into events (account_id, environment, id, type, message_id, sequence, record, previous_status, detail, is_ignored)
  select account_id, environment, event_id, event_type, message_id, sequence, record, previous_status, detail::json, is_ignored
    from accepted
   where case when is_ignored
              then (select count(*)
                      from (select
                              from events e
                             where e.message_id = accepted.message_id and e.id <> e.message_id
                             limit ${MAX_IGNORED}) known) < ${MAX_IGNORED}
              else true
         end`;

export type EntryRow = {
  id: Uuid;
  type: string;
  sequence: number | null;
  record: string | null;
  previous_status: string | null;
  detail: Record<string, unknown> | null;
  is_ignored: boolean;
};

/** A page of a message's timeline, newest first, from before `before` on. Its first event has its own id, and nothing of a
 *  message is older than that. */
export const listEntries = (
  db: Queryable,
  { accountId, environment, id }: { accountId: Uuid; environment: Environment; id: Uuid },
  before: Uuid,
  limit: number,
): Promise<EntryRow[]> =>
  db.rows<EntryRow>(sql`
  select id, type, sequence, record, previous_status, detail, is_ignored
    from (select *
            from events
           where message_id = ${id} and id <> message_id and id > ${id} and account_id = ${accountId}
             and environment = ${environment}
          union all
          select *
            from events
           where account_id = ${accountId} and environment = ${environment} and id = ${id}) entry
   where id < ${before}
   order by id desc
   limit ${limit}`);

type Owned = { accountId: Uuid; environment: Environment; entry: { id: Uuid } };

const existing = batchStatement<Owned>(
  [
    column("account_id", "uuid", ({ accountId }) => accountId),
    column("environment", "text", ({ environment }) => environment),
    column("id", "uuid", ({ entry }) => entry.id),
  ],
  (items) => `
select item.ordinal::integer
  from ${items}
 cross join lateral (select
                       from events e
                      where e.account_id = item.account_id and e.environment = item.environment and e.id = item.id
                      limit 1) found`,
);

/** Which of these are there, by their place in the list: asked when a connection died with their statement under way. */
export const existingEntries = (db: Queryable, entries: readonly Owned[]): Promise<{ ordinal: number }[]> =>
  db.rows<{ ordinal: number }>(existing(entries));

const rewrite = batchStatement<Owned & { entry: { record: string } }>(
  [
    column("account_id", "uuid", ({ accountId }) => accountId),
    column("environment", "text", ({ environment }) => environment),
    column("id", "uuid", ({ entry }) => entry.id),
    column("record", "text", ({ entry }) => entry.record),
  ],
  (items) => `
update events e
   set record = item.record
  from ${items}
 where e.account_id = item.account_id and e.environment = item.environment and e.id = item.id`,
);

/** Puts other records in the place of those that were: for redaction alone. */
export const rewriteRecords = async (db: Queryable, entries: readonly (Owned & { entry: { record: string } })[]): Promise<void> => {
  await db.rows(rewrite(entries));
};
