/** All SQL of events and timelines. A timeline also has the ignored signals. */
import type { AccountId, EventId, MessageId } from "../model/id.ts";
import type { Uuid } from "../lib/uuid.ts";
import { batchStatement, column, type Column } from "../database/batch.ts";
import type { Queryable, Tx } from "../database/database.ts";
import { DATABASE_LOCK, LOCKS } from "../database/locks.ts";
import type { Environment, Owner } from "../model/owner.ts";
import { readPage, scanStatement, type ListPage } from "../database/scan-page.ts";
import { prepare, sql, type Prepared } from "../database/sql.ts";
import { IS_READABLE, JOIN_MESSAGE, RECORD_COLUMNS, type RecordRow } from "../database/stored-record.ts";
import type { StoredDetail } from "./detail.ts";
import type { StoredEvent } from "./event.ts";

/** Whether an entry is an event that customers receive: it has a record, because something changed. A redaction removes text from
 *  earlier events and is no event itself. */
export const IS_EVENT = (type: string, record: string): string => `${record} is not null and ${type} <> 'message.redacted'`;

/** Whether the API lists an entry as an event. Entries of the audit log have their own list, which needs another scope. */
const IS_LISTED = `${IS_EVENT("type", "record")} and type <> 'audit.created'`;

/** Inserts an event that does not belong to a message, and returns it as the relation from which deliveries are queued. */
export const insertEvent = `
  insert into events (account_id, environment, id, type, record)
  values ($1, $2, $3, $4, $5)
  returning account_id, environment, id as event_id, type as event_type, record`;

/** Inserts many events from the row source of a batch. */
export const insertEvents = (items: string): string => `
  insert into events (account_id, environment, id, type, message_id, record)
  select item.account_id, item.environment, item.id, item.type, item.message_id, item.record
    from ${items}`;

/** An entry of a timeline: an event with its cause, or an ignored signal. */
export type NewEntry = {
  id: EventId;
  type: string;
  /** Null for an ignored signal. */
  record: string | null;
  previousStatus: string | null;
  /** A `StoredDetail` as JSON. */
  detail: string | null;
  isIgnored: boolean;
};

export type EntryRow = {
  id: EventId;
  type: string;
  sequence: number | null;
  /** Whole or compact. */
  record: string | null;
  previous_status: string | null;
  detail: StoredDetail | null;
  is_ignored: boolean;
};

/** A page of the timeline of a message, newest first, before `before`. The first event has the id of the message, and no entry is older.
 *  `offset 0` keeps the account and the order out of the inner query: without statistics about a new week, the planner would read the
 *  whole environment by its primary key instead of the message's few entries. */
const entriesOf = (columns: string, join = ""): Prepared =>
  prepare(`
select e.id, ${columns}, e.previous_status, e.detail, e.is_ignored
  from (select *
          from (select *
                  from events
                 where message_id = $3 and id <> message_id and id > $3
                offset 0) later
         where account_id = $1 and environment = $2
        union all
        select *
          from events
         where account_id = $1 and environment = $2 and id = $3) e${join}
 where e.id < $4
 order by e.id desc
 limit $5`);

const timeline = entriesOf("e.type, e.sequence, e.record");
const timelineWithRecords = entriesOf(`e.environment, ${RECORD_COLUMNS}`, JOIN_MESSAGE);

const listFromTimeline =
  <Row extends EntryRow>(statement: Prepared) =>
  (db: Queryable, { accountId, environment, id }: Owner & { id: MessageId }, before: Uuid, limit: number): Promise<Row[]> =>
    db.rows<Row>({ ...statement, values: [accountId, environment, id, before, limit] });

/** The records are as they are stored. */
export const listEntries = listFromTimeline<EntryRow>(timeline);
/** With the members of the message, for entries whose whole records are shown. */
export const listEntriesWithRecords = listFromTimeline<EntryRow & RecordRow>(timelineWithRecords);

type Owned = Owner & { entry: { id: EventId } };

const ownedColumns: readonly Column<Owned>[] = [
  column("account_id", "uuid", ({ accountId }) => accountId),
  column("environment", "text", ({ environment }) => environment),
  column("id", "uuid", ({ entry }) => entry.id),
];

