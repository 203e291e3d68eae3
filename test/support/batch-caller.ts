/** A client that sends batches, and a look at what they left behind. */
import assert from "node:assert/strict";
import { recipientNo } from "./delivery-rig.ts";
import { until, type Fault } from "./expect.ts";
import type { Godwit, Reply, RequestOptions } from "./harness.ts";
import { rowId } from "./tables.ts";

export type Json = Reply["json"];
type Result = {
  index: number;
  status: "accepted" | "refused";
  message_id: string | null;
  error: { code: string; detail: string; errors: Fault[] } | null;
};
export type Accepted = Json & { id: string; status: string; total: number; accepted: number; refused: number; results: Result[] };

export const DEFAULTS = { channel: "sms", body: "Hello" } as const;

/** Items with a recipient each. */
export const items = (count: number, fields: (index: number) => object = () => ({})): Json[] =>
  Array.from({ length: count }, (_, index) => ({ recipient: recipientNo(index), ...fields(index) }));

/** What is in the tables of one batch. `named` are messages that another table knows of. */
export type Effects = { batches: number; messages: number; events: number; queued: number };

export type BatchCaller = ReturnType<typeof batchCaller>;

export function batchCaller(node: Godwit, key: string) {
  const ask = (method: string, path: string, options: RequestOptions = {}): Promise<Reply> =>
    node.request(method, path, { key, ...options });
  const post = (body: unknown, options: RequestOptions = {}): Promise<Reply> => ask("POST", "/v1/batches", { body, ...options });
  const read = async (id: unknown): Promise<Json> => {
    const reply = await ask("GET", `/v1/batches/${String(id)}`);
    assert.equal(reply.status, 200, reply.text);
    return reply.json;
  };
  return {
    key,
    ask,
    post,
    read,
    send: async (list: readonly object[], defaults: object = DEFAULTS, options: RequestOptions = {}): Promise<Accepted> =>
      acceptedOf(await post({ defaults, items: list }, options)),
    /** Waits until it says that it is completed. */
    completed: (id: unknown): Promise<Json> =>
      until(`${String(id)} is completed`, async () => {
        const record = await read(id);
        return record["status"] === "completed" ? record : undefined;
      }),
    /** All messages of a batch, by all its pages. */
    messages: async (id: unknown, limit = 100): Promise<Json[]> => {
      const found: Json[] = [];
      for (let cursor: string | null = ""; cursor !== null;) {
        const query = new URLSearchParams({
          batch_id: String(id),
          limit: String(limit),
          ...(cursor === "" ? {} : { cursor }),
        });
        const page: Reply = await ask("GET", `/v1/messages?${query.toString()}`);
        assert.equal(page.status, 200, page.text);
        found.push(...(page.json["data"] as Json[]));
        cursor = page.json["next_cursor"] as string | null;
        assert.equal(page.json["has_more"], cursor !== null);
        assert.ok(found.length <= 2_000, "the list ends");
      }
      return found;
    },
    /** The events that tell of its end. */
    completions: async (id: unknown): Promise<Json[]> => {
      const reply = await ask("GET", "/v1/events?type=batch.completed&limit=100");
      assert.equal(reply.status, 200, reply.text);
      return (reply.json["data"] as Json[]).filter(({ data }) => ((data as Json)["batch"] as Json)["id"] === id);
    },
  };
}

export function acceptedOf(reply: Reply): Accepted {
  assert.equal(reply.status, 202, reply.text.slice(0, 2_000));
  return reply.json as Accepted;
}

export async function effectsOf(node: Godwit, id: unknown): Promise<Effects> {
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

/** How much there is of everything that a batch could leave behind. */
export async function everything(node: Godwit): Promise<Json> {
  const [row] = await node.rows<Json>(
    `select (select count(*)::integer from batches) as batches, (select count(*)::integer from messages) as messages,
            (select count(*)::integer from events) as events, (select count(*)::integer from delivery_queue) as queued,
            (select count(*)::integer from fallbacks) as fallbacks, (select count(*)::integer from idempotency_keys) as keys`,
  );
  assert.ok(row !== undefined);
  return row;
}
