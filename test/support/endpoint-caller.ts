/** A client that has webhook endpoints. */
import assert from "node:assert/strict";
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
