/** All SQL of the delivery queue: the messages that wait for a provider or for their time, their claims, and the depth of the queue. */
import { idKey, type AccountId, type MessageId } from "../model/id.ts";
import { uuidToText } from "../lib/uuid.ts";
import type { Message } from "../messages/message.ts";
import { PRIORITY_RANK, QUEUE_STATE, SCHEDULED_LANE, type QueueState } from "../messages/queue-entry.ts";
import { joinMessage, MESSAGE_COLUMNS, messageOfRow, type MessageRow } from "../messages/rows.ts";
import { batchStatement, column } from "../database/batch.ts";
import type { Queryable } from "../database/database.ts";
import type { Environment } from "../model/owner.ts";
import { prepare, sql } from "../database/sql.ts";
import type { ClaimedPlace, DueGroup, Share } from "../queue/waiting-groups.ts";

/** An account that has messages in a lane, with its id as a key. */
export type WaitingAccount = { key: string; accountId: AccountId };

export const claimStatement = prepare(`
with picked as materialized (
  select due.message_id, due.due_at
    from unnest($2::smallint[], $3::uuid[], $4::timestamptz[], $5::integer[])
      as share(priority, account_id, from_at, most)
   cross join lateral (select q.message_id, q.due_at
                         from delivery_queue q
                        where q.link = $1 and q.priority = share.priority and q.account_id = share.account_id
                          and q.due_at >= share.from_at and q.due_at <= $6::timestamptz
                        order by q.due_at
                        limit share.most
                          for update skip locked) due
   limit $8::integer
), claimed as (
  update delivery_queue q
     set due_at = $7::timestamptz
    from picked
   where q.message_id = picked.message_id
  returning q.message_id, q.account_id, q.environment, q.state, q.sealed_content, picked.due_at
)
select claimed.state as queue_state, claimed.sealed_content, claimed.due_at as queue_due_at,
       ${MESSAGE_COLUMNS}
  from claimed${joinMessage("claimed")}`);

/** `shares`: in the order in which they are served. `most`: the limit of all shares together. */
export type Claim = { lane: string; shares: readonly Share<WaitingAccount>[]; most: number; nowMs: number; leaseMs: number };

/** `sealedContent`: the content for the carrier, in place of the content that the message shows. `dueAtMs`: when the message became due. */
export type Claimed = { message: Message; state: QueueState; sealedContent: string | null; dueAtMs: number };

const STATES = Object.keys(QUEUE_STATE) as QueueState[];

/** Claims due messages of a lane for as long as a lease lasts. A row whose lease has expired is due again, so a crashed node needs no
 *  rescuer. */
export async function claimDue(db: Queryable, { lane, shares, most, nowMs, leaseMs }: Claim): Promise<Claimed[]> {
  const values = [
    lane,
    shares.map(({ rank }) => rank),
    shares.map(({ group }) => uuidToText(group.accountId)),
    shares.map(({ fromMs }) => new Date(fromMs)),
    shares.map((share) => share.most),
    new Date(nowMs),
    new Date(nowMs + leaseMs),
    most,
  ];
  const rows = await db.rows<MessageRow & { queue_state: number; sealed_content: string | null; queue_due_at: Date }>({
    ...claimStatement,
    values,
  });
  return rows.map((row) => ({
    message: messageOfRow(row),
    state: STATES[row.queue_state] ?? "waiting",
    sealedContent: row.sealed_content,
    dueAtMs: row.queue_due_at.getTime(),
  }));
}

type AccountRow = { priority: number; account_id: AccountId; due_at: Date };

const groupOf = ({ priority, account_id: accountId, due_at: dueAt }: AccountRow): DueGroup<WaitingAccount> => ({
  rank: priority,
  group: { key: idKey(accountId), accountId },
  dueAtMs: dueAt.getTime(),
});

/** The place of a claimed message among the groups of its lane. */
export const placeOf = ({ message, dueAtMs }: Claimed): ClaimedPlace => ({
  rank: PRIORITY_RANK[message.priority],
  key: idKey(message.accountId),
  dueAtMs,
});

/** Reads the whole queue for the accounts that have messages in it, by lane, in all lanes but that of scheduled messages. The condition on
 *  `ctid` makes PostgreSQL read the table page by page. An index would lead it to every deleted row that an old snapshot still needs. */
