/** The SQL of delivery: statements put together from what the owners of the tables export. */
import type { Uuid } from "../lib/uuid.ts";
import { joinMessage, MESSAGE_COLUMNS, toMessage, type MessageRow } from "../messages/rows.ts";
import type { Message } from "../messages/message.ts";
import { QUEUE_STATE, type QueueState } from "../messages/queue-entry.ts";
import { claimScheduledStatement, claimStatement, waitingStatement, type Claim, type QueueCursor } from "./queue.ts";
import { nameColumns, namedMessage } from "./receipt-queries.ts";
import type { Name } from "../messages/reference.ts";
import { batchStatement, column } from "../storage/batch.ts";
import type { Queryable } from "../storage/database.ts";
import type { Environment } from "../storage/owner.ts";

/** `share`: how many an account could get in that claim. `sealedContent`: what the carrier is to be given in place of what the
 *  message shows. */
export type Claimed = { message: Message; state: QueueState; share: number; sealedContent: string | null };

const STATES = Object.keys(QUEUE_STATE) as QueueState[];

const claim = claimStatement(`select claimed.state as queue_state, claimed.share, claimed.sealed_content, ${MESSAGE_COLUMNS}
  from claimed${joinMessage("claimed")}`);

/** Due messages of a lane, now in this process's hands. */
export async function claimDue(db: Queryable, request: Claim): Promise<Claimed[]> {
  const rows = await db.rows<MessageRow & { queue_state: number; share: number; sealed_content: string | null }>(claim(request));
  return rows.map((row) => ({
    message: toMessage(row),
    state: STATES[row.queue_state] ?? "waiting",
    share: row.share,
    sealedContent: row.sealed_content,
  }));
}

const listWaiting = waitingStatement(`select waiting.state as queue_state, waiting.priority as queue_priority, waiting.due_at::text as due,
       ${MESSAGE_COLUMNS}
  from waiting${joinMessage("waiting")}
 order by waiting.priority, waiting.account_id, waiting.due_at, waiting.message_id`);

/** A message that is due, and the place where it stands. */
export type Waiting = { message: Message; state: QueueState; place: QueueCursor };

/** Due messages of a lane from a place on, in nobody's hands for that. */
export async function readWaiting(db: Queryable, lane: string, after: QueueCursor, most: number): Promise<Waiting[]> {
  const rows = await db.rows<MessageRow & { queue_state: number; queue_priority: number; due: string }>(listWaiting(lane, after, most));
  return rows.map((row) => {
    const message = toMessage(row);
    const place = { priority: row.queue_priority, accountId: message.accountId, dueAt: row.due, id: message.id };
    return { message, state: STATES[row.queue_state] ?? "waiting", place };
  });
}

const claimScheduled = claimScheduledStatement(`select ${MESSAGE_COLUMNS}
  from claimed${joinMessage("claimed")}`);

/** Scheduled messages whose time has come, now in this process's hands. */
export const claimReleasable = async (db: Queryable, leaseMs: number, most: number): Promise<Message[]> =>
  (await db.rows<MessageRow>(claimScheduled(leaseMs, most))).map(toMessage);

export type Owned = { accountId: Uuid; environment: Environment; id: Uuid };

const read = batchStatement<Owned>(
  [
    column("account_id", "uuid", ({ accountId }) => accountId),
    column("environment", "text", ({ environment }) => environment),
    column("message_id", "uuid", ({ id }) => id),
  ],
  (items) => `
select ${MESSAGE_COLUMNS}
  from ${items}${joinMessage("item")}`,
);

/** Messages as they are now. */
export const readMessages = async (db: Queryable, ids: readonly Owned[]): Promise<Message[]> =>
  (await db.rows<MessageRow>(read(ids))).map(toMessage);

const findNamed = batchStatement<Name>(
  nameColumns,
  (items) => `
select item.ordinal::integer as place, named.part, ${MESSAGE_COLUMNS}
  from ${items}
 cross join lateral (${namedMessage}) named${joinMessage("named")}`,
);

/** A message, and which part of it, where it went in several. */
export type Named = { message: Message; part: number | null };

/** What carriers speak of, by place in the list; a name that is not known has none. */
export async function messagesNamed(db: Queryable, names: readonly Name[]): Promise<Map<number, Named>> {
  const rows = await db.rows<MessageRow & { place: number; part: number | null }>(findNamed(names));
  return new Map(rows.map((row) => [row.place - 1, { message: toMessage(row), part: row.part }]));
}
