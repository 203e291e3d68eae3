/** Requests whose effects a test can verify in the database. The idempotency key is also the client_reference of the message. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { poll, within } from "../../src/lib/wait.ts";
import type { Queryable } from "../../src/database/database.ts";
import { encodeId, type MessageId } from "../../src/model/id.ts";
import { LIMIT_MS } from "./expect.ts";
import { sms, type Godwit, type Reply } from "./harness.ts";

// The limit for every response, also during an outage of the database.
const RESPONSE_LIMIT_MS = 60_000;
// With this pause the requests of all connections still overlap, and leave most of the processor to the service.
const PAUSE_MS = 20;
const RETRIES_AT_ONCE = 32;

/** `status` is undefined if the connection broke before the response. `id` and `text`, the body, are those of a response with 202. */
export type Sent = { key: string; status: number | undefined; id: string | undefined; text: string | undefined; isReplay: boolean };

async function sendWithKey(godwit: Godwit, apiKey: string, key: string = randomUUID()): Promise<Sent> {
  let reply: Reply | undefined;
  try {
    reply = await within(godwit.send(apiKey, { client_reference: key }, { idempotencyKey: key }), RESPONSE_LIMIT_MS);
  } catch {
    return { key, status: undefined, id: undefined, text: undefined, isReplay: false };
  }
  assert.ok(reply !== undefined, `${key} had no response for ${RESPONSE_LIMIT_MS} ms`);
  const accepted = reply.status === 202 ? { id: String(reply.json["id"]), text: reply.text } : { id: undefined, text: undefined };
  return { key, status: reply.status, ...accepted, isReplay: reply.headers.get("idempotent-replayed") === "true" };
}

/** Sends new messages over `connections` connections until the signal is aborted or the connections break. */
export async function sendUntil(
  stop: AbortSignal,
  { godwit, apiKey, connections = 16 }: { godwit: Godwit; apiKey: string; connections?: number },
  onSent: (sent: Sent) => void = () => undefined,
): Promise<Sent[]> {
  const all: Sent[] = [];
  const work = async (): Promise<void> => {
    while (!stop.aborted) {
      const sent = await sendWithKey(godwit, apiKey);
      all.push(sent);
      onSent(sent);
      if (sent.status === undefined) return;
      await sleep(PAUSE_MS);
    }
  };
  await Promise.all(Array.from({ length: connections }, work));
  return all;
}

/** Asserts that the keys of the requests with a 202 still have their first response, whose body does not show the current status of the
 *  message. `most` limits the number of keys that are tried. */
export async function assertKeysReplay(godwit: Godwit, apiKey: string, sent: readonly Sent[], most = 100): Promise<void> {
  const accepted = sent.filter(({ status }) => status === 202);
  const open = accepted.filter((_, index) => index % Math.ceil(accepted.length / most) === 0).values();
  const work = async (): Promise<void> => {
    for (const { key, id, text } of open)
      assert.deepEqual(await sendWithKey(godwit, apiKey, key), { key, status: 202, id, text, isReplay: true });
  };
  await Promise.all(Array.from({ length: RETRIES_AT_ONCE }, work));
}

/** Repeats every request that had no 202 under its key, as a client does, until the response is a 202. */
export async function retryUnanswered(godwit: Godwit, apiKey: string, sent: readonly Sent[]): Promise<Sent[]> {
  const open = sent.filter(({ status }) => status !== 202).values();
  const settled = sent.filter(({ status }) => status === 202);
  const work = async (): Promise<void> => {
    for (const { key } of open) {
      const repeat = async (): Promise<Sent | undefined> => {
        const again = await sendWithKey(godwit, apiKey, key);
        return again.status === 202 ? again : undefined;
      };
      const accepted = await poll(repeat, { timeoutMs: LIMIT_MS, everyMs: 50 });
      assert.ok(accepted !== undefined, `the key ${key} got no 202 in ${LIMIT_MS} ms of retries`);
      settled.push(accepted);
    }
  };
  await Promise.all(Array.from({ length: RETRIES_AT_ONCE }, work));
  return settled;
}