export async function scanAccounts(db: Queryable): Promise<Map<string, DueGroup<WaitingAccount>[]>> {
  const rows = await db.rows<AccountRow & { link: string }>(sql`
  select link, priority, account_id, min(due_at) as due_at
    from delivery_queue
   where ctid >= '(0,0)'::tid and link <> ${SCHEDULED_LANE}
   group by link, priority, account_id`);
  const lanes = Map.groupBy(rows, ({ link }) => link);
  return new Map(Array.from(lanes, ([lane, found]) => [lane, found.map(groupOf)]));
}

const findDueScheduled = prepare(`
select priority, account_id, min(due_at) as due_at
  from delivery_queue
 where link = '${SCHEDULED_LANE}' and due_at >= $1::timestamptz and due_at <= $2::timestamptz
 group by priority, account_id`);

/** The accounts of scheduled messages whose time came between `fromMs` and `dueMs`. */
export async function findScheduled(db: Queryable, fromMs: number, dueMs: number): Promise<DueGroup<WaitingAccount>[]> {
  const rows = await db.rows<AccountRow>({ ...findDueScheduled, values: [new Date(fromMs), new Date(dueMs)] });
  return rows.map(groupOf);
}

/** A position among the rows that wait in a lane. The time is the text of the database, since a `Date` is less precise. */
export type QueueCursor = { priority: number; accountId: AccountId; dueAt: string; id: MessageId };

/** A due message, and its position in the lane. */
export type Waiting = { message: Message; state: QueueState; cursor: QueueCursor };

const listWaiting = prepare(`
with waiting as materialized (
  select message_id, account_id, environment, state, priority, due_at
    from delivery_queue
   where link = $1 and due_at <= $7::timestamptz
     and (priority, account_id, due_at, message_id) > ($2::smallint, $3::uuid, $4::timestamptz, $5::uuid)
   order by priority, account_id, due_at, message_id
   limit $6::integer
)
select waiting.state as queue_state, waiting.priority as queue_priority, waiting.due_at::text as due,
       ${MESSAGE_COLUMNS}
  from waiting${joinMessage("waiting")}
 order by waiting.priority, waiting.account_id, waiting.due_at, waiting.message_id`);

/** Reads due messages of a lane after a position, and claims none. */
export async function readWaiting(
  db: Queryable,
  lane: string,
  { after, nowMs, most }: { after: QueueCursor; nowMs: number; most: number },
): Promise<Waiting[]> {
  const values = [lane, after.priority, after.accountId, after.dueAt, after.id, most, new Date(nowMs)];
  const rows = await db.rows<MessageRow & { queue_state: number; queue_priority: number; due: string }>({ ...listWaiting, values });
  return rows.map((row) => {
    const message = messageOfRow(row);
    const cursor = { priority: row.queue_priority, accountId: message.accountId, dueAt: row.due, id: message.id };
    return { message, state: STATES[row.queue_state] ?? "waiting", cursor };
  });
}

/** Sets the due time of the rows that match `condition`. Skips rows that another transaction changes: waiting for several of them in a
 *  different order could deadlock, and the other change decides about the row anyway. */
const setDueOfFree = (items: string, condition: string): string => `
with free as materialized (
  select unlocked.message_id, item.due_at
    from ${items}
   cross join lateral (select q.message_id
                         from delivery_queue q
                        where q.message_id = item.message_id and ${condition}
                          for update skip locked) unlocked
)
update delivery_queue q
   set due_at = free.due_at
  from free
 where q.message_id = free.message_id
returning q.message_id`;

const claimSome = batchStatement<{ id: MessageId; lane: string; nowMs: number; dueAtMs: number }>(
  [
    column("message_id", "uuid", ({ id }) => id),
    column("link", "text", ({ lane }) => lane),
    column("now", "timestamptz", ({ nowMs }) => nowMs),
    column("due_at", "timestamptz", ({ dueAtMs }) => dueAtMs),
  ],
  (items) => setDueOfFree(items, "q.link = item.link and q.due_at <= item.now"),
);

