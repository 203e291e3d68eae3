/** Batches on two nodes, through `kill -9`, and over a wire that is cut: all messages of a batch or none, one batch per key, and
 *  one event about its end. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, afterEach, before, beforeEach, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { clientOf, DEFAULTS, items, afterSeconds, type Client, type Json } from "../support/client.ts";
import { batchEffects, rowCounts } from "../support/tables.ts";
import { DatabaseWire } from "../support/database-wire.ts";
import { until } from "../support/expect.ts";
import { createDatabase } from "../support/database.ts";
import { startGodwit, type Godwit, type Reply } from "../support/harness.ts";
import { HELD_BODY, holdAccepts } from "../support/locks.ts";
import { assertConflict, assertFirst, assertOneExecution, assertReplayOf, assertReused, isReplay, isStored } from "../support/replay.ts";
import { seeded } from "../support/seed.ts";
import { Customer, WITH_WEBHOOKS } from "../support/webhook-customer.ts";
import { Hook } from "../support/hook-server.ts";

// The messages of a dead process wait for the end of its lease.
const delivering = { roles: "api,dispatch", simulatorSpeed: 20, timings: { queueLeaseMs: 3_000 } };

describe("two nodes", () => {
  let nodeA: Godwit;
  let nodeB: Godwit;
  let here: Client;
  let there: Client;
  before(async () => {
    nodeA = await startGodwit();
    nodeB = await startGodwit({ databaseUrl: nodeA.databaseUrl });
    const key = await nodeA.key();
    await nodeA.unlimited();
    here = clientOf(nodeA, key);
    there = clientOf(nodeB, key);
  });
  after(async () => {
    await Promise.all([nodeA.stop(), nodeB.stop()]);
  });

  test("create one batch for many concurrent requests with one key", async () => {
    for (let round = 0; round < 3; round += 1) {
      const options = { idempotencyKey: randomUUID() };
      const body = { defaults: DEFAULTS, items: items(260) };
      const replies = await Promise.all(
        Array.from({ length: 20 }, (_, index) => (index % 2 === 0 ? here : there).batches.post(body, options)),
      );
      const first = assertOneExecution(replies);
      for (const each of [here, there]) assertReplayOf(first, await each.batches.post(body, options));
      assertReused(await there.batches.post({ ...body, items: items(2) }, options));
      assert.deepEqual(await batchEffects(nodeA, first.json["id"]), { batches: 1, messages: 260, events: 260, queued: 260 });
    }
    const { batches, messages } = await rowCounts(nodeA);
    assert.deepEqual([batches, messages], [3, 780]);
  });

  test("respond with a conflict while one of them runs the request, and with a replay afterwards", async () => {
    await using hold = await holdAccepts(nodeA.databaseUrl);
    const options = { idempotencyKey: randomUUID() };
    const body = { defaults: DEFAULTS, items: items(300, (index) => (index === 299 ? { body: HELD_BODY } : {})) };
    const running = here.batches.post(body, options);
    await hold.waiting();
    assertConflict(await there.batches.post(body, options));
    await hold.release();
    const first = await running;
    assertFirst(first);
    assertReplayOf(first, await there.batches.post(body, options));
  });

  test("accept concurrent batches with the same recipients without a deadlock", async () => {
    const list = items(500);
    const replies = await Promise.all(
      Array.from({ length: 8 }, (_, index) =>
        (index % 2 === 0 ? here : there).batches.post({ defaults: DEFAULTS, items: index % 3 === 0 ? list.toReversed() : list }),
      ),
    );
    for (const reply of replies) {
      assertFirst(reply);
      assert.equal(reply.json["accepted"], 500);
    }
  });
});

describe("the end of batches on two nodes", () => {
  test("causes one event per batch, however many nodes check", async () => {
    await using hook = await Hook.listen();
    await using nodeA = await startGodwit(WITH_WEBHOOKS);
    await using nodeB = await startGodwit({ ...WITH_WEBHOOKS, databaseUrl: nodeA.databaseUrl });
    const customer = await Customer.of(nodeA);
    const endpoint = await customer.endpoint(hook, ["batch.completed"]);
    const clients = [clientOf(nodeA, customer.key), clientOf(nodeB, customer.key)] as const;
    const made = await Promise.all(
      Array.from({ length: 30 }, (_, index) => {
        const client = clients[index % 2 === 0 ? 0 : 1];
        // Some have no accepted message, and some end a moment later than the others.
        const fields = (at: number): object =>
          index % 5 === 4 ? { recipient: "x" } : at === 0 && index % 5 === 3 ? { send_at: afterSeconds(2) } : {};
        return client.batches.send(items(1 + index, fields));
      }),
    );
    for (const { id } of made) await clients[0].batches.completed(id);
    await endpoint.received(30);
    // The check for open batches runs at least once more and finds none.
    const probe = await clients[1].batches.send(items(1));
    await clients[1].batches.completed(probe.id);
    await endpoint.received(31);
    await endpoint.test();
    const completed = endpoint.calls
      .filter(({ event }) => event.type === "batch.completed")
      .map(({ event }) => event.data["batch"] as Json);
    assert.deepEqual(completed.map(({ id }) => String(id)).toSorted(), [...made, probe].map(({ id }) => id).toSorted());
    for (const { total, accepted, refused, statuses } of completed) {
      assert.equal(total, Number(accepted) + Number(refused));
      assert.deepEqual(statuses, accepted === 0 ? {} : { delivered: accepted });
    }
  });
});

/** One requested batch. */
type Asked = { key: string; size: number; reply: Reply | undefined };

