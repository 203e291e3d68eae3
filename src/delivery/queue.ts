/** All SQL of the delivery queue: the messages that wait for a provider, or for their time. */
import type { Uuid } from "../lib/uuid.ts";
import { batchStatement, column } from "../storage/batch.ts";
import type { Queryable } from "../storage/database.ts";
import { fairWalk } from "../storage/fair-walk.ts";
import { prepare, sql, type Sql } from "../storage/sql.ts";
import { QUEUE_STATE, SCHEDULED_LANE } from "../messages/queue-entry.ts";
import type { Environment } from "../storage/owner.ts";

// A claim looks at so many accounts of a priority at most; the next one goes on where it ended.
export const MAX_ACCOUNTS = 32;

/** The accounts that have something due in a lane with one priority. The index passes over the rows that a node holds or that wait for
 *  later: ten thousand accounts that have only such rows take a few milliseconds. A walk that stepped through them would take more than
 *  a hundred times as long. */
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
const share = (priority: number, max: string): string => `
  (select due.message_id, part.share
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

/** Takes due rows of a lane into this process's hands, for as long as a lease lasts. A lease that runs out makes a row due
 *  again, so a crashed node needs no rescuer. `select` reads the relation `claimed`. */
export const claimStatement = (select: string): ((claim: Claim) => Sql) => {
  const statement = prepare(claimText(select));
  return ({ lane, most, leaseMs, after }) => ({
    ...statement,
    values: [lane, most[0], most[1], most[2], leaseMs, after[0], after[1], after[2]],
  });
};

/** By rank of priority: how many rows at most (of the first rank: in all), and the account after which to go on. */
export type Claim = { lane: string; most: readonly [number, number, number]; leaseMs: number; after: readonly [Uuid, Uuid, Uuid] };

const claimText = (select: string): string => `
with recursive ${walk(0, "$6")},${walk(1, "$7")},${walk(2, "$8")},
picked as materialized (
  select message_id, share
    from (${share(0, "$2")}
          union all ${share(1, "$3")}
          union all ${share(2, "$4")}) due
   limit $2::integer
), claimed as (
  update delivery_queue q
     set due_at = now() + $5::integer * interval '1 millisecond'
    from picked
   where q.message_id = picked.message_id
  returning q.message_id, q.account_id, q.environment, q.state, q.sealed_content, picked.share
)
${select}`;

/** Takes messages whose time has come, the longest waiting first: $2 at most, for a lease of $1 milliseconds. */
export const claimScheduledStatement = (select: string): ((leaseMs: number, most: number) => Sql) => {
  const statement = prepare(`
with claimed as (
  update delivery_queue q
     set due_at = now() + $1::integer * interval '1 millisecond'
   where q.message_id = any (array(select message_id
                                     from delivery_queue
                                    where link = '${SCHEDULED_LANE}' and due_at <= now()
                                    order by due_at
                                    limit $2::integer
                                      for update skip locked))
  returning q.message_id, q.account_id, q.environment
)
${select}`);
  return (leaseMs, most) => ({ ...statement, values: [leaseMs, most] });
};

/** A place among what waits in a lane; the time as the database writes it, which is finer than ours. */
export type QueueCursor = { priority: number; accountId: Uuid; dueAt: string; id: Uuid };

/** Reads what is due in a lane, from a place on, and takes nothing. `select` reads the relation `waiting`. */
export const waitingStatement = (select: string): ((lane: string, after: QueueCursor, most: number) => Sql) => {
  const statement = prepare(`
