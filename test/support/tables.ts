/** Reads and changes rows of the service's tables directly, where the API shows too little. */
import assert from "node:assert/strict";
import { decodeId, type IdPrefix } from "../../src/model/id.ts";
import { uuidToText } from "../../src/lib/uuid.ts";
import { JOIN_MESSAGE, RECORD_COLUMNS, recordText, type RecordRow } from "../../src/database/stored-record.ts";
import type { Json } from "./client.ts";
import type { Godwit } from "./harness.ts";

/** The UUID of a public id of any kind, as the tables have it. */
export function rowId(id: unknown): string {
  const text = String(id);
  const uuid = decodeId(text.slice(0, text.lastIndexOf("_")) as IdPrefix, text);
  assert.ok(uuid !== undefined, `${text} is an id`);
  return uuidToText(uuid);
}

export type EventRow = { type: string; sequence: number; previous_status: string | null; is_ignored: boolean; record: string | null };

/** The events of a message with their whole records, the oldest first. */
export async function eventsOf(node: Pick<Godwit, "rows">, id: unknown): Promise<EventRow[]> {
  const rows = await node.rows<EventRow & RecordRow>(
    `select e.environment, e.previous_status, e.is_ignored, ${RECORD_COLUMNS} from events e${JOIN_MESSAGE} where e.message_id = $1 order by e.id`,
    [rowId(id)],
  );
  return rows.map((row) => {
    const { type, sequence, previous_status: previous, is_ignored: isIgnored } = row;
    return { type, sequence, previous_status: previous, is_ignored: isIgnored, record: recordText(row) };
  });
}

/** SQL for the status of the message after an event `e`. A compact record has none: it is that of the type. */
export const STATUS_AFTER = `case when e.record like '[%' then substr(e.type, 9) else e.record::json ->> 'status' end`;

export type QueueRow = { link: string; priority: number; due_at: Date; expires_at: Date };

/** The queue entry of a message. */
export const queueRowOf = async (node: Godwit, id: unknown): Promise<QueueRow | undefined> =>
  (await node.rows<QueueRow>("select link, priority, due_at, expires_at from delivery_queue where message_id = $1", [rowId(id)]))[0];

/** Sets the status of a message without a transition. */
export const setStatus = async (node: Godwit, id: unknown, status: string): Promise<void> => {
  await node.rows("update messages set status = $2 where id = $1", [rowId(id), status]);
};

/** The number of deliveries that wait for an endpoint. */
export const waitingFor = async (node: Godwit, id: unknown): Promise<number> =>
  (await node.rows("select from webhook_queue where endpoint_id = $1", [rowId(id)])).length;

/** Returns the tables that contain this text. */
export async function tablesWith(node: Godwit, text: string): Promise<string[]> {
  const tables = await node.rows<{ name: string }>(
    `select c.oid::regclass::text as name
       from pg_class c
      where c.relkind = 'r' and c.relnamespace = 'public'::regnamespace`,
  );
  const found: string[] = [];
  for (const { name } of tables) {
    const [row] = await node.rows<{ rows: number }>(`select count(*)::integer as rows from ${name} t where t::text like '%' || $1 || '%'`, [
      text,
    ]);
    if ((row?.rows ?? 0) > 0) found.push(name);
  }
  return found;
}

type Effects = { batches: number; messages: number; events: number; queued: number };

/** Counts the rows of one batch. */
export async function batchEffects(node: Godwit, id: unknown): Promise<Effects> {
  const [row] = await node.rows<Effects>(
    `select (select count(*)::integer from batches where id = $1) as batches,
            (select count(*)::integer from messages where batch_id = $1) as messages,
            (select count(*)::integer from events e join messages m on m.id = e.message_id where m.batch_id = $1) as events,
            (select count(*)::integer from delivery_queue q join messages m on m.id = q.message_id where m.batch_id = $1) as queued`,
    [rowId(id)],
  );
  assert.ok(row !== undefined);
  return row;
}

/** Counts all rows of every table that a batch writes to. */
export async function rowCounts(node: Godwit): Promise<Json> {
  const [row] = await node.rows<Json>(
    `select (select count(*)::integer from batches) as batches, (select count(*)::integer from messages) as messages,
            (select count(*)::integer from events) as events, (select count(*)::integer from delivery_queue) as queued,
            (select count(*)::integer from fallbacks) as fallbacks, (select count(*)::integer from idempotency_keys) as keys`,
  );
  assert.ok(row !== undefined);
  return row;
}
