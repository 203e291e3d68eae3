/** /v1/messages of the test client. */
import assert from "node:assert/strict";
import { until } from "../expect.ts";
import { sms, type Reply, type RequestOptions } from "../harness.ts";
import { below, recordOf, search, type Json, type Page, type Query, type SendRequest } from "./request.ts";

type Attempt = {
  number: number;
  link: string;
  outcome: string;
  provider_message_id: string | null;
  provider_code: string | null;
  detail: string | null;
  retry_at: string | null;
};
export type TimelineEntry = {
  id: string;
  type: string;
  ignored: boolean;
  previous_status: string | null;
  status: string | null;
  sequence: number | null;
  attempt: Attempt | null;
  receipt: { link: string; status: string; provider_message_id: string | null; error_code: string | null; raw: Json } | null;
  reason: string | null;
  created_at: string;
};

/** A value for `send_at`. */
export const afterSeconds = (seconds: number): string => new Date(Date.now() + seconds * 1_000).toISOString();

export function messageClient(send: SendRequest) {
  const request = below(send, "/v1/messages");
  const read = async (id: unknown): Promise<Json> => recordOf(await request("GET", `/${String(id)}`));
  const post = (body: object = {}, options: RequestOptions = {}): Promise<Reply> =>
    request("POST", "", { ...options, body: { ...sms(), ...body } });
  return {
    request,
    read,
    /** Sends the smallest valid message, changed by `body`, and returns the response. */
    post,
    /** Sends a message and returns its record. */
    send: async (body: object = {}, options: RequestOptions = {}): Promise<Json> => recordOf(await post(body, options), 202),
    list: async (query: Query = {}): Promise<Page> => recordOf(await request("GET", search(query))) as Page,
    cancel: (id: unknown, options?: RequestOptions): Promise<Reply> => request("POST", `/${String(id)}/cancel`, options),
    redact: (id: unknown, options?: RequestOptions): Promise<Reply> => request("POST", `/${String(id)}/redact`, options),
    edit: (id: unknown, body: unknown, options?: RequestOptions): Promise<Reply> =>
      request("PATCH", `/${String(id)}`, { ...options, body }),
    /** The whole timeline of a message, the oldest entry first. */
    timeline: async (id: unknown): Promise<TimelineEntry[]> => {
      const { data, has_more: hasMore } = recordOf(await request("GET", `/${String(id)}/events?limit=100`));
      assert.equal(hasMore, false);
      return (data as TimelineEntry[]).toReversed();
    },
    /** Waits until the message has the status, and returns its record. */
    reached: (id: unknown, status: string): Promise<Json> =>
      until(`${String(id)} is ${status}`, async () => {
        const record = await read(id);
        return record["status"] === status ? record : undefined;
      }),
  };
}