with waiting as materialized (
  select message_id, account_id, environment, state, priority, due_at
    from delivery_queue
   where link = $1 and due_at <= now()
     and (priority, account_id, due_at, message_id) > ($2::smallint, $3::uuid, $4::timestamptz, $5::uuid)
   order by priority, account_id, due_at, message_id
   limit $6::integer
)
${select}`);
  return (lane, { priority, accountId, dueAt, id }, most) => ({ ...statement, values: [lane, priority, accountId, dueAt, id, most] });
};

/** A new lease for rows that are as `condition` says. One that someone is changing just now is left alone: waiting for several of them in
 *  an order of our own could end in a circle, and its change says where it goes from there. */
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

const take = batchStatement<{ id: Uuid; lane: string; leaseMs: number }>(
  [
    column("message_id", "uuid", ({ id }) => id),
    column("link", "text", ({ lane }) => lane),
    column("lease_ms", "integer", ({ leaseMs }) => leaseMs),
  ],
  (items) => leaseFree(items, "q.link = item.link and q.due_at <= now()"),
);

/** Takes these of a lane into this process's hands, as far as they are still due there; returns which. */
export const takeRows = async (db: Queryable, lane: string, ids: readonly Uuid[], leaseMs: number): Promise<Uuid[]> =>
  (await db.rows<{ message_id: Uuid }>(take(ids.map((id) => ({ id, lane, leaseMs }))))).map(({ message_id: id }) => id);

const renew = batchStatement<{ id: Uuid; leaseMs: number }>(
  [column("message_id", "uuid", ({ id }) => id), column("lease_ms", "integer", ({ leaseMs }) => leaseMs)],
  (items) => leaseFree(items, `q.state <> ${QUEUE_STATE.held}`),
);

/** Still at it: nobody else should take these. With a lease of nothing: no longer at it, anybody may. */
export const renewLeases = async (db: Queryable, ids: readonly Uuid[], leaseMs: number): Promise<void> => {
  await db.rows(renew(ids.map((id) => ({ id, leaseMs }))));
};

const drop = batchStatement<Uuid>(
  [column("message_id", "uuid", (id) => id)],
  (items) => `
delete from delivery_queue q
 using ${items}
 where q.message_id = item.message_id`,
);

/** Rows whose message has nothing to wait for. */
export const dropRows = async (db: Queryable, ids: readonly Uuid[]): Promise<void> => {
  await db.rows(drop(ids));
};

export type QueueRow = { message_id: Uuid; account_id: Uuid; environment: Environment };

/** Messages that nobody may hand over any more, wherever they wait. No index serves this: it would cost every message, and
 *  the caller paces itself by what the scan takes. */
export const findLapsed = (db: Queryable, max: number): Promise<QueueRow[]> =>
  db.rows<QueueRow>(sql`
  select message_id, account_id, environment
    from delivery_queue
   where expires_at <= now() and state = ${QUEUE_STATE.waiting}
   limit ${max}`);

/** The lanes that have something in them, as the relation `lane`: the index is asked for the next one, as often as there are lanes. */
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

// Counted no further: past this the number says only "very many", and counting would be work.
const MAX_DEPTH = 1_000_000;

export type LaneDepth = { link: string; rows: number; held: number; oldest_due_seconds: number };

/** How many rows are in each lane, how many of them of unknown outcome, and for how long the oldest has been due. */
export const readLaneDepths = (db: Queryable): Promise<LaneDepth[]> =>
  db.rows<LaneDepth>(sql`
  select link, count(*)::integer as rows, (count(*) filter (where state = ${QUEUE_STATE.held}))::integer as held,
         coalesce(greatest(0, extract(epoch from now() - min(due_at) filter (where state = ${QUEUE_STATE.waiting}))), 0)::float8
           as oldest_due_seconds
    from (select link, due_at, state from delivery_queue limit ${MAX_DEPTH}) q
   group by link`);

/** When the longest waiting of the messages that are due became due; null when none is. Messages whose time has not come,
 *  and those that a node has in its hands, do not wait.
 *
 *  A queue of a million is not read: the index is asked for the next lane, as often as there are lanes, and in each lane
 *  and priority for the first row of the account. */
export const findOldestDue = (db: Queryable, accountId: Uuid, environment: Environment): Promise<{ due_at: Date | null }[]> =>
  db.rows<{ due_at: Date | null }>({ ...oldestDue, values: [accountId, environment] });

const oldestDue = prepare(`${LANES}
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
