/** Nodes with different roles in one installation: nodes that accept messages, and nodes that deliver them. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { clientOf, typesOf, type Client, type Json } from "../support/client.ts";
import { LIMIT_MS, assertProblem, NEVER_MS, until, untilListening } from "../support/expect.ts";
import { sms, startGodwit, type Godwit } from "../support/harness.ts";
import { readMetrics, seriesOf } from "../support/metrics-text.ts";
import { assertReplayOf, effectCount, isStored, NEVER, unique } from "../support/replay.ts";
import { eventsOf, queueRowOf } from "../support/tables.ts";

const DELIVERED = ["message.queued", "message.sending", "message.sent", "message.delivered"];
const ACCEPTED = '{link="simulator",outcome="accepted"}';
const simulatorSpeed = 20;

describe("a node that accepts messages and a node that delivers them", () => {
  let accepting: Godwit;
  let dispatching: Godwit;
  let key: string;
  let client: Client;
  before(async () => {
    accepting = await startGodwit();
    await accepting.unlimited();
    key = await accepting.key();
    client = clientOf(accepting, key);
    dispatching = await startGodwit({ databaseUrl: accepting.databaseUrl, roles: "dispatch", simulatorSpeed });
  });
  after(() => Promise.all([accepting.stop(), dispatching.stop()]));

  test("the one delivers the messages that the other accepts", async () => {
    const { id } = await client.messages.send();
    const record = await client.messages.reached(id, "delivered");
    assert.deepEqual((record["provider"] as Json)["name"], "simulator");
    assert.deepEqual(typesOf(await client.messages.timeline(id)), DELIVERED);
    assert.equal(await queueRowOf(accepting, id), undefined);
    assert.ok((seriesOf(await readMetrics(dispatching), "godwit_attempts_total")[ACCEPTED] ?? 0) >= 1);
    assert.deepEqual(seriesOf(await readMetrics(accepting), "godwit_attempts_total"), {});
  });

  test("the delivering node is notified at once, and does not wait for its next poll of the queue", async () => {
    await using accepts = await startGodwit();
    await using delivers = await startGodwit({
      databaseUrl: accepts.databaseUrl,
      roles: "dispatch",
      simulatorSpeed,
      timings: { deliveryPollMs: NEVER_MS },
    });
    await untilListening(delivers);
    const own = clientOf(accepts, await accepts.key());
    for (let count = 0; count < 5; count += 1) await own.messages.reached((await own.messages.send())["id"], "delivered");
  });

  test("hundreds of messages at once are all delivered with one attempt each", async () => {
    const messages = await Promise.all(Array.from({ length: 300 }, () => client.messages.send()));
    await until("all messages are delivered", async () => {
      const { queued, sending } = (await client.request("GET", "/v1/queue")).json;
      return queued === 0 && sending === 0 ? true : undefined;
    });
    for (const { id } of messages) {
      await client.messages.reached(id, "delivered");
      const events = (await eventsOf(accepting, id)).filter((event) => !event.is_ignored);
      assert.deepEqual(
        events.map(({ type }) => type),
        DELIVERED,
      );
    }
  });

  test("the delivering node has no API, and only the health pages", async () => {
    for (const [method, path] of [
      ["POST", "/v1/messages"],
      ["GET", "/v1/messages"],
      ["GET", "/v1/usage"],
      ["GET", "/v1/queue"],
      ["POST", "/v1/messages/msg_01k9zs3v8mf4tb2xg1qj6n0d5c/cancel"],
    ] as const)
      assertProblem(
        await dispatching.request(method, path, { key, isDeclared: false, ...(method === "POST" ? { body: sms() } : {}) }),
        "not_found",
      );
    assertProblem(await dispatching.request("POST", "/v1/oauth/token", { body: "", isDeclared: false }), "not_found");
    assert.deepEqual((await dispatching.request("GET", "/openapi.json")).json["paths"], {}, "the OpenAPI document is empty");
    for (const path of ["/livez", "/readyz", "/metrics"]) assert.equal((await dispatching.request("GET", path)).status, 200);
  });
});

describe("without a node that delivers", () => {
  test("messages stay queued, and are delivered once there is one", async () => {
    await using accepting = await startGodwit();
    await accepting.unlimited();
    const key = await accepting.key();
    const client = clientOf(accepting, key);
    const messages = await Promise.all(Array.from({ length: 120 }, () => client.messages.send()));
    const { queued, oldest_due_at: dueAt } = (await client.request("GET", "/v1/queue")).json;
    assert.equal(queued, 120);
    assert.ok(Math.abs(Date.parse(String(dueAt)) - Date.now()) < LIMIT_MS);
    assert.equal(seriesOf(await readMetrics(accepting), "godwit_queue_depth")['{lane="simulator"}'], 120);
    const [counts] = await accepting.rows<{ events: number; waiting: number }>(
      "select (select count(*)::integer from events) as events, (select count(*)::integer from delivery_queue) as waiting",
    );
    assert.deepEqual(counts, { events: 120, waiting: 120 });

    // Two nodes start, and each message goes to one of them.
    await using first = await startGodwit({ databaseUrl: accepting.databaseUrl, roles: "dispatch", simulatorSpeed });
    await using second = await startGodwit({ databaseUrl: accepting.databaseUrl, roles: "dispatch", simulatorSpeed });
    for (const { id } of messages) {
      await client.messages.reached(id, "delivered");
      const entries = (await client.messages.timeline(id)).filter(({ ignored }) => !ignored);
      assert.deepEqual(typesOf(entries), DELIVERED);
    }
    const attempts = await Promise.all([first, second].map(async (node) => seriesOf(await readMetrics(node), "godwit_attempts_total")));
    assert.equal(
      attempts.reduce((sum, each) => sum + (each[ACCEPTED] ?? 0), 0),
      messages.length,
    );
  });
});

describe("the live environment", () => {
  let godwit: Godwit;
  let live: Client;
  before(async () => {
    godwit = await startGodwit({ roles: "api,dispatch", simulatorSpeed });
    await godwit.unlimited();
    live = clientOf(godwit, await godwit.key({ environment: "live" }));
  });
  after(() => godwit.stop());

  test("without a link refuses a message, and the refusal is stored for its key", async () => {
    const body = unique();
    const idempotencyKey = randomUUID();
    const first = await live.request("POST", "/v1/messages", { body, idempotencyKey });
    assertProblem(first, "no_route");
    assert.equal(await isStored(godwit, idempotencyKey), true);
    assertReplayOf(first, await live.request("POST", "/v1/messages", { body, idempotencyKey }));
    const other = await live.request("POST", "/v1/messages", { body: { ...body, body: "other" }, idempotencyKey });
    assertProblem(other, "idempotency_key_reused");
    assert.deepEqual(await effectCount(godwit, body), NEVER);
    assert.deepEqual((await live.request("GET", "/v1/messages")).json["data"], []);
  });

  test("stores nothing for a refusal without a key", async () => {
    const body = unique({ send_at: new Date(Date.now() + 60_000).toISOString() });
    for (let count = 0; count < 2; count += 1) assertProblem(await live.request("POST", "/v1/messages", { body }), "no_route");
    assert.deepEqual(await effectCount(godwit, body), NEVER);
    const { messages } = (await live.request("GET", "/v1/usage")).json["totals"] as Json;
    assert.equal(messages, 0);
  });
});
