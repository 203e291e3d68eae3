/** A client that has endpoints, and what holds them still. */
import assert from "node:assert/strict";
import pg from "pg";
import { decodeId } from "../../src/lib/id.ts";
import { uuidToText } from "../../src/lib/uuid.ts";
import { until } from "./expect.ts";
import type { Godwit, Reply, RequestOptions } from "./harness.ts";

export type Json = Reply["json"];
export type Page = { data: Json[]; has_more: boolean; next_cursor: string | null };

export const URL_TEXT = "https://example.com/hook";

export type EndpointCaller = ReturnType<typeof endpointCaller>;

export function endpointCaller(node: Godwit, key: string) {
  const ask = (method: string, path = "", options: RequestOptions = {}): Promise<Reply> =>
    node.request(method, `/v1/webhook_endpoints${path}`, { key, ...options });
  const found = async (asked: Promise<Reply>, status = 200): Promise<Json> => {
    const reply = await asked;
    assert.equal(reply.status, status, reply.text);
    return reply.json;
  };
  const read = (id: unknown): Promise<Json> => found(ask("GET", `/${String(id)}`));
  return {
    ask,
    read,
    create: (body: object = {}): Promise<Json> => found(ask("POST", "", { body: { url: URL_TEXT, ...body } }), 201),
    edit: (id: unknown, body: object): Promise<Json> => found(ask("PATCH", `/${String(id)}`, { body })),
    remove: (id: unknown): Promise<Json> => found(ask("DELETE", `/${String(id)}`)),
    rotate: (id: unknown): Promise<Json> => found(ask("POST", `/${String(id)}/rotate_secret`)),
    /** The id of the event. */
    test: async (id: unknown): Promise<string> => String((await found(ask("POST", `/${String(id)}/test`), 202))["event_id"]),
    recover: (id: unknown, since: string): Promise<Json> => found(ask("POST", `/${String(id)}/recover`, { body: { since } }), 202),
    retry: (id: unknown, delivery: unknown): Promise<Json> =>
      found(ask("POST", `/${String(id)}/deliveries/${String(delivery)}/retry`), 202),
    list: async (query: Record<string, string> = {}): Promise<Page> =>
      (await found(ask("GET", `?${new URLSearchParams(query).toString()}`))) as Page,
    deliveries: async (id: unknown, query: Record<string, string> = {}): Promise<Page> =>
      (await found(ask("GET", `/${String(id)}/deliveries?${new URLSearchParams(query).toString()}`))) as Page,
    /** Waits until what was missed is in the queue. */
    recovered: (id: unknown): Promise<Json> =>
      until(`${String(id)} to be done with its recovery`, async () => [await read(id)].find((endpoint) => endpoint["recovery"] === null)),
  };
}

/** The id as the tables have it. */
export function rowId(prefix: "whe" | "evt" | "dlv" | "msg", id: unknown): string {
  const uuid = decodeId(prefix, String(id));
  assert.ok(uuid !== undefined, `${String(id)} is an id`);
  return uuidToText(uuid);
}

/** How many deliveries wait for an endpoint. */
export const waitingFor = async (node: Godwit, id: unknown): Promise<number> =>
  (await node.rows("select from webhook_queue where endpoint_id = $1", [rowId("whe", id)])).length;

/** Whoever wants to write to an endpoint waits, in mid-transaction. */
export async function lockEndpoints({ databaseUrl }: Godwit) {
  const client = new pg.Client(databaseUrl);
  await client.connect();
  await client.query("begin");
  await client.query("lock table webhook_endpoints in exclusive mode");
  let isReleased = false;
  const release = async (): Promise<void> => {
    if (!isReleased) await client.end();
    isReleased = true;
  };
  return {
    release,
    /** Resolves once so many wait, for this or for each other. */
    waiting: (count = 1) =>
      until(`${count} to wait`, async () => {
        const waiting =
          "select from pg_locks where not granted and database = (select oid from pg_database where datname = current_database())";
        return ((await client.query(waiting)).rowCount ?? 0) >= count ? true : undefined;
      }),
    [Symbol.asyncDispose]: release,
  };
}
