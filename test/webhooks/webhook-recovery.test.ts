/** Repeated deliveries on request: a test event, a retry of one delivery, and a recovery of all missed events in pages and across
 *  restarts. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { encodeId, type EventId } from "../../src/model/id.ts";
import { recoverStep } from "../../src/webhooks/maintain-endpoints.ts";
import { clientOfAccount, type EndpointClient, type Json } from "../support/client.ts";
import { assertProblem, until } from "../support/expect.ts";
import { createDatabase, withoutDeadlockCheck } from "../support/database.ts";
import { ERROR, startGodwit, type Godwit } from "../support/harness.ts";
import { ALLOW_LOOPBACK, Hook, idsOf, OK, REFUSED } from "../support/hook-server.ts";
import { HELD_BODY, holdAccepts } from "../support/locks.ts";
import { rowId, waitingFor } from "../support/tables.ts";

const LONG_AGO = "2020-01-01T00:00:00Z";

/** Accepts messages and delivers no event until a worker is started beside it. */
let godwit: Godwit;
let hooks: Hook;
before(async () => {
  const databaseUrl = await createDatabase();
  await withoutDeadlockCheck(databaseUrl);
  [godwit, hooks] = await Promise.all([startGodwit({ databaseUrl, env: ALLOW_LOOPBACK }), Hook.listen()]);
});
after(() => Promise.all([godwit.stop(), hooks[Symbol.asyncDispose]()]));

type Subscriber = EndpointClient & { key: string; node: Godwit };

async function subscriber(account: string, node = godwit): Promise<Subscriber> {
  const { endpoints, key } = await clientOfAccount(node, account);
  return { ...endpoints, key, node };
}

/** Returns the id of the first event of a new message, which equals the id of the message. */
async function send({ node, key }: Subscriber): Promise<string> {
  const reply = await node.send(key);
  assert.equal(reply.status, 202, reply.text);
  return String(reply.json["id"]).replace("msg_", "evt_");
}

/** Stores the outcome of a waiting delivery, as a worker does. */
async function settle({ node }: Subscriber, id: unknown, event: string, status: "pending" | "succeeded" | "failed"): Promise<string> {
  const [row] = await node.rows<{ id: Buffer }>(
    `insert into webhook_deliveries (account_id, environment, endpoint_id, id, event_id, event_type, status, attempts, updated_at)
     select q.account_id, q.environment, q.endpoint_id, q.id, q.event_id, e.type, $3,
            '[{"attempted_at": "2026-01-31T09:00:00.000Z", "duration_ms": 7, "response_status": 500, "response_body": "no", "error": null}]', now()
       from webhook_queue q join events e on e.id = q.event_id
      where q.endpoint_id = $1 and q.event_id = $2
     returning id`,
    [rowId(id), rowId(event), status],
  );
  assert.ok(row !== undefined);
  await node.rows(
    status === "pending"
      ? "update webhook_queue set is_retry = true, attempts = 1, due_at = now() + interval '1 hour' where id = $1"
      : "delete from webhook_queue where id = $1",
    [row.id],
  );
  return event;
}

/** Adds an undelivered event that another node created in the same millisecond: the first halves of the ids are equal. */
async function addTwin({ node }: Subscriber, event: string): Promise<string> {
  const [row] = await node.rows<{ id: EventId }>(
    `insert into events (account_id, environment, id, type, message_id, sequence, record)
     select account_id, environment, (left(id::text, 18) || '-8000-000000000000')::uuid, type, message_id, sequence, record from events where id = $1
     returning id`,
    [rowId(event)],
  );
  assert.ok(row !== undefined);
  return encodeId("evt", row.id);
}

const worker = (databaseUrl = godwit.databaseUrl): Promise<Godwit> => startGodwit({ databaseUrl, roles: "webhooks", env: ALLOW_LOOPBACK });

