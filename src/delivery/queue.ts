/** All SQL of the delivery queue: the messages that wait for a provider or for their time, their claims, and the depth of the queue. */
import type { AccountId, MessageId } from "../lib/id.ts";
import type { Message } from "../messages/message.ts";
import { QUEUE_STATE, SCHEDULED_LANE, type QueueState } from "../messages/queue-entry.ts";
import { joinMessage, MESSAGE_COLUMNS, messageOfRow, type MessageRow } from "../messages/rows.ts";
import { batchStatement, column } from "../storage/batch.ts";
import type { Queryable } from "../storage/database.ts";
import { fairWalk } from "../storage/fair-walk.ts";
import type { Environment } from "../storage/owner.ts";
import { prepare, sql } from "../storage/sql.ts";

// A claim reads at most this many accounts of a priority. The next claim continues after them.
export const MAX_ACCOUNTS = 32;

/** The accounts that have due messages of one priority in a lane. The index skips the rows that a node owns or that are due later: ten
 *  thousand accounts that have only such rows take a few milliseconds. A walk that stepped through them would take more than a hundred
 *  times as long. */
const walk = (priority: number, cursor: string): string =>
  fairWalk({
    name: `walk_${priority}`,
    queue: "delivery_queue",
    condition: `q.link = $1 and q.priority = ${priority} and q.due_at <= now()`,
    group: "account_id",
    cursor,
    most: MAX_ACCOUNTS,
  });

/** Each account's equal share of what is due. Rows are locked as they are taken, so two nodes take different ones. */
const share = (priority: number, max: string): string => `(select due.message_id, part.share
             from (select greatest(1, ${max}::integer / greatest(1, count(*)))::integer as share
                     from walk_${priority}
                    where place > 0) part
             join walk_${priority} on walk_${priority}.place > 0
            cross join lateral (select q.message_id
                                  from delivery_queue q
                                 where q.link = $1 and q.priority = ${priority} and q.account_id = walk_${priority}.account_id
                                   and q.due_at <= now()
                                 order by q.due_at
                                 limit part.share
                                   for update skip locked) due
            limit ${max}::integer)`;

export const claimStatement = prepare(`
with recursive
${walk(0, "$6")},
${walk(1, "$7")},
${walk(2, "$8")},
picked as materialized (
  select message_id, share
    from (${share(0, "$2")}
          union all
          ${share(1, "$3")}
          union all
          ${share(2, "$4")}) due
   limit $2::integer
), claimed as (
  update delivery_queue q
     set due_at = now() + $5::integer * interval '1 millisecond'
    from picked
   where q.message_id = picked.message_id
  returning q.message_id, q.account_id, q.environment, q.state, q.sealed_content, picked.share
)
select claimed.state as queue_state, claimed.share, claimed.sealed_content,
       ${MESSAGE_COLUMNS}
  from claimed${joinMessage("claimed")}`);

/** `most` and `after` are by rank of priority: the limit of rows, of which the first is the limit of all, and the account after which the
 *  claim continues. */
export type Claim = {
  lane: string;
  most: readonly [number, number, number];
  leaseMs: number;
  after: readonly [AccountId, AccountId, AccountId];
};

/** `share`: how many rows the claim allowed each account. `sealedContent`: the content for the carrier, in place of the content that the
 *  message shows. */
export type Claimed = { message: Message; state: QueueState; share: number; sealedContent: string | null };

const STATES = Object.keys(QUEUE_STATE) as QueueState[];

/** Claims due messages of a lane for as long as a lease lasts. A row whose lease has expired is due again, so a crashed node needs no
 *  rescuer. */
export async function claimDue(db: Queryable, { lane, most, leaseMs, after }: Claim): Promise<Claimed[]> {
  const values = [lane, ...most, leaseMs, ...after];
  const rows = await db.rows<MessageRow & { queue_state: number; share: number; sealed_content: string | null }>({
    ...claimStatement,
    values,
  });
  return rows.map((row) => ({
    message: messageOfRow(row),
    state: STATES[row.queue_state] ?? "waiting",
    share: row.share,
    sealedContent: row.sealed_content,
  }));
}

const claimScheduled = prepare(`
with due as materialized (
  select message_id, due_at
    from delivery_queue
   where link = '${SCHEDULED_LANE}' and due_at <= now()
   order by due_at
   limit $2::integer
     for update skip locked
), claimed as (
  update delivery_queue q
     set due_at = now() + $1::integer * interval '1 millisecond'
    from due
   where q.message_id = due.message_id
  returning q.message_id, q.account_id, q.environment, due.due_at
)
select claimed.due_at as queue_due_at,
       ${MESSAGE_COLUMNS}
  from claimed${joinMessage("claimed")}`);

