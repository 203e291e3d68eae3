/** Each event is delivered once, and the API returns it with the same bytes. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { clientOf, clientOfAccount, idsOf, typesOf, type Client, type Event, type Json, type Page } from "../support/client.ts";
import { assertProblem, until } from "../support/expect.ts";
import { startGodwit, type Godwit, type Reply } from "../support/harness.ts";
import { ALLOW_LOOPBACK, Hook } from "../support/hook-server.ts";
import { assertOneExecution } from "../support/replay.ts";
import { rowId } from "../support/tables.ts";

describe("an event", () => {
  let node: Godwit;
  let hooks: Hook;
  let own: Client;
  before(async () => {
    [node, hooks] = await Promise.all([
      startGodwit({ roles: "api,dispatch,webhooks", simulatorSpeed: 10, env: ALLOW_LOOPBACK }),
      Hook.listen(),
    ]);
    own = await clientOfAccount(node, "told");
    await own.endpoints.create({ url: hooks.url() });
  });
  after(() => Promise.all([node.stop(), hooks[Symbol.asyncDispose]()]));

  const readEvent = (id: string): Promise<Reply> => own.events.get(id);

  /** Returns the id of a message that has its last status and all its receipts. */
  async function sendToEnd(recipient: string, end: string, entries: number): Promise<string> {
    const { id } = await own.messages.send({ channel: "whatsapp", recipient });
    await own.messages.reached(id, end);
    await until("the whole timeline is there", async () => ((await own.messages.timeline(id)).length >= entries ? true : undefined));
    return String(id);
  }

  for (const [recipient, end, entries, what] of [
    ["+15005550006", "read", 5, "that is read"],
    ["+15005550002", "failed", 3, "that is refused"],
    ["+15005550011", "read", 7, "whose receipts come twice and out of order"],
    ["+15005550013", "delivered", 4, "whose outcome is unknown"],
  ] as const) {
    test(`of a message ${what} is listed, read and delivered with the same bytes, and no other timeline entry is an event`, async () => {
      const id = await sendToEnd(recipient, end, entries);
      const timeline = await own.messages.timeline(id);
      const events = timeline.filter(({ ignored, status }) => !ignored && status !== null).map((entry) => entry.id);
      const list = await own.request("GET", `/v1/events?message_id=${id}&limit=100`);
      assert.deepEqual(idsOf([list.json as Page<Event>]), events.toReversed());
      for (const event of events) {
        const { text: body } = await hooks.called(event);
        const read = await readEvent(event);
        assert.equal(read.text, body);
        assert.ok(list.text.includes(body), "the list contains the same bytes");
      }
      const others = timeline.filter((entry) => !events.includes(entry.id));
      assert.equal(others.length > 0, ["+15005550011", "+15005550013"].includes(recipient), JSON.stringify(timeline));
      for (const entry of others) {
        assertProblem(await readEvent(entry.id), "not_found");
        assertProblem(await own.events.deliveries(entry.id), "not_found");
        assert.ok(!hooks.calls.some(({ event }) => event.id === entry.id));
      }
    });
  }

  test("loses its text when the message is redacted, and the redaction itself is not an event", async () => {
    const { id } = await own.messages.send({ body: "the eagle has landed", metadata: { note: "4711" } });
    await own.messages.reached(id, "delivered");
    const events = idsOf([await own.events.list({ message_id: String(id) })]);
    assert.equal(events.length, 4);
    assert.match((await hooks.called(events[0])).text, /the eagle has landed/);
    assert.equal((await own.messages.redact(id)).status, 200);
    assert.ok((await own.messages.timeline(id)).some(({ type }) => type === "message.redacted"));
    const list = await own.request("GET", `/v1/events?message_id=${String(id)}`);
    assert.deepEqual(idsOf([list.json as Page<Event>]), events);
    for (const event of events) {
      const { text, json, status } = await readEvent(event);
      assert.equal(status, 200);
      assert.doesNotMatch(text + list.text, /eagle|4711/);
      assert.equal(((json["data"] as Json)["message"] as Json)["body"], null);
    }
    const ofType = await own.request("GET", "/v1/events?type=message.redacted");
    assert.equal(ofType.status, 400, "it is no type of events");
  });

  test("has one delivery for each endpoint that was called and still exists", async () => {
    const other = await clientOfAccount(node, "deliveries");
    const { endpoints } = other;
    const deliveriesOf = async (event: string): Promise<Json[]> => (await other.events.deliveries(event)).json["data"] as Json[];
    const [{ id: early }] = (await (await sendWithoutEndpoint(other)).events.list({ type: "message.queued" })).data as [Event];
    assert.deepEqual(await deliveriesOf(early), []);

    const [well, ill, gone, deaf] = [
      await endpoints.create({ url: hooks.url("/well") }),
      await endpoints.create({ url: "http://127.0.0.1:1/ill", event_types: ["message.queued"] }),
      await endpoints.create({ url: hooks.url("/gone"), event_types: ["message.*"] }),
      await endpoints.create({ url: hooks.url("/deaf"), event_types: ["endpoint.disabled"] }),
    ].map(({ id }) => String(id));
    const event = String((await other.messages.send())["id"]).replace("msg_", "evt_");
    const attempted = (count: number): Promise<Json[]> =>
      until(`${count} deliveries`, async () => [await deliveriesOf(event)].find(({ length }) => length === count));
    const found = new Map((await attempted(3)).map((delivery) => [delivery["endpoint_id"], delivery]));
    assert.deepEqual(new Set(found.keys()), new Set([well, ill, gone]));
    for (const [id, status, error] of [
      [well, "succeeded", null],
      [ill, "pending", "connection_failed"],
      [gone, "succeeded", null],
    ] as const) {
      const delivery = found.get(id) ?? {};
      assert.deepEqual([delivery["event_id"], delivery["event_type"], delivery["status"]], [event, "message.queued", status]);
      assert.deepEqual((delivery["attempts"] as { error: unknown }[])[0]?.error, error);
      assert.deepEqual((await endpoints.request("GET", `/${String(id)}/deliveries/${String(delivery["id"])}`)).json["id"], delivery["id"]);
    }
    await endpoints.remove(gone);
    assert.deepEqual(new Set((await attempted(2)).map((delivery) => delivery["endpoint_id"])), new Set([well, ill]));
    assert.deepEqual((await endpoints.deliveries(deaf)).data, []);
    assertProblem(await own.events.deliveries(event), "not_found");
  });

  /** Sends a message while there is no endpoint. */
  async function sendWithoutEndpoint(other: Client): Promise<Client> {
    await other.messages.send();
    return other;
  }
});

