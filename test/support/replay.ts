/** Assertions on responses to requests with an idempotency key, and on the rows that these requests write. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { sms, type Godwit, type Reply } from "./harness.ts";

export const isReplay = ({ headers }: Reply): boolean => headers.get("idempotent-replayed") === "true";
export const codeOf = ({ json }: Reply): unknown => json["code"];

/** Asserts that the request was executed, and that the response is not a replay. */
export function assertFirst(reply: Reply, status = 202): void {
  assert.equal(reply.status, status, reply.text);
  assert.equal(reply.headers.has("idempotent-replayed"), false);
}

export function assertReplayOf(first: Reply, reply: Reply): void {
  assert.equal(isReplay(reply), true, `${reply.status} ${reply.text}`);
  assert.equal(reply.status, first.status);
  assert.equal(reply.text, first.text);
  for (const name of ["content-type", "location"]) assert.equal(reply.headers.get(name), first.headers.get(name), name);
}

export function assertReused(reply: Reply): void {
  assert.equal(reply.status, 422, reply.text);
  assert.equal(codeOf(reply), "idempotency_key_reused");
  assert.equal(isReplay(reply), false);
}

export function assertConflict(reply: Reply): void {
  assert.equal(reply.status, 409, reply.text);
  assert.equal(codeOf(reply), "idempotency_conflict");
  assert.match(reply.headers.get("retry-after") ?? "", /^[1-9]\d*$/);
}

/** Asserts that of many concurrent copies of one request exactly one was executed, and the other responses are conflicts or replays. */
export function assertOneExecution(replies: readonly Reply[], status = 202): Reply {
  const executed = replies.filter((reply) => reply.status === status && !isReplay(reply));
  const [first] = executed;
  assert.ok(first !== undefined && executed.length === 1, `${executed.length} executions`);
  for (const reply of replies) {
    if (reply === first) continue;
    if (reply.status === 409) assertConflict(reply);
    else assertReplayOf(first, reply);
  }
  return first;
}

/** A message whose effects can be counted. */
export const unique = (extra: object = {}): Record<string, unknown> => ({ ...sms(), client_reference: randomUUID(), ...extra });

/** The effects of a service that only accepts messages, which is the default: each message has one event, and stays queued. */
export const ONCE = { messages: 1, events: 1, queued: 1 };
export const NEVER = { messages: 0, events: 0, queued: 0 };

/** Counts the rows that all requests with the reference of this message have written. A delivered message has more events, and no queue row
 *  after its last attempt. */
export async function effectCount(godwit: Godwit, { client_reference: reference }: Record<string, unknown>): Promise<object> {
  const [row] = await godwit.rows<object>(
    `select count(m.id)::integer as messages,
            (select count(*)::integer from events e where e.message_id = any (array_agg(m.id))) as events,
            (select count(*)::integer from delivery_queue q where q.message_id = any (array_agg(m.id))) as queued
       from messages m
      where m.client_reference = $1`,
    [reference],
  );
  return row ?? {};
}

export const isStored = async (godwit: Godwit, key: string): Promise<boolean> =>
  (await godwit.rows("select from idempotency_keys where key = $1", [key])).length > 0;
