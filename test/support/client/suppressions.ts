/** /v1/suppressions of the test client. */
import type { Reply, RequestOptions } from "../harness.ts";
import { recipientOf } from "../recipient.ts";
import { eventClient } from "./events.ts";
import { below, recordOf, itemsOf, search, walk, type Json, type Page, type Query, type SendRequest } from "./request.ts";

export const RECIPIENT = recipientOf("+14155550123");
export const SHOP = "+14155550199";

/** Valid phone numbers, all different. */
export const recipients = (count: number, from = 0): string[] =>
  Array.from({ length: count }, (_, index) => `+1415${String(5_000_000 + from + index)}`);

export function suppressionClient(send: SendRequest) {
  const request = below(send, "/v1/suppressions");
  const post = (body: object = {}, options: RequestOptions = {}): Promise<Reply> =>
    request("POST", "", { ...options, body: { recipient: RECIPIENT, ...body } });
  return {
    request,
    post,
    /** Returns the record as later reads return it, without the count that only an opt-out has. */
    add: async (body: object = {}): Promise<Json> => {
      const { in_flight: _inFlight, ...record } = recordOf(await post(body), 201);
      return record;
    },
    lift: async (id: unknown): Promise<Json> => recordOf(await request("DELETE", `/${String(id)}`)),
    read: async (id: unknown): Promise<Json> => recordOf(await request("GET", `/${String(id)}`)),
    list: async (query: Query = {}): Promise<Page> => recordOf(await request("GET", search(query))) as Page,
    history: async (id: unknown, query: Query = {}): Promise<Page> =>
      recordOf(await request("GET", `/${String(id)}/history${search(query)}`)) as Page,
    import: (entries: unknown, options: RequestOptions = {}): Promise<Reply> =>
      request("POST", "/import", { ...options, body: { entries } }),
    /** The events of recipients, the oldest first. */
    events: async (): Promise<Json[]> => itemsOf(await walk(eventClient(send).list, { type: "recipient.*", limit: "100" })).toReversed(),
  };
}