/** Asserts that the node logged no error. */
const assertNoErrors = ({ logs }: Godwit): void =>
  assert.deepEqual(
    logs.filter(({ level }) => level === ERROR),
    [],
  );

describe("the response", () => {
  let own: Subscriber;
  before(async () => {
    own = await subscriber("answers");
  });

  test("to a test request is the event, which can be read and waits only for that endpoint, regardless of its event types", async () => {
    const [{ id }, { id: other }] = [await own.create({ event_types: ["message.sent"] }), await own.create()];
    const event = await own.test(id);
    assert.match(event, /^evt_[0-9a-z]{26}$/);
    const { json } = await godwit.request("GET", `/v1/events/${event}`, { key: own.key });
    const { type, data } = json as { type: string; data: { webhook_endpoint: Json } };
    assert.deepEqual([type, data], ["webhook.test", { webhook_endpoint: await own.read(id) }]);
    assert.deepEqual([await waitingFor(godwit, id), await waitingFor(godwit, other)], [1, 0]);
  });

  for (const status of ["pending", "succeeded", "failed"] as const) {
    test(`to a retry of a ${status} delivery is the delivery, which is due at once and only once`, async () => {
      const { id } = await own.create();
      const event = await settle(own, id, await own.test(id), status);
      const delivery = (await own.deliveries(id)).data[0] ?? {};
      const answer = await own.retry(id, delivery["id"]);
      const { next_attempt_at: at } = answer;
      assert.ok(Math.abs(Date.parse(String(at)) - Date.now()) < 5_000);
      assert.deepEqual(answer, { ...delivery, event_id: event, status: "pending", next_attempt_at: at, updated_at: at });
      assert.deepEqual(answer, (await own.request("GET", `/${String(id)}/deliveries/${String(delivery["id"])}`)).json);
      await own.retry(id, delivery["id"]);
      const queue = await godwit.rows<object>(
        "select attempts, is_retry, due_at <= now() as is_due from webhook_queue where endpoint_id = $1",
        [rowId(id)],
      );
      assert.deepEqual(queue, [{ attempts: 1, is_retry: true, is_due: true }]);
    });
  }

  const at = (timeMs: number): string => new Date(timeMs).toISOString();
  for (const [what, since, reached] of [
    ["a time", "2026-02-03T04:05:06.789Z", () => "2026-02-03T04:05:06.789Z"],
    ["a time with an offset", "2026-02-03T04:05:06+05:30", () => "2026-02-02T22:35:06.000Z"],
    ["a time before 1970", "0001-01-01T00:00:00Z", () => "1970-01-01T00:00:00.000Z"],
    ["a time in the future", "2099-01-01T00:00:00Z", (updatedAt: string) => updatedAt],
  ] as const) {
    test(`to a recovery since ${what} contains its start and its end`, async () => {
      const { id } = await own.create();
      const answer = await own.recover(id, since);
      const updatedAt = String(answer["updated_at"]);
      assert.deepEqual(answer["recovery"], { reached: reached(updatedAt), until: at(Date.parse(updatedAt) + 1) });
      assert.deepEqual(await own.read(id), answer);
    });
  }

  test("to a recovery during another one restarts the recovery", async () => {
    const { id } = await own.create();
    const first = (await own.recover(id, "2026-01-01T00:00:00Z"))["recovery"] as Json;
    const second = (await own.recover(id, "2026-02-01T00:00:00Z"))["recovery"] as Json;
    assert.equal(second["reached"], "2026-02-01T00:00:00.000Z");
    assert.ok(String(second["until"]) >= String(first["until"]));
  });

  test("to all three requests is 422 for a disabled endpoint, and no event waits", async () => {
    const { id } = await own.create();
    await settle(own, id, await own.test(id), "failed");
    const delivery = String((await own.deliveries(id)).data[0]?.["id"]);
    await own.edit(id, { status: "disabled" });
    const asked = [
      own.request("POST", `/${String(id)}/test`),
      own.request("POST", `/${String(id)}/deliveries/${delivery}/retry`),
      own.request("POST", `/${String(id)}/recover`, { body: { since: LONG_AGO } }),
    ];
    for (const reply of await Promise.all(asked)) assertProblem(reply, "endpoint_disabled");
    assert.deepEqual([await waitingFor(godwit, id), (await own.read(id))["recovery"]], [0, null]);
    assert.equal((await own.deliveries(id)).data[0]?.["status"], "failed");
  });
});