const existing = batchStatement<Owned>(
  ownedColumns,
  (items) => `
select item.ordinal::integer
  from ${items}
 cross join lateral (select
                       from events e
                      where e.account_id = item.account_id and e.environment = item.environment and e.id = item.id
                      limit 1) found`,
);

/** Returns which of these entries exist, by their position in the list. Used when a connection was lost during their statement. */
export const existingEntries = (db: Queryable, entries: readonly Owned[]): Promise<{ ordinal: number }[]> =>
  db.rows<{ ordinal: number }>(existing(entries));

const rewrite = batchStatement<Owned & { entry: { record: string } }>(
  [...ownedColumns, column("record", "text", ({ entry }) => entry.record)],
  (items) => `
update events e
   set record = item.record
  from ${items}
 where e.account_id = item.account_id and e.environment = item.environment and e.id = item.id`,
);

/** Replaces stored records. Only a redaction does this. */
export const rewriteRecords = (db: Queryable, entries: readonly (Owned & { entry: { record: string } })[]): Promise<unknown> =>
  db.rows(rewrite(entries));

/** Only one type of event shows a part of its detail, which is read only for that type. */
export const FALLBACK_ID = `
       case when e.type = 'message.fallback_started' then e.detail ->> 'fallback_message_id' end as fallback_message_id`;

const EVENT_COLUMNS = `e.id, e.environment, ${RECORD_COLUMNS}, e.previous_status,${FALLBACK_ID}`;

export const findEvent = (db: Queryable, accountId: AccountId, environment: Environment, id: EventId): Promise<StoredEvent[]> =>
  db.rows<StoredEvent>({ ...find, values: [accountId, environment, id] });

const find = prepare(`
select ${EVENT_COLUMNS}
  from events e${JOIN_MESSAGE}
 where e.account_id = $1 and e.environment = $2 and e.id = $3 and ${IS_READABLE}
   and ${IS_EVENT("e.type", "e.record")} and e.type <> 'audit.created'`);

export type EventFilter = {
  /** The range of ids, from the times and the cursor of the request. */
  from: Uuid;
  before: Uuid;
  /** A type, a kind such as `message.*`, or all. */
  type: string;
  messageId: MessageId | null;
};

const isOfType = (type: string, pattern: string): string =>
  `(${pattern} = '*' or ${type} = ${pattern} or ${pattern} = split_part(${type}, '.', 1) || '.*')`;

/** The scan reads all entries and leaves out those that are no events. */
const NARROW = `id, type, ${IS_LISTED} as is_event`;

const listFrom = (scan: string): Prepared =>
  scanStatement({
    scan,
    filter: `is_event and ${isOfType("type", "$7")}`,
    whole: `
  select ${EVENT_COLUMNS}
    from events e${JOIN_MESSAGE}
   where e.account_id = $1 and e.environment = $2 and e.id = found.id and ${IS_READABLE}`,
  });

const listAll = listFrom(`
  select ${NARROW}
    from events
   where account_id = $1 and environment = $2 and id >= $5 and id < $6`);

const listOfMessage = listFrom(`
  select ${NARROW}
    from (select id, type, record
            from (select *
                    from events
                   where message_id = $8 and id <> message_id and id >= $5 and id < $6
                  offset 0) later
           where account_id = $1 and environment = $2
          union all
          select id, type, record
            from events
           where account_id = $1 and environment = $2 and id = $8 and id >= $5 and id < $6) entry`);

/** A page of events, newest first. */
export function listEvents(db: Queryable, owner: Owner, filter: EventFilter, limit: number): Promise<ListPage<StoredEvent>> {
  const { from, before, type, messageId } = filter;
  const [statement, values] = messageId === null ? [listAll, [from, before, type]] : [listOfMessage, [from, before, type, messageId]];
  return readPage<StoredEvent>(db, statement, { owner, limit, isFiltered: true, values });
}

/** A place in the order of events: after this event. Events without a position, from before positions existed, come first, by their ids. */
export type EventCursor = { position: number; id: Uuid };

/** The newest position that was drawn. */
export async function lastPosition(db: Queryable): Promise<number> {
  const [row] = await db.rows<{ last_value: number }>(sql`select last_value from event_positions`);
  return row?.last_value ?? 0;
}