/** Claims the rows of these messages that are still due in the lane, and returns their ids. */
export async function claimRows(
  db: Queryable,
  lane: string,
  ids: readonly MessageId[],
  { nowMs, leaseMs }: { nowMs: number; leaseMs: number },
): Promise<MessageId[]> {
  const rows = await db.rows<{ message_id: MessageId }>(claimSome(ids.map((id) => ({ id, lane, nowMs, dueAtMs: nowMs + leaseMs }))));
  return rows.map(({ message_id: id }) => id);
}

const setDue = batchStatement<{ id: MessageId; dueAtMs: number }>(
  [column("message_id", "uuid", ({ id }) => id), column("due_at", "timestamptz", ({ dueAtMs }) => dueAtMs)],
  (items) => setDueOfFree(items, `q.state <> ${QUEUE_STATE.held}`),
);

/** Sets when these messages are due: at the end of a renewed lease, or at once, so that any node can claim them. */
export const setDueTimes = (db: Queryable, times: readonly { id: MessageId; dueAtMs: number }[]): Promise<unknown> =>
  db.rows(setDue(times));

/** Deletes the row of a message that waits for nothing. */
export const deleteRow = (db: Queryable, id: MessageId): Promise<unknown[]> =>
  db.rows(sql`
  delete from delivery_queue
   where message_id = ${id}`);

export type QueueRow = { message_id: MessageId; account_id: AccountId; environment: Environment };

/** Reads the whole queue for queued messages whose time to live has passed. Other messages, such as those at carriers, do not count: they
 *  could fill the limit and hide the queued ones. No index serves this scan, since it would cost every message. The caller adapts its pace
 *  to the duration of the scan. */
export const findExpired = (db: Queryable, nowMs: number, max: number): Promise<QueueRow[]> =>
  db.rows<QueueRow>(sql`
  select q.message_id, q.account_id, q.environment
    from delivery_queue q
   cross join lateral (select
                         from messages m
                        where m.account_id = q.account_id and m.environment = q.environment and m.id = q.message_id
                          and m.status = 'queued'
                        limit 1) queued
   where q.ctid >= '(0,0)'::tid and q.expires_at <= ${new Date(nowMs)} and q.state = ${QUEUE_STATE.waiting}
   limit ${max}`);

/** The messages of the queue with smaller ids than `before`, in their order, from `after` on. */
export const findQueuedBefore = (db: Queryable, before: MessageId, after: MessageId | undefined, max: number): Promise<QueueRow[]> =>
  db.rows<QueueRow>(sql`
  select message_id, account_id, environment
    from delivery_queue
   where message_id > coalesce(${after ?? null}::uuid, '00000000-0000-0000-0000-000000000000') and message_id < ${before}
   order by message_id
   limit ${max}`);

/** Counts them by status. A message whose `send_at` is later than the time counts as scheduled, and one whose `send_at` has passed as queued. */
export const countQueuedBefore = (db: Queryable, before: MessageId, timeMs: number): Promise<{ status: string; count: number }[]> =>
  db.rows<{ status: string; count: number }>(sql`
  select case when m.send_at > ${new Date(timeMs)} then 'scheduled' when m.status = 'scheduled' then 'queued' else m.status end as status,
         count(*)::integer as count
    from delivery_queue q
    join messages m on m.account_id = q.account_id and m.environment = q.environment and m.id = q.message_id
   where q.message_id < ${before}
   group by 1`);

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

// The count stops here. A larger number would mean the same to an operator, and would be expensive to count.
const MAX_DEPTH = 1_000_000;

export type LaneDepth = { link: string; rows: number; held: number; oldest_due_seconds: number };

/** The number of rows in each lane, how many of them have an unknown outcome, and for how long the oldest has been due. */
export const readLaneDepths = (db: Queryable): Promise<LaneDepth[]> =>
  db.rows<LaneDepth>(sql`
  select link, count(*)::integer as rows, (count(*) filter (where state = ${QUEUE_STATE.held}))::integer as held,
         coalesce(greatest(0, extract(epoch from now() - min(due_at) filter (where state = ${QUEUE_STATE.waiting}))), 0)::float8
           as oldest_due_seconds
    from (select link, due_at, state from delivery_queue where ctid >= '(0,0)'::tid limit ${MAX_DEPTH}) q
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
