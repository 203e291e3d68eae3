/** All SQL of retention. It runs as text in its own session, because names of tables cannot be parameters. */
import { firstUuidAt, uuidToText } from "../lib/uuid.ts";
import type { Message } from "../messages/message.ts";
import { MESSAGE_COLUMNS, messageOfRow, type MessageRow } from "../messages/rows.ts";
import { isFinished, STATUSES } from "../messages/states.ts";
import type { Queryable } from "../database/database.ts";
import { DATABASE_LOCK, LOCKS } from "../database/locks.ts";
import { listWeeks, weekName, type Week } from "../database/partitions.ts";
import type { Run } from "../database/short-locks.ts";
import { prepare, sql, type Prepared, type Sql } from "../database/sql.ts";

// Finished statuses are listed, so that an unknown status counts as unfinished.
const FINISHED = `(${STATUSES.filter(isFinished)
  .map((status) => `'${status}'`)
  .join(", ")})`;

const firstId = (timeMs: number): string => `'${uuidToText(firstUuidAt(timeMs))}'::uuid`;

async function firstRow<T>(run: Run, text: string): Promise<T> {
  return (await run(text)).rows[0] as T;
}

/** Lets one node work at a time. */
export const tryLock = async (run: Run): Promise<boolean> =>
  (await firstRow<{ is_mine: boolean }>(run, `select pg_try_advisory_lock(${DATABASE_LOCK}, ${LOCKS.retention}) as is_mine`)).is_mine;

export const unlock = (run: Run): Promise<unknown> => run(`select pg_advisory_unlock(${DATABASE_LOCK}, ${LOCKS.retention})`);

/** The name by which another connection can end this session. */
export const readSessionName = async (run: Run): Promise<string> =>
  (await firstRow<{ name: string }>(run, "select current_setting('application_name') as name")).name;

/** Reads the weeks in the session, because the bounds in the catalog need locks of their tables, and the session can be ended. */
export const readWeeks = (run: Run): Promise<Week[]> => listWeeks({ rows: async <T>({ text }: Sql) => (await run(text)).rows as T[] });

/** Whether a message of the week is unfinished, by the queue or by its status. One snapshot, because a message that changes may move to a
 *  block that was read already. The result stays true until the drop: a finished message stays finished, and new ids have the current
 *  time, so that no message is added to a past week. */
export const hasUnfinished = async (run: Run, { fromMs, toMs, messages }: Week): Promise<boolean> => {
  const { is_unfinished: isUnfinished } = await firstRow<{ is_unfinished: boolean }>(
    run,
    `select case when exists (select
                                from delivery_queue
                               where message_id >= ${firstId(fromMs)} and message_id < ${firstId(toMs)})
                 then true
                 else exists (select
                                from ${messages}
                               where status not in ${FINISHED})
            end as is_unfinished`,
  );
  return isUnfinished;
};

const unfinishedOf = (week: Week): string => `
select ${MESSAGE_COLUMNS}
  from ${week.messages} m
 where m.status not in ${FINISHED}
 limit $1`;

/** Some of the unfinished messages of a week. */
export const readUnfinished = async (db: Queryable, week: Week, most: number): Promise<Message[]> =>
  (await db.rows<MessageRow>({ ...prepare(unfinishedOf(week)), values: [most] })).map(messageOfRow);

/** Deletes what the queue has of the messages of a week. */
export const deleteQueueRows = (db: Queryable, { fromMs, toMs }: Week): Promise<unknown> =>
  db.rows(sql`
  delete from delivery_queue
   where message_id >= ${firstUuidAt(fromMs)} and message_id < ${firstUuidAt(toMs)}`);

export const tablesOf = ({ messages, events, webhook_deliveries: deliveries }: Week): string[] =>
  deliveries === undefined ? [messages, events] : [messages, events, deliveries];

/** `drop_week` has the rights of the owner of the schema, which the role of this node may lack. */
export const dropStatement = ({ fromMs }: Week): string => `select drop_week('${weekName(fromMs)}')`;

type AgingTable = {
  /** The column with the age of a row: an id, which begins with a time, or a time. */
  age: "id" | "message_id" | "received_at";
  /** An old row is deleted if this is true as well. */
  isOver?: string;
  /** The table has no index of the age. It is small. */
  isUnsorted?: true;
};

/** Tables without weeks, and the default partitions, which hold rows that no week covers and are usually empty. */
const AGING_TABLES = {
  batches: { age: "id" },
  verifications: { age: "id" },
  message_parts: { age: "message_id" },
  kept_inbound: { age: "id" },
  parked_receipts: { age: "received_at", isUnsorted: true },
  inbound_names: { age: "received_at" },
  inbound_parts: { age: "received_at", isUnsorted: true },
  messages_default: {
    age: "id",
    isUnsorted: true,
    // Compact events need their message.
    isOver: `status in ${FINISHED} and not exists (select from delivery_queue q where q.message_id = old.id)
          and not exists (select from events_default e
                           where e.account_id = old.account_id and e.environment = old.environment and e.id = old.id)
          and not exists (select from events_default e where e.message_id = old.id and e.id <> e.message_id)`,
  },
  // The timeline of an unfinished message stays.
  events_default: {
    age: "id",
    isUnsorted: true,
    isOver: `not exists (select
                           from messages m
                          where m.account_id = old.account_id and m.environment = old.environment and m.id = old.message_id
                            and m.status not in ${FINISHED})`,
  },
  webhook_deliveries_default: {
    age: "id",
    isUnsorted: true,
    isOver: "not exists (select from webhook_queue q where q.id = old.id)",
  },
} as const satisfies Readonly<Record<string, AgingTable>>;
export type AgingTableName = keyof typeof AGING_TABLES;

function deleteOld(table: string, { age, isOver = "true", isUnsorted }: AgingTable): Prepared {
  return prepare(`
delete from ${table}
 where ctid = any (array(select ctid
                           from ${table} old
                          where ${age} < $1 and ${isOver}
                          ${isUnsorted === true ? "" : `order by ${age}`}
                          limit $2
                            for update skip locked))
returning 1`);
}

const DELETE_OLD = new Map(Object.entries(AGING_TABLES).map(([table, aging]) => [table, deleteOld(table, aging)]));

/** Deletes up to `most` rows from before a time, and returns how many. */
export const deleteOldRows = async (db: Queryable, table: AgingTableName, beforeMs: number, most: number): Promise<number> => {
  const before = AGING_TABLES[table].age === "received_at" ? new Date(beforeMs) : firstUuidAt(beforeMs);
  return (await db.rows({ ...(DELETE_OLD.get(table) as Prepared), values: [before, most] })).length;
};
