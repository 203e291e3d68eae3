/** Requests that can be accounted for: each has its own key, which is also the message's client_reference, so that
 *  afterwards the database can be asked what became of every one of them. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { encodeId, type MessageId } from "../../src/lib/id.ts";
import { poll, within } from "../../src/lib/wait.ts";
import type { Queryable } from "../../src/storage/database.ts";
import { LIMIT_MS } from "./expect.ts";
import { sms, type Godwit, type Reply } from "./harness.ts";

// No answer may take longer, whatever happens to the database.
const ANSWER_LIMIT_MS = 60_000;
// The requests of all connections together overlap at every moment, and leave most of the machine to the service.
const PAUSE_MS = 20;
const RETRIES_AT_ONCE = 32;

/** `status` is undefined when the connection broke before an answer. */
export type Sent = { key: string; status: number | undefined; id: string | undefined; isReplay: boolean };

async function sendWithKey(godwit: Godwit, apiKey: string, key: string = randomUUID()): Promise<Sent> {
  let reply: Reply | undefined;
  try {
    reply = await within(godwit.send(apiKey, { client_reference: key }, { idempotencyKey: key }), ANSWER_LIMIT_MS);
  } catch {
    return { key, status: undefined, id: undefined, isReplay: false };
  }
  assert.ok(reply !== undefined, `${key} had no answer for ${ANSWER_LIMIT_MS} ms`);
  const id = reply.status === 202 ? String(reply.json["id"]) : undefined;
  return { key, status: reply.status, id, isReplay: reply.headers.get("idempotent-replayed") === "true" };
}

/** Sends new messages over `connections` connections until told to stop, or until the server is gone. */
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

/** Does what a client does that had no 202: repeats the request under its key until it has one. */
export async function retryUnanswered(godwit: Godwit, apiKey: string, sent: readonly Sent[]): Promise<Sent[]> {
  const open = sent.filter(({ status }) => status !== 202).values();
  const settled = sent.filter(({ status }) => status === 202);
  const work = async (): Promise<void> => {
    for (const { key } of open) {
      const ask = async (): Promise<Sent | undefined> => {
        const again = await sendWithKey(godwit, apiKey, key);
        return again.status === 202 ? again : undefined;
      };
      const answered = await poll(ask, { timeoutMs: LIMIT_MS, everyMs: 50 });
      assert.ok(answered !== undefined, `the key ${key} got no 202 in ${LIMIT_MS} ms of retries`);
      settled.push(answered);
    }
  };
  await Promise.all(Array.from({ length: RETRIES_AT_ONCE }, work));
  return settled;
}

const query = (text: string, values: readonly unknown[] = []) => ({ name: `account_for_${randomUUID()}`, text, values });

type Effects = { key: string; messages: number; events: number; queued: number; keys: number; id: string | null };

/** What the database holds for these keys: one row for each that has a message. Of services that only accept (roles `api`, as
 *  they are started unless told otherwise): a message that is delivered leaves the queue, and one that a carrier turned away for
 *  now is queued a second time. `journeysOf` tells what became of those. */
const effectsOf = (db: Queryable, keys: readonly string[]): Promise<Effects[]> =>
  db.rows<Effects>(
    query(
      `select m.client_reference as key, count(distinct m.id)::integer as messages, count(distinct e.id)::integer as events,
              count(distinct q.message_id)::integer as queued, count(distinct k.key)::integer as keys, min(e.record::json ->> 'id') as id
         from messages m
         left join events e on e.message_id = m.id and e.type = 'message.queued'
         left join delivery_queue q on q.message_id = m.id
         left join idempotency_keys k on k.event_id = e.id and k.key::text = m.client_reference
        where m.client_reference = any ($1::text[])
        group by m.client_reference`,
      [keys],
    ),
  );

