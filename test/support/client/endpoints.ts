/** /v1/webhook_endpoints of the test client. */
import { until } from "../expect.ts";
import { below, recordOf, search, type Json, type Page, type Query, type SendRequest } from "./request.ts";

export const URL_TEXT = "https://example.com/hook";

export type EndpointClient = ReturnType<typeof endpointClient>;

export function endpointClient(send: SendRequest) {
  const request = below(send, "/v1/webhook_endpoints");
  const read = async (id: unknown): Promise<Json> => recordOf(await request("GET", `/${String(id)}`));
  return {
    request,
    read,
    create: async (body: object = {}): Promise<Json> => recordOf(await request("POST", "", { body: { url: URL_TEXT, ...body } }), 201),
    edit: async (id: unknown, body: object): Promise<Json> => recordOf(await request("PATCH", `/${String(id)}`, { body })),
    remove: async (id: unknown): Promise<Json> => recordOf(await request("DELETE", `/${String(id)}`)),
    rotate: async (id: unknown): Promise<Json> => recordOf(await request("POST", `/${String(id)}/rotate_secret`)),
    /** Sends a test event and returns its id. */
    test: async (id: unknown): Promise<string> => String(recordOf(await request("POST", `/${String(id)}/test`), 202)["event_id"]),
    recover: async (id: unknown, since: string): Promise<Json> =>
      recordOf(await request("POST", `/${String(id)}/recover`, { body: { since } }), 202),
    retry: async (id: unknown, delivery: unknown): Promise<Json> =>
      recordOf(await request("POST", `/${String(id)}/deliveries/${String(delivery)}/retry`), 202),
    list: async (query: Query = {}): Promise<Page> => recordOf(await request("GET", search(query))) as Page,
    deliveries: async (id: unknown, query: Query = {}): Promise<Page> =>
      recordOf(await request("GET", `/${String(id)}/deliveries${search(query)}`)) as Page,
    /** Waits until every missed event is in the queue. */
    recovered: (id: unknown): Promise<Json> =>
      until(`${String(id)} to end its recovery`, async () => [await read(id)].find((endpoint) => endpoint["recovery"] === null)),
  };
}