/** The transactions that hold the lock of writers of events, by names that PostgreSQL does not use again. */
export const listWriters = async (db: Queryable): Promise<Set<string>> =>
  new Set(
    (
      await db.rows<{ name: string }>(sql`
  select virtualtransaction as name
    from pg_locks
   where locktype = 'relation' and mode = 'RowExclusiveLock' and granted
     and relation = 'events'::regclass
     and database = (select oid from pg_database where datname = current_database())`)
    ).map(({ name }) => name),
  );

// The sequence never reaches 2^52. A row with such a position is no event of this service, and the positions after it would soon exceed
// the integers that JavaScript has exactly.
const largestPosition = prepare(`
select max(newest.position) as position
  from environments e
 cross join lateral (select position
                       from events
                      where account_id = e.account_id and environment = e.environment and position >= 0
                        and position < 4503599627370496
                      order by position desc
                      limit 1) newest`);

/** Moves the sequence to the largest position, if that is larger. One node does it at a time, before it writes events. */
export async function repairSequence(tx: Tx): Promise<void> {
  await tx.rows(sql`select pg_advisory_xact_lock(${DATABASE_LOCK}, ${LOCKS.migrations})`);
  const [largest] = await tx.rows<{ position: number | null }>({ ...largestPosition, values: [] });
  await tx.rows(sql`
  select setval('event_positions', ${largest?.position ?? 0}::bigint)
    from event_positions
   where last_value < ${largest?.position ?? 0}::bigint`);
}

const findCursor = prepare(`
select position, id
  from events
 where account_id = $1 and environment = $2 and id <= $3
 order by id desc
 limit 1`);

/** The place of an event. If the event is not stored any more, the place of the last one that was created before it. */
export async function cursorAt(db: Queryable, { accountId, environment }: Owner, id: EventId): Promise<EventCursor | undefined> {
  const [row] = await db.rows<EventCursor>({ ...findCursor, values: [accountId, environment, id] });
  return row;
}

// Entries that are no events are few. If there are only such ones, the newest of them is the place.
const newestUntil = prepare(`
select id
  from (select id, position, type, record
          from events
         where account_id = $1 and environment = $2 and position <= $3::bigint and position >= 0
         order by position desc, id desc
         limit 100) newest
 order by (${IS_LISTED}) desc, position desc, id desc
 limit 1`);

/** The newest event up to a position: for a reader, the same place as the position. */
export async function newestEventUntil(db: Queryable, { accountId, environment }: Owner, position: number): Promise<EventId | undefined> {
  const [row] = await db.rows<{ id: EventId }>({ ...newestUntil, values: [accountId, environment, position] });
  return row?.id;
}

const entriesAfter = prepare(`
select id, position, ${IS_EVENT("type", "record")} and ${isOfType("type", "$6")} as is_wanted
  from events
 where account_id = $1 and environment = $2 and (position, id) > ($3::bigint, $4::uuid) and position <= $5::bigint
   and position >= 0
 order by position, id
 limit $7`);

/** The entries after a place up to a position, in the order of positions, and whether each is an event of the type. */
export const listEntriesAfter = (
  db: Queryable,
  { accountId, environment }: Owner,
  { after, until, type, limit }: { after: EventCursor; until: number; type: string; limit: number },
): Promise<(EventCursor & { id: EventId; is_wanted: boolean })[]> =>
  db.rows<EventCursor & { id: EventId; is_wanted: boolean }>({
    ...entriesAfter,
    values: [accountId, environment, after.position, after.id, until, type, limit],
  });

const whole = batchStatement<Owned>(
  ownedColumns,
  (items) => `
select found.*
  from ${items}
 cross join lateral (select ${EVENT_COLUMNS}
                       from events e${JOIN_MESSAGE}
                      where e.account_id = item.account_id and e.environment = item.environment and e.id = item.id
                        and ${IS_READABLE}
                      limit 1) found
 order by item.ordinal`,
);

/** The events with these ids, in the order of the list. */
export const readEvents = (db: Queryable, events: readonly Owned[]): Promise<StoredEvent[]> => db.rows<StoredEvent>(whole(events));