const bodyOf = ({ key, size }: Pick<Asked, "key" | "size">): object => ({
  defaults: { ...DEFAULTS, client_reference: key },
  items: items(size),
});

const ask = async (client: Client, key: string, size: number): Promise<Asked> => ({
  key,
  size,
  reply: await client.batches.post(bodyOf({ key, size }), { idempotencyKey: key }).catch(() => undefined),
});

/** Batches of up to 150 messages over a few connections, until the server is gone. */
async function loadUntilGone(client: Client, random: () => number): Promise<Asked[]> {
  const all: Asked[] = [];
  const work = async (): Promise<void> => {
    for (;;) {
      const asked = await ask(client, randomUUID(), 1 + Math.floor(random() * 150));
      all.push(asked);
      if (asked.reply === undefined) return;
    }
  };
  await Promise.all(Array.from({ length: 4 }, work));
  return all;
}

/** Checks that every batch has all its messages, and that every message of a batch has its batch. */
async function assertWhole(node: Godwit): Promise<void> {
  const broken = await node.rows(
    `select coalesce(b.id, m.batch_id) as id, b.accepted, m.messages, m.events, m.queued
       from batches b
       full join (select batch_id, count(*)::integer as messages,
                         count(*) filter (where m.id in (select message_id from events))::integer as events,
                         count(*) filter (where m.id in (select message_id from delivery_queue))::integer as queued
                    from messages m
                   group by batch_id) m on m.batch_id = b.id
      where (b.accepted, b.accepted, b.accepted) is distinct from (m.messages, m.events, m.queued)`,
  );
  assert.deepEqual(broken, []);
}

const batchesUnder = async (node: Godwit, key: string): Promise<{ batch: string; messages: number }[]> =>
  node.rows("select batch_id::text as batch, count(*)::integer as messages from messages where client_reference = $1 group by 1", [key]);

