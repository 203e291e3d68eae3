/** What the tests of messages that change share: asking for a change, reading what became of a message, holding one still. */
import assert from "node:assert/strict";
import pg from "pg";
import { decodeId } from "../../src/lib/id.ts";
import { uuidToText } from "../../src/lib/uuid.ts";
import { poll } from "../../src/lib/wait.ts";
import { LIMIT_MS, until } from "./expect.ts";
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

/** The id as the tables have it. */
export function uuidOf(id: unknown): string {
  const uuid = decodeId("msg", String(id));
  assert.ok(uuid !== undefined, `${String(id)} is an id`);
  return uuidToText(uuid);
}

export type EventRow = { type: string; sequence: number; previous_status: string | null; is_ignored: boolean; record: string | null };

/** What the table of events has of a message, the oldest first. */
export const eventsOf = (godwit: Godwit, id: unknown): Promise<EventRow[]> =>
  godwit.rows<EventRow>("select type, sequence, previous_status, is_ignored, record from events where message_id = $1 order by id", [
    uuidOf(id),
  ]);

export type QueueRow = { link: string; priority: number; due_at: Date; expires_at: Date };

export const queueRowOf = async (godwit: Godwit, id: unknown): Promise<QueueRow | undefined> =>
  (await godwit.rows<QueueRow>("select link, priority, due_at, expires_at from delivery_queue where message_id = $1", [uuidOf(id)]))[0];

/** Makes a message something else behind the service's back. */
export const setStatus = async (godwit: Godwit, id: unknown, status: string): Promise<void> => {
  await godwit.rows("update messages set status = $2 where id = $1", [uuidOf(id), status]);
};

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

/** Holds one message: whoever wants to change it waits in mid-transaction, its key claimed and nothing committed. */
export class MessageHold {
  readonly #client: pg.Client;
  #isReleased = false;

  private constructor(client: pg.Client) {
    this.#client = client;
  }

  static async take(databaseUrl: string | undefined, id: unknown): Promise<MessageHold> {
    const client = new pg.Client(databaseUrl);
    client.on("error", () => undefined);
    await client.connect();
    await client.query("begin");
    await client.query("select from messages where id = $1 for update", [uuidOf(id)]);
    return new MessageHold(client);
  }

  /** Resolves once somebody waits for it. */
  async waiting(): Promise<void> {
    const ask = async (): Promise<true | undefined> => {
      const { rowCount } = await this.#client.query(
        "select from pg_locks where not granted and pg_backend_pid() = any (pg_blocking_pids(pid))",
      );
      return rowCount === 0 ? undefined : true;
    };
    assert.ok(await poll(ask, { timeoutMs: LIMIT_MS, everyMs: 10 }), "nobody waits for the message");
  }

  /** Lets what waits go on. Twice is as good as once. */
  async release(): Promise<void> {
    if (this.#isReleased) return;
    this.#isReleased = true;
    await this.#client.query("rollback");
    await this.#client.end();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.release();
  }
}