/** Every request has exactly one message, event, queue row and key, the one its answer named. Nothing may have been delivered. */
export async function assertEachOnce(db: Queryable, sent: readonly Sent[]): Promise<void> {
  const found = new Map(
    (
      await effectsOf(
        db,
        sent.map(({ key }) => key),
      )
    ).map((effects) => [effects.key, effects]),
  );
  for (const { key, id } of sent)
    assert.deepEqual(found.get(key), { key, messages: 1, events: 1, queued: 1, keys: 1, id }, `the effects of ${key}`);
}

/** These requests left nothing behind. */
export async function assertNothingDone(db: Queryable, sent: readonly Sent[]): Promise<void> {
  const keys = sent.map(({ key }) => key);
  assert.deepEqual(await effectsOf(db, keys), []);
  assert.deepEqual(await db.rows(query("select key::text from idempotency_keys where key = any ($1::uuid[])", [keys])), []);
}

/** Wherever a crash came, no row stands there without those it was to be written with. Nothing may have been delivered: what has
 *  come to its end is in no queue. */
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

/** A message on its way: what it is, and what its events say, in their order. */
type Journey = {
  key: string;
  id: string;
  status: string;
  sequence: number;
  attempts: number;
  errorCode: string | null;
  /** Told by its events. What moved nothing has no record and is not one of them. */
  sequences: number[];
  lastTold: string | null;
  wasHeld: boolean;
};

/** All messages that there are. */
export async function journeysOf(db: Queryable): Promise<Journey[]> {
  const rows = await db.rows<Omit<Journey, "id"> & { uuid: MessageId }>(
    query(
      `select m.client_reference as key, m.id as uuid, m.status, m.sequence, m.attempts, m.error ->> 'code' as "errorCode",
              coalesce(told.sequences, '{}') as sequences, told.statuses[cardinality(told.statuses)] as "lastTold",
              coalesce(entry.was_held, false) as "wasHeld"
         from messages m
         left join (select message_id, array_agg(sequence order by id) as sequences, array_agg(record::json ->> 'status' order by id) as statuses
                      from events
                     where record is not null and not is_ignored
                     group by message_id) told on told.message_id = m.id
         left join (select message_id, bool_or(type = 'attempt.unknown') as was_held
                      from events
                     group by message_id) entry on entry.message_id = m.id`,
    ),
  );
  return rows.map(({ uuid, ...row }) => ({ ...row, id: encodeId("msg", uuid) }));
}

/** Each request has one message, the one its answer named; no message was handed over a second time; each has come as far as it
 *  can, and its events tell every step to there, without a gap. For recipients whose carrier takes everything. */
export function assertTravelled(journeys: readonly Journey[], sent: readonly Sent[]): void {
  const byKey = new Map(journeys.map((journey) => [journey.key, journey]));
  assert.equal(byKey.size, journeys.length, "no request has two messages");
  for (const { key, id } of sent) assert.equal(byKey.get(key)?.id, id, `the message of ${key}`);
  for (const journey of journeys) {
    const { status, sequence, sequences, attempts, errorCode, lastTold, wasHeld } = journey;
    const what = JSON.stringify(journey);
    assert.deepEqual(
      sequences,
      Array.from({ length: sequence }, (_, index) => index + 1),
      what,
    );
    assert.equal(lastTold, status, what);
    assert.equal(attempts, 1, what);
    assert.ok(["delivered", "sent", "failed"].includes(status), what);
    // Held is only what may have left without an answer; and it fails only for that.
    assert.deepEqual([errorCode, wasHeld], status === "failed" ? ["outcome_unknown", true] : [null, false], what);
  }
}

/** `delivered: 12, failed: 3`, for the one who reads the test's output. */
export const tallyOf = (journeys: readonly Journey[]): string =>
  Array.from(
    Map.groupBy(journeys, ({ status }) => status),
    ([status, group]) => `${status}: ${group.length}`,
  )
    .toSorted()
    .join(", ");

/** A whole POST /v1/messages as bytes, for clients that do not wait for the answer. */
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