/** A scheduled message, and the time for which it was scheduled. */
export type Releasable = { message: Message; dueAtMs: number };

/** Claims scheduled messages whose time has come by the clock of the database, the longest waiting first. */
export async function claimReleasable(db: Queryable, leaseMs: number, most: number): Promise<Releasable[]> {
  const rows = await db.rows<MessageRow & { queue_due_at: Date }>({ ...claimScheduled, values: [leaseMs, most] });
  return rows.map((row) => ({ message: messageOfRow(row), dueAtMs: row.queue_due_at.getTime() }));
}

const backToSchedule = batchStatement<Releasable>(
  [column("message_id", "uuid", ({ message }) => message.id), column("due_at", "timestamptz", ({ dueAtMs }) => dueAtMs)],
  (items) => `
update delivery_queue q
   set due_at = item.due_at
  from ${items}
 where q.message_id = item.message_id and q.link = '${SCHEDULED_LANE}'`,
);

/** Returns claimed messages whose time has not come to their place among the scheduled ones. */
export const returnScheduled = async (db: Queryable, claimed: readonly Releasable[]): Promise<void> => {
  await db.rows(backToSchedule(claimed));
};

/** A position among the rows that wait in a lane. The time is the text of the database, since a `Date` is less precise. */
export type QueueCursor = { priority: number; accountId: AccountId; dueAt: string; id: MessageId };

/** A due message, and its position in the lane. */
export type Waiting = { message: Message; state: QueueState; cursor: QueueCursor };

const listWaiting = prepare(`
with waiting as materialized (
  select message_id, account_id, environment, state, priority, due_at
    from delivery_queue
   where link = $1 and due_at <= now()
     and (priority, account_id, due_at, message_id) > ($2::smallint, $3::uuid, $4::timestamptz, $5::uuid)
   order by priority, account_id, due_at, message_id
   limit $6::integer
)
select waiting.state as queue_state, waiting.priority as queue_priority, waiting.due_at::text as due,
       ${MESSAGE_COLUMNS}
  from waiting${joinMessage("waiting")}
 order by waiting.priority, waiting.account_id, waiting.due_at, waiting.message_id`);

/** Reads due messages of a lane after a position, and claims none. */
export async function readWaiting(db: Queryable, lane: string, after: QueueCursor, most: number): Promise<Waiting[]> {
  const values = [lane, after.priority, after.accountId, after.dueAt, after.id, most];
  const rows = await db.rows<MessageRow & { queue_state: number; queue_priority: number; due: string }>({ ...listWaiting, values });
  return rows.map((row) => {
    const message = messageOfRow(row);
    const cursor = { priority: row.queue_priority, accountId: message.accountId, dueAt: row.due, id: message.id };
    return { message, state: STATES[row.queue_state] ?? "waiting", cursor };
  });
}

/** Gives a new lease to the rows that match `condition`. Skips rows that another transaction changes: waiting for several of them in a
 *  different order could deadlock, and the other change decides about the row anyway. */
const leaseFree = (items: string, condition: string): string => `
with free as materialized (
  select unlocked.message_id, item.lease_ms
    from ${items}
   cross join lateral (select q.message_id
                         from delivery_queue q
                        where q.message_id = item.message_id and ${condition}
                          for update skip locked) unlocked
)
update delivery_queue q
   set due_at = now() + free.lease_ms * interval '1 millisecond'
  from free
 where q.message_id = free.message_id
returning q.message_id`;

const claimSome = batchStatement<{ id: MessageId; lane: string; leaseMs: number }>(
  [
    column("message_id", "uuid", ({ id }) => id),
    column("link", "text", ({ lane }) => lane),
    column("lease_ms", "integer", ({ leaseMs }) => leaseMs),
  ],
  (items) => leaseFree(items, "q.link = item.link and q.due_at <= now()"),
);

/** Claims the rows of these messages that are still due in the lane, and returns their ids. */
export const claimRows = async (db: Queryable, lane: string, ids: readonly MessageId[], leaseMs: number): Promise<MessageId[]> =>
  (await db.rows<{ message_id: MessageId }>(claimSome(ids.map((id) => ({ id, lane, leaseMs }))))).map(({ message_id: id }) => id);