const query = (text: string, values: readonly unknown[] = []) => ({ name: `account_for_${randomUUID()}`, text, values });

type Effects = { key: string; messages: number; events: number; queued: number; keys: number; id: string | null };

/** Counts the rows for these keys: one result for each key that has a message. Only for services that accept and do not deliver (role
 *  `api`, the default), because delivery removes messages from the queue and can queue them again. */
async function effectsOf(db: Queryable, keys: readonly string[]): Promise<Effects[]> {
  const rows = await db.rows<Omit<Effects, "id"> & { of_event: MessageId | null }>(
    query(
      `select m.client_reference as key, count(distinct m.id)::integer as messages, count(distinct e.id)::integer as events,
              count(distinct q.message_id)::integer as queued, count(distinct k.key)::integer as keys, (array_agg(e.message_id))[1] as of_event
         from messages m
         left join events e on e.message_id = m.id and e.type = 'message.queued'
         left join delivery_queue q on q.message_id = m.id
         left join idempotency_keys k on k.event_id = e.id and k.key::text = m.client_reference
        where m.client_reference = any ($1::text[])
        group by m.client_reference`,
      [keys],
    ),
  );
  return rows.map(({ of_event: id, ...effects }) => ({ ...effects, id: id && encodeId("msg", id) }));
}

/** Asserts that every request has exactly one message, event, queue row and key, and that its response names this message. Only for
 *  services that do not deliver. */
export async function assertEachOnce(db: Queryable, sent: readonly Sent[]): Promise<void> {
  const keys = sent.map(({ key }) => key);
  const found = new Map((await effectsOf(db, keys)).map((effects) => [effects.key, effects]));
  for (const { key, id } of sent)
    assert.deepEqual(found.get(key), { key, messages: 1, events: 1, queued: 1, keys: 1, id }, `the effects of ${key}`);
}

/** Asserts that these requests have written no rows. */
export async function assertNothingDone(db: Queryable, sent: readonly Sent[]): Promise<void> {
  const keys = sent.map(({ key }) => key);
  assert.deepEqual(await effectsOf(db, keys), []);
  assert.deepEqual(await db.rows(query("select key::text from idempotency_keys where key = any ($1::uuid[])", [keys])), []);
}

/** Asserts that after a crash no row exists without the other rows of its transaction. Only for services that do not deliver, because
 *  finished messages have no queue row. */
export async function assertNothingHalfDone(db: Queryable): Promise<void> {
  const rows = await db.rows(
    query(
      `select (select count(*)::integer from messages where id not in (select message_id from events)) as messages_without_event,
              (select count(*)::integer from events where message_id not in (select id from messages)) as events_without_message,
              (select count(*)::integer from messages where id not in (select message_id from delivery_queue)) as messages_not_queued,
              (select count(*)::integer from delivery_queue where message_id not in (select id from messages)) as queued_without_message,
              (select count(*)::integer from idempotency_keys where event_id not in (select id from events)) as keys_without_event,
              (select count(*)::integer from (select from messages group by client_reference having count(*) > 1) repeated) as repeated`,
    ),
  );
  assert.deepEqual(rows, [
    {
      messages_without_event: 0,
      events_without_message: 0,
      messages_not_queued: 0,
      queued_without_message: 0,
      keys_without_event: 0,
      repeated: 0,
    },
  ]);
}

/** The bytes of a complete POST /v1/messages, for clients that do not wait for the response. */
export function postBytes(apiKey: string, idempotencyKey: string, body: object = sms()): string {
  const text = JSON.stringify(body);
  return [
    "POST /v1/messages HTTP/1.1",
    "Host: localhost",
    `Authorization: Bearer ${apiKey}`,
    `Idempotency-Key: ${idempotencyKey}`,
    "Content-Type: application/json",
    `Content-Length: ${Buffer.byteLength(text)}`,
    "",
    text,
  ].join("\r\n");
}
