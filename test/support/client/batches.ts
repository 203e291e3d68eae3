/** /v1/batches of the test client, and the rows that a batch writes. */
import assert from "node:assert/strict";
import { recipientNo } from "../delivery-rig.ts";
import { until, type Fault } from "../expect.ts";
import type { Godwit, Reply, RequestOptions } from "../harness.ts";
import { rowId } from "../tables.ts";
import { eventClient } from "./events.ts";
import { messageClient } from "./messages.ts";
import { below, recordOf, itemsOf, walk, type Json, type SendRequest } from "./request.ts";

type Result = {
  index: number;
  status: "accepted" | "refused";
  message_id: string | null;
  error: { code: string; detail: string; errors: Fault[] } | null;
};
export type AcceptedBatch = Json & {
  id: string;
  status: string;
  total: number;
  accepted: number;
  refused: number;
  results: Result[];
};

export const DEFAULTS = { channel: "sms", body: "Hello" } as const;

/** Items with a recipient each. */
export const items = (count: number, fields: (index: number) => object = () => ({})): Json[] =>
  Array.from({ length: count }, (_, index) => ({ recipient: recipientNo(index), ...fields(index) }));

export function batchClient(send: SendRequest) {
  const request = below(send, "/v1/batches");
  const post = (body: unknown, options: RequestOptions = {}): Promise<Reply> => request("POST", "", { body, ...options });
  const read = async (id: unknown): Promise<Json> => recordOf(await request("GET", `/${String(id)}`));
  return {
    request,
    post,
    read,
    send: async (list: readonly object[], defaults: object = DEFAULTS, options: RequestOptions = {}): Promise<AcceptedBatch> =>
      acceptedBatch(await post({ defaults, items: list }, options)),
    /** Waits until the record of the batch has the status `completed`. */
    completed: (id: unknown): Promise<Json> =>
      until(`${String(id)} is completed`, async () => {
        const record = await read(id);
        return record["status"] === "completed" ? record : undefined;
      }),
    /** All messages of a batch. */
    messages: async (id: unknown, limit = 100): Promise<Json[]> =>
      itemsOf(await walk(messageClient(send).list, { batch_id: String(id), limit: String(limit) })),
    /** The events that report the completion of the batch. */
    completions: async (id: unknown): Promise<Json[]> => {
      const { data } = await eventClient(send).list({ type: "batch.completed", limit: "100" });
      return data.filter((event) => (event.data["batch"] as Json)["id"] === id);
    },
  };
}

export const acceptedBatch = (reply: Reply): AcceptedBatch => recordOf(reply, 202) as AcceptedBatch;

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