const renew = batchStatement<{ id: MessageId; leaseMs: number }>(
  [column("message_id", "uuid", ({ id }) => id), column("lease_ms", "integer", ({ leaseMs }) => leaseMs)],
  (items) => leaseFree(items, `q.state <> ${QUEUE_STATE.held}`),
);

/** Renews the leases of these messages. A lease of zero returns them to the queue, where any node can claim them. */
export const renewLeases = (db: Queryable, ids: readonly MessageId[], leaseMs: number): Promise<void> =>
  setLeases(
    db,
    ids.map((id) => ({ id, leaseMs })),
  );

/** Sets the lease of each message. A negative lease makes the message due for that long already. */
export const setLeases = async (db: Queryable, leases: readonly { id: MessageId; leaseMs: number }[]): Promise<void> => {
  await db.rows(renew(leases));
};

const deleteSome = batchStatement<MessageId>(
  [column("message_id", "uuid", (id) => id)],
  (items) => `
delete from delivery_queue q
 using ${items}
 where q.message_id = item.message_id`,
);

/** Deletes the rows of messages that wait for nothing. */
export const deleteRows = async (db: Queryable, ids: readonly MessageId[]): Promise<void> => {
  await db.rows(deleteSome(ids));
};

export type QueueRow = { message_id: MessageId; account_id: AccountId; environment: Environment };

/** Finds waiting messages in all lanes whose time to live has passed. No index serves this scan, since it would cost every message. The
 *  caller adapts its pace to the duration of the scan. */
export const findExpired = (db: Queryable, max: number): Promise<(QueueRow & { expires_at: Date })[]> =>
  db.rows<QueueRow & { expires_at: Date }>(sql`
  select message_id, account_id, environment, expires_at
    from delivery_queue
   where expires_at <= now() and state = ${QUEUE_STATE.waiting}
   limit ${max}`);

/** The lanes that are not empty, as the relation `lane`. One index probe per lane finds the next one. */
const LANES = `
with recursive lane as (
  (select link
     from delivery_queue
    order by link
    limit 1)
  union all
  select next.link
    from lane
   cross join lateral (select link
                         from delivery_queue
                        where link > lane.link
                        order by link
                        limit 1) next
)`;

const findLanes = prepare(`${LANES}
select link
  from lane`);

export const listLanes = async (db: Queryable): Promise<string[]> =>
  (await db.rows<{ link: string }>({ ...findLanes, values: [] })).map(({ link }) => link);

// The count stops here. A larger number would mean the same to an operator, and would be expensive to count.
const MAX_DEPTH = 1_000_000;

export type LaneDepth = { link: string; rows: number; held: number; oldest_due_seconds: number };

/** The number of rows in each lane, how many of them have an unknown outcome, and for how long the oldest has been due. */
export const readLaneDepths = (db: Queryable): Promise<LaneDepth[]> =>
  db.rows<LaneDepth>(sql`
  select link, count(*)::integer as rows, (count(*) filter (where state = ${QUEUE_STATE.held}))::integer as held,
         coalesce(greatest(0, extract(epoch from now() - min(due_at) filter (where state = ${QUEUE_STATE.waiting}))), 0)::float8
           as oldest_due_seconds
    from (select link, due_at, state from delivery_queue limit ${MAX_DEPTH}) q
   group by link`);

const findOldestDue = prepare(`${LANES}
select min(first.due_at) as due_at
  from lane
 cross join (values (0::smallint), (1::smallint), (2::smallint)) as rank(priority)
 cross join lateral (select due_at
                       from delivery_queue
                      where link = lane.link
                        and priority = rank.priority
                        and account_id = $1
                        and environment = $2
                        and state = ${QUEUE_STATE.waiting}
                        and due_at <= now()
                      order by due_at
                      limit 1) first
 where lane.link <> '${SCHEDULED_LANE}'`);

/** The time at which the longest waiting due message of an owner became due; null when none is due. Messages whose time has not come,
 *  and messages that a node owns, do not wait.
 *
 *  The statement does not read the whole queue, which may have a million rows: it probes the index for each lane, and in each lane and
 *  priority for the first row of the account. */
export async function oldestDue(db: Queryable, accountId: AccountId, environment: Environment): Promise<number | null> {
  const [oldest] = await db.rows<{ due_at: Date | null }>({ ...findOldestDue, values: [accountId, environment] });
  return oldest?.due_at?.getTime() ?? null;
}
