/** Concurrent changes of messages: the same key twice, a message that is being submitted, and two nodes. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { within } from "../../src/lib/wait.ts";
import { clientOf, afterSeconds, typesOf, type Client, type Json } from "../support/client.ts";
import { assertRefused, LIMIT_MS } from "../support/expect.ts";
import { startGodwit, type Godwit, type Reply } from "../support/harness.ts";
import { lockMessage } from "../support/locks.ts";
import { assertConflict, assertFirst, assertOneExecution, assertReplayOf, assertReused, isStored } from "../support/replay.ts";
import { seeded } from "../support/seed.ts";
import { eventsOf, queueRowOf } from "../support/tables.ts";

const countOf = async (godwit: Godwit, id: unknown, type: string): Promise<number> =>
  (await eventsOf(godwit, id)).filter((event) => event.type === type).length;

/** Asserts that the response does not wait for a lock of another request. */
async function assertAtOnce(reply: Promise<Reply>): Promise<Reply> {
  const response = await within(reply, LIMIT_MS);
  assert.ok(response !== undefined, "the response does not wait");
  return response;
}

describe("a change with a key, on two nodes:", () => {
  let nodes: readonly [Godwit, Godwit];
  let clients: readonly [Client, Client];
  let here: Client;
  let there: Client;
  before(async () => {
    const first = await startGodwit();
    nodes = [first, await startGodwit({ databaseUrl: first.databaseUrl })];
    await first.unlimited();
    const key = await first.key();
    clients = [clientOf(nodes[0], key), clientOf(nodes[1], key)];
    [here, there] = clients;
  });
  after(() => Promise.all(nodes.map((node) => node.stop())));

  const scheduled = (): Promise<Json> => here.messages.send({ send_at: afterSeconds(3_600) });
  const canceled = async (): Promise<Json> => {
    const { id } = await here.messages.send();
    return (await here.messages.cancel(id)).json;
  };

  type Row = {
    name: string;
    type: string;
    make: () => Promise<Json>;
    change: (client: Client, id: unknown, key: string) => Promise<Reply>;
  };
  const CHANGES: readonly Row[] = [
    {
      name: "a cancel",
      type: "message.canceled",
      make: () => here.messages.send(),
      change: (client, id, idempotencyKey) => client.messages.cancel(id, { idempotencyKey }),
    },
    {
      name: "an edit",
      type: "message.scheduled",
      make: scheduled,
      change: (client, id, idempotencyKey) => client.messages.edit(id, { body: "edited" }, { idempotencyKey }),
    },
    {
      name: "a redaction",
      type: "message.redacted",
      make: canceled,
      change: (client, id, idempotencyKey) => client.messages.redact(id, { idempotencyKey }),
    },
  ];

  for (const { name, type, make, change } of CHANGES) {
    test(`${name} is replayed with the same bytes by both, and executed once`, async () => {
      const { id } = await make();
      const countBefore = await countOf(nodes[0], id, type);
      const key = randomUUID();
      const first = await change(here, id, key);
      assertFirst(first, 200);
      for (const client of [there, here, there]) assertReplayOf(first, await change(client, id, key));
      assertReplayOf(first, await change(there, id, key.toUpperCase()));
      assert.equal(await countOf(nodes[0], id, type), countBefore + 1);
    });

    test(`${name} with the key of another request is refused, and changes nothing`, async () => {
      const [one, other] = [await make(), await make()];
      const key = randomUUID();
      const first = await change(here, one["id"], key);
      assertFirst(first, 200);
      assertReused(await change(there, other["id"], key));
      assertReused(
        await here.request("POST", "/v1/messages", { body: { recipient: "+14155550123", channel: "sms", body: "x" }, idempotencyKey: key }),
      );
      assert.deepEqual(await here.messages.read(other["id"]), other);
      assertReplayOf(first, await change(there, one["id"], key));
    });

    test(`${name} with the key of a sent message is refused`, async () => {
      const key = randomUUID();
      await here.messages.send({}, { idempotencyKey: key });
      const record = await make();
      assertReused(await change(there, record["id"], key));
      assert.deepEqual(await here.messages.read(record["id"]), record);
    });

    test(`${name} of many concurrent requests to both is executed once`, async () => {
      for (let round = 0; round < 3; round += 1) {
        const { id } = await make();
        const countBefore = await countOf(nodes[0], id, type);
        const key = randomUUID();
        const replies = await Promise.all(Array.from({ length: 40 }, (_, index) => change(index % 2 === 0 ? here : there, id, key)));
        const first = assertOneExecution(replies, 200);
        assertReplayOf(first, await change(there, id, key));
        assert.equal(await countOf(nodes[0], id, type), countBefore + 1);
      }
    });

    test(`${name} during its first request is a conflict at once, on both, and a replay afterwards`, async () => {
      const { id } = await make();
      const { id: other } = await make();
      const countBefore = await countOf(nodes[0], id, type);
      await using hold = await lockMessage(nodes[0].databaseUrl, id);
      const key = randomUUID();
      const running = change(here, id, key);
      await hold.waiting();
      for (const client of [here, there, there, here]) assertConflict(await assertAtOnce(change(client, id, key)));
      // Another path with the key of the running request: the first use of the key is not yet visible.
      assertConflict(await assertAtOnce(change(there, other, key)));
      assertFirst(await assertAtOnce(change(there, other, randomUUID())), 200);
      assert.equal(await isStored(nodes[0], key), false);
      await hold.release();
      const first = await running;
      assertFirst(first, 200);
      for (const client of clients) assertReplayOf(first, await change(client, id, key));
      assert.equal(await countOf(nodes[0], id, type), countBefore + 1);
    });
  }

  test("the same key for other methods and bodies is refused", async () => {
    const { id } = await scheduled();
    const idempotencyKey = randomUUID();
    const first = await here.messages.edit(id, { body: "edited", priority: "high" }, { idempotencyKey });
    assertFirst(first, 200);
    assertReused(await here.messages.edit(id, { body: "edited" }, { idempotencyKey }));
    assertReused(await here.messages.edit(id, { body: "edited", priority: "high", metadata: null }, { idempotencyKey }));
    assertReused(await here.messages.cancel(id, { idempotencyKey }));
    assertReused(await here.messages.redact(id, { idempotencyKey }));
    assertReplayOf(first, await there.messages.edit(id, '{ "priority":"high", "body":"\\u0065dited" }', { idempotencyKey }));
    assert.equal((await here.messages.read(id))["sequence"], 2);
  });

  test("a replay returns the first response, although the message has changed since", async () => {
    const { id } = await scheduled();
    const [edit, cancel] = [randomUUID(), randomUUID()];
    const edited = await here.messages.edit(id, { body: "edited" }, { idempotencyKey: edit });
    assertFirst(await here.messages.edit(id, { body: "edited again" }), 200);
    const gone = await here.messages.cancel(id, { idempotencyKey: cancel });
    assertReplayOf(edited, await there.messages.edit(id, { body: "edited" }, { idempotencyKey: edit }));
    assertReplayOf(gone, await there.messages.cancel(id, { idempotencyKey: cancel }));
    assertRefused(await there.messages.cancel(id), "message_not_cancelable", "canceled");
    assert.equal((await here.messages.read(id))["body"], "edited again");
  });

  test("the same key of another environment is independent", async () => {
    const { id } = await here.messages.send();
    const key = randomUUID();
    assertFirst(await here.messages.cancel(id, { idempotencyKey: key }), 200);
    const elsewhere = clientOf(nodes[1], await nodes[0].key({ environment: "live" }));
    assert.equal((await elsewhere.messages.cancel(id, { idempotencyKey: key })).status, 404);
  });

  test("of many without a key one cancels, and the others are refused because the message is canceled", async () => {
    const { id } = await here.messages.send();
    const replies = await Promise.all(Array.from({ length: 30 }, (_, index) => (index % 2 === 0 ? here : there).messages.cancel(id)));
    const [done, refused] = [replies.filter(({ status }) => status === 200), replies.filter(({ status }) => status !== 200)];
    assert.equal(done.length, 1);
    for (const reply of refused) assertRefused(reply, "message_not_cancelable", "canceled");
    assert.deepEqual(typesOf(await here.messages.timeline(id)), ["message.queued", "message.canceled"]);
  });

  test("concurrent edits and a cancel: each edit has its sequence, and none comes after the cancel", async () => {
    const { id } = await scheduled();
    const edits = Array.from({ length: 20 }, (_, index) =>
      (index % 2 === 0 ? here : there).messages.edit(id, { metadata: { index: String(index) } }, { idempotencyKey: randomUUID() }),
    );
    const [cancel, ...replies] = await Promise.all([there.messages.cancel(id), ...edits]);
    assertFirst(cancel, 200);
    for (const reply of replies) if (reply.status !== 200) assertRefused(reply, "message_not_editable", "canceled");
    const events = await eventsOf(nodes[0], id);
    assert.deepEqual(
      events.map(({ sequence }) => sequence),
      events.map((_, index) => index + 1),
    );
    assert.equal(events.length, 2 + replies.filter(({ status }) => status === 200).length);
    assert.equal(events.at(-1)?.type, "message.canceled");
  });
});