test("retries of a delivery during its attempts get immediate responses and cause no deadlock", async () => {
  const own = await subscriber("impatient");
  const { id } = await own.create({ url: hooks.url("/impatient") });
  await using notifying = await worker();
  await hooks.called(await own.test(id), 1, "/impatient");
  const delivery = await until("the delivery exists", async () => (await own.deliveries(id)).data[0]);
  const retryOften = async (): Promise<void> => {
    for (let time = 0; time < 40; time += 1) {
      // The state of the endpoint changes with each attempt.
      hooks.behave = () => (time % 2 === 0 ? REFUSED : OK);
      await own.retry(id, delivery["id"]);
    }
  };
  await Promise.all([retryOften(), retryOften(), retryOften(), retryOften()]);
  hooks.behave = () => OK;
  await own.retry(id, delivery["id"]);
  await until("the delivery succeeds", async () => (await own.deliveries(id, { status: "succeeded" })).data[0]);
  assertNoErrors(notifying);
});

describe("a recovery", () => {
  test("delivers failed and never delivered events, and no event that succeeded, waits or has another type", async () => {
    const own = await subscriber("missed");
    const path = "/missed";
    const never = await send(own);
    const { id } = await own.create({ url: hooks.url(path), event_types: ["message.queued", "webhook.test"] });
    const twin = await addTwin(own, await settle(own, id, await send(own), "succeeded"));
    const late = await settle(own, id, await send(own), "pending");
    const lateTwin = await addTwin(own, late);
    const failed = await settle(own, id, await send(own), "failed");
    const waiting = await send(own);
    await settle(own, id, await own.test(id), "failed");
    await own.edit(id, { status: "disabled" });
    const meanwhile = await send(own);
    const canceled = meanwhile.replace("evt_", "msg_");
    assert.equal((await godwit.request("POST", `/v1/messages/${canceled}/cancel`, { key: own.key })).status, 200);
    assert.equal((await godwit.request("POST", `/v1/messages/${canceled}/redact`, { key: own.key })).status, 200);
    await own.edit(id, { status: "enabled" });
    await own.recover(id, LONG_AGO);

    await using notifying = await worker();
    await own.recovered(id);
    const missed = [never, twin, lateTwin, failed, waiting, meanwhile];
    for (const event of missed) await hooks.called(event, 1, path);
    // The test event is the last one.
    const last = await own.test(id);
    await hooks.called(last, 1, path);
    assert.deepEqual(new Set(idsOf(hooks.at(path))), new Set([...missed, last]));
    assert.equal(idsOf(hooks.at(path)).length, missed.length + 1);
    await until(`only ${late} waits until it is due`, async () => ((await waitingFor(godwit, id)) === 1 ? true : undefined));
    const { data } = await own.deliveries(id, { status: "succeeded" });
    const again = data.find((delivery) => delivery["event_id"] === failed);
    assert.equal((again?.["attempts"] as unknown[] | undefined)?.length, 2, "the earlier attempt is still stored");
    assertNoErrors(notifying);
  });

  test("delivers the events of a transaction that did not see the endpoint and commits after the request", async () => {
    const own = await subscriber("slow writer");
    const { id } = await own.create({ url: hooks.url("/slow-writer") });
    await own.edit(id, { status: "disabled" });
    await using held = await holdAccepts(godwit.databaseUrl);
    const sending = godwit.send(own.key, { body: HELD_BODY });
    await held.waiting();
    await own.edit(id, { status: "enabled" });
    await own.recover(id, LONG_AGO);
    await using notifying = await worker();
    // A later event is delivered meanwhile, so the worker is at work.
    await hooks.called(await own.test(id), 1, "/slow-writer");
    assert.notEqual((await own.read(id))["recovery"], null, "the recovery waits for the transaction");
    await held.release();
    const event = String((await sending).json["id"]).replace("msg_", "evt_");
    await own.recovered(id);
    await hooks.called(event, 1, "/slow-writer");
    assertNoErrors(notifying);
  });

  const COUNT = 2_600;
  /** Adds many events, two in each millisecond: the first halves of their ids are equal, so that only whole ids differ. */
  const addEvents = ({ node }: Subscriber, account: string): Promise<unknown> =>
    node.rows(
      `insert into events (account_id, environment, id, type, record)
       select a.id, 'test', (lpad(to_hex(extract(epoch from now())::bigint * 1000 - 1000 - n / 2), 12, '0') || '70008000' || lpad(to_hex(n), 12, '0'))::uuid,
              case when n % 100 = 0 then 'message.sent' else 'message.queued' end, '{}'
         from accounts a, generate_series(2, ${COUNT + 1}) n
        where a.name = $1`,
      [account],
    );

  test("of more than a page continues where a stopped node ended, for each endpoint, and delivers each event once", async () => {
    const databaseUrl = await createDatabase();
    await using node = await startGodwit({ databaseUrl, env: ALLOW_LOOPBACK });
    const own = await subscriber("very many", node);
    await addEvents(own, "very many");
    const { id: all } = await own.create({ url: hooks.url("/all") });
    const { id: few } = await own.create({ url: hooks.url("/few"), event_types: ["message.sent"] });
    const { recovery: begun } = (await own.recover(all, LONG_AGO)) as { recovery: Json };
    await own.recover(few, LONG_AGO);

    // Executes one step of the recovery, like a node that stops afterwards.
    assert.ok(node.db !== undefined);
    assert.deepEqual(await recoverStep(node.db, { now: () => Date.now() }, new AbortController().signal), { queued: 1_000, hasMore: true });
    const { recovery: reached } = (await own.read(all)) as { recovery: Json };
    assert.equal(reached["until"], begun["until"]);
    assert.ok(String(reached["reached"]) > String(begun["reached"]) && String(reached["reached"]) < String(reached["until"]));
    assert.equal(await waitingFor(node, all), 1_000);

    await using notifying = await worker(databaseUrl);
    await Promise.all([own.recovered(all), own.recovered(few)]);
    const deliverTests = async (): Promise<void> => {
      for (const id of [all, few]) await hooks.called(await own.test(id), 1, id === all ? "/all" : "/few");
    };
    for (let left = 1; left > 0;) {
      await deliverTests();
      left = (await waitingFor(node, all)) + (await waitingFor(node, few));
    }
    const ids = (path: string): string[] => idsOf(hooks.at(path).filter(({ event }) => event.type !== "webhook.test"));
    assert.deepEqual([ids("/all").length, new Set(ids("/all")).size], [COUNT, COUNT]);
    assert.deepEqual([ids("/few").length, new Set(ids("/few")).size], [COUNT / 100, COUNT / 100]);
    assertNoErrors(notifying);
  });

  test("after a completed one delivers no event", async () => {
    const own = await subscriber("twice");
    const event = await send(own);
    const { id } = await own.create({ url: hooks.url("/twice") });
    await using notifying = await worker();
    for (let time = 0; time < 2; time += 1) {
      await own.recover(id, LONG_AGO);
      await own.recovered(id);
      await hooks.called(event, 1, "/twice");
      await hooks.called(await own.test(id), 1, "/twice");
    }
    assert.equal(idsOf(hooks.at("/twice")).filter((each) => each === event).length, 1);
    assertNoErrors(notifying);
  });
});