test("under concurrent requests each change has one event, and each subscribed endpoint has one delivery", async () => {
  await using godwit = await startGodwit();
  await using second = await startGodwit({ databaseUrl: godwit.databaseUrl });
  const own = await clientOfAccount(godwit, "storm");
  const nodes = [own, clientOf(second, own.key)];
  const { endpoints } = own;
  for (const types of [["*"], ["message.*"], ["message.canceled"], ["message.sent"]]) await endpoints.create({ event_types: types });
  const sendConcurrently = (ask: (node: Client, index: number) => Promise<Reply>): Promise<Reply[]> =>
    Promise.all(Array.from({ length: 40 }, (_, index) => ask(nodes[index % 2] as Client, index)));

  for (let round = 0; round < 3; round += 1) {
    const idempotencyKey = randomUUID();
    const body = { recipient: "+14155550123", channel: "sms", body: "storm" };
    const posts = await sendConcurrently((node) => node.request("POST", "/v1/messages", { body, idempotencyKey }));
    const { id } = assertOneExecution(posts).json;
    // Half of the requests share one key; the others have their own key or none.
    const shared = randomUUID();
    const cancels = await sendConcurrently((node, index) => {
      const cancelKey = index % 4 < 2 ? shared : index % 8 < 4 ? randomUUID() : undefined;
      return node.messages.cancel(id, cancelKey === undefined ? {} : { idempotencyKey: cancelKey });
    });
    assert.equal(cancels.filter((reply) => reply.status === 200 && !reply.headers.has("idempotent-replayed")).length, 1);
    const reported = await godwit.rows<object>(
      `select e.type, count(distinct e.id)::integer as events, count(q.id)::integer as deliveries, count(distinct q.endpoint_id)::integer as endpoints
         from events e left join webhook_queue q on q.event_id = e.id
        where e.message_id = $1 group by e.type order by e.type`,
      [rowId(id)],
    );
    assert.deepEqual(reported, [
      { type: "message.canceled", events: 1, deliveries: 3, endpoints: 3 },
      { type: "message.queued", events: 1, deliveries: 2, endpoints: 2 },
    ]);
    assert.deepEqual(typesOf((await own.events.list({ message_id: String(id) })).data), ["message.canceled", "message.queued"]);
  }
});