describe("a service that is killed during batches", () => {
  test("leaves all messages of a batch or none, and a retry with the key creates exactly one batch", async (context) => {
    const random = seeded(context);
    const databaseUrl = await createDatabase();
    const all: Asked[] = [];
    let apiKey: string | undefined;
    for (let round = 0; round < 3; round += 1) {
      await using node = await startGodwit({ asProcess: true, databaseUrl });
      await node.unlimited();
      apiKey ??= await node.key();
      const load = loadUntilGone(clientOf(node, apiKey), random);
      // At any moment after traffic has started.
      const already = Number((await rowCounts(node))["batches"]);
      await until("batches to be stored", async () => (Number((await rowCounts(node))["batches"]) > already ? true : undefined));
      await sleep(random() * 400);
      node.child.kill("SIGKILL");
      all.push(...(await load));
    }
    await using node = await startGodwit({ databaseUrl });
    assert.ok(apiKey !== undefined);
    const client = clientOf(node, apiKey);
    await assertWhole(node);
    const answered = all.filter(({ reply }) => reply !== undefined);
    const cut = all.filter(({ reply }) => reply === undefined);
    assert.ok(answered.length > 0 && cut.length > 0, "the kills happened during the traffic");
    let stored = 0;
    for (const { key, size, reply } of answered) {
      assert.ok(reply?.status === 202, reply?.text);
      assert.deepEqual(
        (await batchesUnder(node, key)).map(({ messages }) => messages),
        [size],
      );
      assertReplayOf(reply, await client.batches.post(bodyOf({ key, size }), { idempotencyKey: key }));
    }
    for (const { key, size } of cut) {
      if (await isStored(node, key)) stored += 1;
      const { reply: again } = await ask(client, key, size);
      assert.ok(again?.status === 202, again?.text);
      assertReplayOf(again, await client.batches.post(bodyOf({ key, size }), { idempotencyKey: key }));
      assert.deepEqual(
        (await batchesUnder(node, key)).map(({ messages }) => messages),
        [size],
      );
      assert.equal((await batchEffects(node, again.json["id"])).messages, size);
    }
    await assertWhole(node);
    assert.equal((await rowCounts(node))["batches"], all.length);
    context.diagnostic(`${all.length} batches, ${cut.length} cut off, ${stored} of these stored`);
  });

  test("loses no message of a batch that got a 202: another node finishes the batch, with one event", async () => {
    const databaseUrl = await createDatabase();
    const doomed = await startGodwit({ asProcess: true, databaseUrl });
    const apiKey = await doomed.key();
    await doomed.unlimited();
    const { id } = await clientOf(doomed, apiKey).batches.send(
      items(1_000, (index) => (index % 100 === 0 ? { send_at: afterSeconds(1) } : {})),
    );
    await doomed.stop("SIGKILL");
    await using node = await startGodwit({ databaseUrl, ...delivering });
    const client = clientOf(node, apiKey);
    assert.deepEqual((await client.batches.completed(id))["statuses"], { delivered: 1_000 });
    assert.equal((await client.batches.completions(id)).length, 1);
  });

  test("and delivers leaves unsent messages to another node and unknown outcomes as such, and the batch ends once", async (context) => {
    const databaseUrl = await createDatabase();
    const doomed = await startGodwit({ asProcess: true, databaseUrl, ...delivering });
    const apiKey = await doomed.key();
    await doomed.unlimited();
    const { id } = await clientOf(doomed, apiKey).batches.send(items(1_000));
    await until("some messages to have left", async () => {
      const rows = await doomed.rows("select from messages where status in ('sent', 'delivered') limit 1");
      return rows.length > 0 ? true : undefined;
    });
    await doomed.stop("SIGKILL");
    await using node = await startGodwit({ databaseUrl, ...delivering, args: ["--receipt-wait", "5"] });
    const client = clientOf(node, apiKey);
    // Messages of the dead carrier never get their receipts. The wait of the first node would be days.
    await node.rows("update provider_references set expires_at = now() where expires_at > now() + interval '1 hour'");
    const { statuses } = await client.batches.completed(id);
    const messages = await client.batches.messages(id);
    assert.equal(messages.length, 1_000);
    const tally = Map.groupBy(messages, ({ status, error }) => `${String(status)} ${(error as { code: string } | null)?.code ?? ""}`);
    context.diagnostic(Array.from(tally, ([what, list]) => `${what}: ${list.length}`).join(", "));
    // A late receipt still sets the status.
    const ends = new Set(["delivered ", "delivered no_receipt", "failed outcome_unknown", "expired no_receipt"]);
    for (const what of tally.keys()) assert.ok(ends.has(what), what);
    assert.ok((tally.get("delivered ")?.length ?? 0) > 0);
    assert.ok(Number((statuses as Json)["delivered"]) > 0);
    assert.equal((await client.batches.completions(id)).length, 1);
  });
});

