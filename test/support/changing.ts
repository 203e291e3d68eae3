/** What the tests of messages that change share: asking for a change, reading what became of a message, holding one still. */
import assert from "node:assert/strict";
import { until } from "./expect.ts";
import { sms, type Godwit, type Reply, type RequestOptions } from "./harness.ts";
import { assertOneExecution } from "./replay.ts";

export type Json = Reply["json"];

type Attempt = {
  number: number;
  link: string;
  outcome: string;
  provider_message_id: string | null;
  provider_code: string | null;
  detail: string | null;
  retry_at: string | null;
};
export type Entry = {
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

/** A client of one node. */
export type Caller = ReturnType<typeof callerOf>;

export function callerOf(node: Godwit, key: string) {
  const ask = (method: string, path: string, options: RequestOptions = {}): Promise<Reply> =>
    node.request(method, path, { key, ...options });
  const read = async (id: unknown): Promise<Json> => found(await ask("GET", `/v1/messages/${String(id)}`));
  return {
    ask,
    read,
    /** The record of a new message. */
    send: async (body: object = {}, options: RequestOptions = {}): Promise<Json> => {
      const reply = await ask("POST", "/v1/messages", { ...options, body: { ...sms(), ...body } });
      assert.equal(reply.status, 202, reply.text);
      return reply.json;
    },
    cancel: (id: unknown, options?: RequestOptions): Promise<Reply> => ask("POST", `/v1/messages/${String(id)}/cancel`, options),
    redact: (id: unknown, options?: RequestOptions): Promise<Reply> => ask("POST", `/v1/messages/${String(id)}/redact`, options),
    edit: (id: unknown, body: unknown, options?: RequestOptions): Promise<Reply> =>
      ask("PATCH", `/v1/messages/${String(id)}`, { ...options, body }),
    /** The whole timeline of a message, the oldest first. */
    timeline: async (id: unknown): Promise<Entry[]> => {
      const { data, has_more: hasMore } = found(await ask("GET", `/v1/messages/${String(id)}/events?limit=100`));
      assert.equal(hasMore, false);
      return (data as Entry[]).toReversed();
    },
    /** Waits for a status, and gives the record that has it. */
    reached: (id: unknown, status: string): Promise<Json> =>
      until(`${String(id)} is ${status}`, async () => {
        const record = await read(id);
        return record["status"] === status ? record : undefined;
      }),
  };
}

function found(reply: Reply): Json {
  assert.equal(reply.status, 200, reply.text);
  return reply.json;
}

export const typesOf = (entries: readonly Entry[]): string[] => entries.map(({ type }) => type);

export const afterSeconds = (seconds: number): string => new Date(Date.now() + seconds * 1_000).toISOString();

/** Executed, and not as a replay. */
export function assertChanged(reply: Reply): void {
  assert.equal(reply.status, 200, reply.text);
  assert.equal(reply.headers.has("idempotent-replayed"), false);
}

/** A refusal by a business rule, and what it says of the message. */
export function assertRefused(reply: Reply, code: string, status: string): void {
  assert.equal(reply.status, 422, reply.text);
  assert.equal(reply.json["code"], code);
  assert.match(String(reply.json["detail"]), new RegExp(`\\b${status}\\b`));
}

/** Of answers to one change asked for many times at once: one made it, the others are conflicts or its replays. */
export const assertOneChange = (replies: readonly Reply[]): Reply => assertOneExecution(replies, 200);