describe("a message that is being submitted", () => {
  test("is either canceled and never sent, or not canceled and delivered", async (context) => {
    const random = seeded(context);
    await using accepting = await startGodwit();
    await using delivering = await startGodwit({
      databaseUrl: accepting.databaseUrl,
      roles: "api,dispatch",
      simulatorSpeed: 20,
    });
    await accepting.unlimited();
    const key = await accepting.key();
    const clients = [clientOf(accepting, key), clientOf(delivering, key)] as const;
    const one = async (index: number): Promise<{ id: unknown; isCanceled: boolean }> => {
      const { id } = await clients[index % 4 === 0 ? 1 : 0].messages.send();
      await sleep(random() * 120);
      const replies = await Promise.all([clients[0].messages.cancel(id), clients[1].messages.cancel(id, { idempotencyKey: randomUUID() })]);
      const done = replies.filter(({ status }) => status === 200);
      assert.ok(done.length <= 1, "the message is canceled once");
      for (const reply of replies)
        if (reply.status !== 200)
          assertRefused(reply, "message_not_cancelable", done.length === 1 ? "canceled" : "(sending|sent|delivered)");
      return { id, isCanceled: done.length === 1 };
    };
    const ends: { id: unknown; isCanceled: boolean }[] = [];
    for (let round = 0; round < 10; round += 1) ends.push(...(await Promise.all(Array.from({ length: 20 }, (_, index) => one(index)))));
    const canceled = ends.filter(({ isCanceled }) => isCanceled).length;
    context.diagnostic(`${canceled} canceled, ${ends.length - canceled} delivered`);
    assert.ok(canceled > 0 && canceled < ends.length, "both outcomes occur");
    // The delivered messages first, so that a canceled message had the time to be sent.
    for (const { id, isCanceled } of ends) if (!isCanceled) await clients[0].messages.reached(id, "delivered");
    for (const { id, isCanceled } of ends) {
      const types = typesOf((await clients[0].messages.timeline(id)).filter(({ ignored }) => !ignored));
      assert.deepEqual(
        types,
        isCanceled ? ["message.queued", "message.canceled"] : ["message.queued", "message.sending", "message.sent", "message.delivered"],
      );
      assert.equal(await queueRowOf(accepting, id), undefined);
    }
  });

  test("is either edited and sent with the edit, or not edited and sent unchanged", async (context) => {
    const random = seeded(context);
    const simulatorSpeed = 20;
    await using first = await startGodwit({ roles: "api,dispatch", simulatorSpeed });
    await using second = await startGodwit({ databaseUrl: first.databaseUrl, roles: "api,dispatch", simulatorSpeed });
    await first.unlimited();
    const key = await first.key();
    const clients = [clientOf(first, key), clientOf(second, key)] as const;
    const sendAt = new Date(Date.now() + 3_600_000).toISOString();
    const ids = await Promise.all(
      Array.from(
        { length: 100 },
        async (_, index) => (await clients[index % 2 === 0 ? 0 : 1].messages.send({ body: "first", send_at: sendAt }))["id"],
      ),
    );
    const dueIn = (ms: number): Promise<unknown> =>
      first.rows("update delivery_queue set due_at = now() + $1 * interval '1 millisecond' where link = '@scheduled'", [ms]);
    await dueIn(500);
    const one = async (id: unknown, index: number): Promise<{ id: unknown; isEdited: boolean }> => {
      // Messages are released within about a second of their time: some edits come before that, some after.
      await sleep(300 + random() * 1_500);
      const reply = await clients[index % 3 === 0 ? 0 : 1].messages.edit(id, { body: "second" }, { idempotencyKey: randomUUID() });
      if (reply.status === 200) return { id, isEdited: true };
      assertRefused(reply, "message_not_editable", "(queued|sending|sent|delivered)");
      return { id, isEdited: false };
    };
    const ends = await Promise.all(ids.map(one));
    const edited = ends.filter(({ isEdited }) => isEdited).length;
    context.diagnostic(`${edited} edited, ${ends.length - edited} not edited`);
    assert.ok(edited > 0 && edited < ends.length, "both outcomes occur");
    // An edit restores the time of the message.
    await dueIn(0);
    for (const { id, isEdited } of ends) {
      const { body } = await clients[0].messages.reached(id, "delivered");
      assert.equal(body, isEdited ? "second" : "first");
      const events = (await eventsOf(first, id)).filter((event) => !event.is_ignored);
      assert.deepEqual(
        events.map(({ type }) => type),
        [
          "message.scheduled",
          ...(isEdited ? ["message.scheduled"] : []),
          "message.queued",
          "message.sending",
          "message.sent",
          "message.delivered",
        ],
      );
      assert.deepEqual(
        events.map(({ sequence }) => sequence),
        events.map((_, index) => index + 1),
      );
      const sending = events.find(({ type }) => type === "message.sending");
      assert.equal((JSON.parse(sending?.record ?? "{}") as Json)["body"], body);
    }
  });
});