describe("a connection cut while a batch is stored", () => {
  const COMMIT = "commit\0";
  const STORE_RESPONSE = "insert into idempotency_keys as stored";
  const INSERT_BATCH = "insert into batches";
  let wire: DatabaseWire;
  let direct: Godwit;
  let cut: Godwit;
  let apiKey: string;
  let near: Client;
  let far: Client;
  before(async () => {
    direct = await startGodwit();
    wire = await DatabaseWire.to(direct.databaseUrl as string);
    await direct.unlimited();
    apiKey = await direct.key();
    far = clientOf(direct, apiKey);
  });
  after(async () => {
    await wire.close();
    await direct.stop();
  });
  beforeEach(async () => {
    // The connections are new, so every statement is still sent with its text.
    cut = await startGodwit({ databaseUrl: wire.url });
    near = clientOf(cut, apiKey);
  });
  afterEach(async () => {
    assert.equal(await cut.stop(), 0, cut.output.join("\n"));
  });

  const request = (last: object = {}): { key: string; body: object } => {
    const key = randomUUID();
    return {
      key,
      body: { defaults: { ...DEFAULTS, client_reference: key }, items: [...items(300), { recipient: "+14155559999", ...last }] },
    };
  };
  const once = async (key: string): Promise<void> => {
    assert.deepEqual(
      (await batchesUnder(direct, key)).map(({ messages }) => messages),
      [301],
    );
  };

  const NOTHING_DONE: readonly (readonly [what: string, moment: "asked" | "answered", mark: (key: string) => string])[] = [
    ["before the first messages reach the database", "asked", (key) => key],
    ["after the messages, before the batch is written", "asked", () => INSERT_BATCH],
    ["after the batch is written, before the response is stored", "answered", () => INSERT_BATCH],
    ["before the response is stored", "asked", () => STORE_RESPONSE],
    ["after the response is stored, before the commit", "answered", () => STORE_RESPONSE],
  ];
  for (const [what, moment, mark] of NOTHING_DONE) {
    test(`${what}: 503, nothing is stored, and a retry creates one batch`, async () => {
      const { key, body } = request();
      wire.cutNext(moment, mark(key));
      const reply = await near.batches.post(body, { idempotencyKey: key });
      assert.equal(reply.status, 503, reply.text.slice(0, 500));
      assert.deepEqual(await batchesUnder(direct, key), []);
      assert.equal(await isStored(direct, key), false);
      const first = await near.batches.post(body, { idempotencyKey: key });
      assertFirst(first);
      assertReplayOf(first, await far.batches.post(body, { idempotencyKey: key }));
      await once(key);
    });
  }

  for (const moment of ["answered", "ended"] as const) {
    test(`after the commit, its result ${moment === "answered" ? "lost" : "received"}: the outcome is returned, and the batch is stored once`, async () => {
      await using hold = await holdAccepts(direct.databaseUrl);
      const { key, body } = request({ body: HELD_BODY });
      const running = near.batches.post(body, { idempotencyKey: key });
      await hold.waiting();
      wire.cutNext(moment, COMMIT);
      await hold.release();
      const first = await running;
      assertFirst(first);
      for (const each of [near, far]) assertReplayOf(first, await each.batches.post(body, { idempotencyKey: key }));
      await once(key);
    });
  }

  test("before the commit, without a key: 503, and nothing is stored", async () => {
    await using hold = await holdAccepts(direct.databaseUrl);
    const { key, body } = request({ body: HELD_BODY });
    const running = near.batches.post(body);
    await hold.waiting();
    wire.cutNext("asked", COMMIT);
    await hold.release();
    const reply = await running;
    assert.equal(reply.status, 503, reply.text.slice(0, 500));
    assert.deepEqual(await batchesUnder(direct, key), []);
  });

  test("after the commit, without a key: the outcome is returned as well", async () => {
    await using hold = await holdAccepts(direct.databaseUrl);
    const { key, body } = request({ body: HELD_BODY });
    const running = near.batches.post(body);
    await hold.waiting();
    wire.cutNext("answered", COMMIT);
    await hold.release();
    const reply = await running;
    assertFirst(reply);
    assert.equal((await batchEffects(direct, reply.json["id"])).messages, 301);
    await once(key);
  });

  test("while its last messages wait: 503, nothing continues, and a retry creates one batch", async () => {
    await using hold = await holdAccepts(direct.databaseUrl);
    const { key, body } = request({ body: HELD_BODY });
    const running = near.batches.post(body, { idempotencyKey: key });
    await hold.waiting();
    wire.cutAll();
    const reply = await running;
    assert.equal(reply.status, 503, reply.text.slice(0, 500));
    await hold.release();
    assert.deepEqual(await batchesUnder(direct, key), []);
    const first = await until("the key to be free again", async () => {
      const again = await near.batches.post(body, { idempotencyKey: key });
      return again.status === 202 ? again : undefined;
    });
    assert.equal(isReplay(first), false);
    assertReplayOf(first, await far.batches.post(body, { idempotencyKey: key }));
    await once(key);
  });
});
