/** The events that endpoints receive, with a real service and real receivers, verified with the official packages. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { VERSION } from "../../src/version.ts";
import { afterSeconds, recordOf, type Json } from "../support/client.ts";
import { until } from "../support/expect.ts";
import { startGodwit, type Godwit, type Reply } from "../support/harness.ts";
import { readMetrics, seriesOf } from "../support/metrics-text.ts";
import { rowId } from "../support/tables.ts";
import { Customer, WITH_WEBHOOKS } from "../support/webhook-customer.ts";
import { Hook, idsOf, messageOf, OK, REFUSED, typesOf, verify, type Call } from "../support/hook-server.ts";

let godwit: Godwit;
let hook: Hook;
before(async () => {
  [godwit, hook] = await Promise.all([startGodwit({ ...WITH_WEBHOOKS, isOneProcess: true }), Hook.listen()]);
});
after(async () => {
  await godwit.stop();
  await hook[Symbol.asyncDispose]();
});

const bySequence = (calls: readonly Call[]): Call[] =>
  calls.toSorted((a, b) => Number(a.event.data["sequence"]) - Number(b.event.data["sequence"]));

const messageTypes = (...statuses: readonly string[]): string[] => statuses.map((status) => `message.${status}`);

describe("a message", () => {
  type Row = readonly [sentence: string, fields: Json, types: readonly string[]];
  const ROWS: readonly Row[] = [
    ["that is delivered by SMS", {}, messageTypes("queued", "sending", "sent", "delivered")],
    ["that is read on WhatsApp", { channel: "whatsapp" }, messageTypes("queued", "sending", "sent", "delivered", "read")],
    ["that is refused by the carrier", { recipient: "+15005550002" }, messageTypes("queued", "sending", "failed")],
    ["that is not delivered by the carrier", { recipient: "+15005550005" }, messageTypes("queued", "sending", "sent", "undelivered")],
    [
      "that is throttled twice",
      { recipient: "+15005550012" },
      messageTypes("queued", "sending", "queued", "sending", "queued", "sending", "sent", "delivered"),
    ],
    ["with duplicate receipts out of order", { recipient: "+15005550011" }, messageTypes("queued", "sending", "sent", "delivered")],
  ];
  for (const [sentence, fields, types] of ROWS) {
    test(`${sentence} causes one signed webhook for each event`, async () => {
      const customer = await Customer.of(godwit);
      const endpoint = await customer.endpoint(hook);
      const message = await customer.send({ ...fields, client_reference: "order 4711", metadata: { order: "4711" } });
      const calls = bySequence(await endpoint.received(types.length));
      assert.deepEqual(typesOf(calls), types);
      await assertDelivered(customer, message, calls);
      for (const call of calls) assertSigned(call, endpoint.secret);
      // A signal without a transition is only in the timeline.
      await endpoint.test();
      await endpoint.idle();
      assert.equal(endpoint.calls.length, types.length + 1);
    });
  }

  test("that is scheduled and canceled causes a webhook for each event", async () => {
    const customer = await Customer.of(godwit);
    const endpoint = await customer.endpoint(hook);
    const message = await customer.send({ send_at: afterSeconds(3_600) });
    await endpoint.received(1);
    recordOf(await customer.client.messages.cancel(message.id));
    const calls = bySequence(await endpoint.received(2));
    assert.deepEqual(typesOf(calls), messageTypes("scheduled", "canceled"));
    await assertDelivered(customer, message, calls);
  });

  test("with duplicate receipts has ignored signals in its timeline, which cause no webhook", async () => {
    const customer = await Customer.of(godwit);
    const endpoint = await customer.endpoint(hook);
    const message = await customer.send({ recipient: "+15005550011" });
    await until("a signal is ignored", async () => {
      const rows = await godwit.rows("select from events where message_id = $1 and is_ignored", [rowId(message.id)]);
      return rows.length > 0 ? true : undefined;
    });
    await endpoint.test();
    await endpoint.idle();
    assert.deepEqual(
      typesOf(bySequence(endpoint.calls)).toSorted(),
      [...messageTypes("queued", "sending", "sent", "delivered"), "webhook.test"].toSorted(),
    );
  });

  /** Asserts that the payload is the event of the API with the record of that time, and that the sequence has no gap. */
  async function assertDelivered(customer: Customer, message: Json, calls: readonly Call[]): Promise<void> {
    let previous: unknown = null;
    for (const [index, call] of calls.entries()) {
      const { event } = call;
      const record = messageOf(call);
      assert.deepEqual(Object.keys(event), ["id", "type", "timestamp", "environment", "data"]);
      assert.deepEqual(Object.keys(event.data), ["message", "previous_status", "sequence"]);
      assert.deepEqual(Object.keys(record), Object.keys(message), "the whole record");
      assert.equal(event.environment, "test");
      assert.match(event.timestamp, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
      assert.equal(event.type, `message.${String(record["status"])}`);
      assert.deepEqual([event.data["sequence"], record["sequence"]], [index + 1, index + 1]);
      assert.equal(event.data["previous_status"], previous);
      assert.equal(record["id"], message["id"]);
      const { text } = await customer.client.events.get(event.id);
      assert.equal(text, call.text, "the same bytes as in the API");
      previous = record["status"];
    }
    assert.deepEqual(messageOf(calls[0] as Call), message, "the first record is the response of the request");
    const now = await customer.client.messages.read(message["id"]);
    // An ignored signal changes only updated_at.
    assert.deepEqual({ ...messageOf(calls.at(-1) as Call), updated_at: now["updated_at"] }, now, "the last record is the current one");
  }

  function assertSigned(call: Call, secret: string): void {
    const { headers, method, text, event } = call;
    verify(call, secret);
    assert.equal(method, "POST");
    assert.equal(headers["content-type"], "application/json");
    assert.equal(headers["content-length"], String(Buffer.byteLength(text)));
    assert.equal(headers["user-agent"], `Godwit/${VERSION}`);
    assert.equal(headers["webhook-id"], event.id);
    assert.ok(Math.abs(Number(headers["webhook-timestamp"]) - Date.now() / 1_000) < 60);
    assert.match(String(headers["webhook-signature"]), /^v1,[A-Za-z0-9+/]{43}=$/);
    assert.equal(headers["authorization"], undefined);
  }
});

test("the webhook of the largest possible message is smaller than 20 kB", async () => {
  const customer = await Customer.of(godwit);
  const endpoint = await customer.endpoint(hook);
  const bird = "\u{1f426}".repeat(500);
  const fields = { recipient: "+14155550123", channel: "whatsapp", body: "ü".repeat(4_096) };
  const send = (length: number): Promise<Reply> => {
    const metadata = { a: bird, b: bird, c: bird, d: "x".repeat(500), e: "x".repeat(500), f: "x".repeat(350), g: "x".repeat(length) };
    return customer.client.messages.post({ ...fields, metadata }, { idempotencyKey: randomUUID() });
  };
  // The message is slightly too large first, and then shrinks.
  let length = 500;
  let reply = await send(length);
  assert.equal(reply.status, 400, reply.text);
  while (reply.status === 400 && length > 0) reply = await send((length -= 10));
  assert.equal(reply.status, 202, reply.text);
  // There is no event of `delivered` if the receipt of `read` was stored first.
  const calls = await endpoint.received(4);
  const sizes = calls.map(({ text }) => Buffer.byteLength(text));
  for (const call of calls) verify(call, endpoint.secret);
  assert.ok(Math.max(...sizes) < 20_000, sizes.join(", "));
  assert.ok(Math.min(...sizes) > 16_000, `the message is large: ${sizes.join(", ")}`);
});

describe("a secret", () => {
  test("during its rotation verifies beside the new one, and afterwards only the new one verifies", async () => {
    const endpoint = await (await Customer.of(godwit)).endpoint(hook);
    const first = await endpoint.test();
    verify(first, endpoint.secret);
    const secret = String((await endpoint.client.rotate(endpoint.id))["secret"]);
    assert.notEqual(secret, endpoint.secret);
    const during = await endpoint.test();
    assert.match(String(during.headers["webhook-signature"]), /^v1,\S{44} v1,\S{44}$/);
    verify(during, endpoint.secret);
    verify(during, secret);
    assert.throws(() => verify(first, secret), /signature/);
    await godwit.rows("update webhook_endpoints set previous_secret_until = now() where id = $1", [endpoint.uuid]);
    const afterwards = await endpoint.test();
    verify(afterwards, secret);
    assert.throws(() => verify(afterwards, endpoint.secret), /signature/);
  });

  test("does not verify the call of another endpoint, a modified body, another id or an old timestamp", async () => {
    const customer = await Customer.of(godwit);
    const [one, other] = [await customer.endpoint(hook), await customer.endpoint(hook)];
    const call = await one.test();
    assert.throws(() => verify(call, other.secret), /signature/);
    assert.throws(() => verify({ ...call, text: call.text.replace("test", "live") }, one.secret), /signature/);
    assert.throws(() => verify({ ...call, headers: { ...call.headers, "webhook-id": "evt_other" } }, one.secret), /signature/);
    const old = String(Number(call.headers["webhook-timestamp"]) - 3_600);
    assert.throws(() => verify({ ...call, headers: { ...call.headers, "webhook-timestamp": old } }, one.secret), /timestamp/);
  });
});

describe("an event", () => {
  test("is delivered to each endpoint that subscribes to its type", async () => {
    const customer = await Customer.of(godwit);
    const all = messageTypes("queued", "sending", "sent", "delivered");
    const rows: readonly (readonly [types: readonly string[], heard: readonly string[]])[] = [
      [["*"], all],
      [["message.*"], all],
      [["message.sent"], messageTypes("sent")],
      [["message.failed", "message.delivered"], messageTypes("delivered")],
      [["message.sent", "message.*", "*"], all],
      [["endpoint.*", "webhook.*"], []],
      [["message.failed"], []],
    ];
    const endpoints = await Promise.all(rows.map(([types]) => customer.endpoint(hook, types)));
    const message = await customer.send();
    await endpoints[0]?.received(4);
    for (const [index, [types, heard]] of rows.entries()) {
      const endpoint = endpoints[index];
      assert.ok(endpoint !== undefined);
      await endpoint.test();
      await endpoint.idle();
      assert.deepEqual(typesOf(endpoint.calls).toSorted(), [...heard, "webhook.test"].toSorted(), types.join(", "));
      for (const call of endpoint.calls.filter(({ event }) => event.type !== "webhook.test"))
        assert.equal(messageOf(call)["id"], message.id);
    }
    // Each endpoint receives the same event with the same id.
    const ids = endpoints.map(({ calls }) => calls.find(({ event }) => event.type === "message.delivered")?.event.id);
    assert.equal(new Set(ids.filter((id) => id !== undefined)).size, 1);
  });

  test("is not delivered to the other environment or to another account", async () => {
    const customer = await Customer.of(godwit);
    const [live, stranger] = [await Customer.of(godwit, { account: customer.account, environment: "live" }), await Customer.of(godwit)];
    const [mine, elsewhere, strangers] = [await customer.endpoint(hook), await live.endpoint(hook), await stranger.endpoint(hook)];
    await customer.send();
    await mine.received(4);
    for (const endpoint of [elsewhere, strangers]) {
      await endpoint.test();
      assert.deepEqual(typesOf(endpoint.calls), ["webhook.test"]);
    }
    assert.equal(elsewhere.calls[0]?.event.environment, "live");
  });

  test("of a test is delivered only to the tested endpoint, regardless of its types", async () => {
    const customer = await Customer.of(godwit);
    const [one, other] = [await customer.endpoint(hook, ["message.sent"]), await customer.endpoint(hook, ["*"])];
    const call = await one.test();
    verify(call, one.secret);
    assert.equal(call.event.type, "webhook.test");
    assert.deepEqual(Object.keys(call.event.data), ["webhook_endpoint"]);
    assert.deepEqual(call.event.data["webhook_endpoint"], await one.record());
    assert.ok(!call.text.includes(one.secret) && !call.text.includes("whsec_"));
    await other.test();
    assert.equal(other.calls.length, 1);
  });

  test("is not delivered to an endpoint that is created later", async () => {
    const customer = await Customer.of(godwit);
    const first = await customer.endpoint(hook);
    await customer.send();
    await first.received(4);
    const second = await customer.endpoint(hook);
    await second.test();
    assert.equal(second.calls.length, 1);
  });
});

test("an event whose message was redacted before the delivery is delivered without text, and the redaction causes no webhook", async () => {
  const customer = await Customer.of(godwit);
  const [endpoint, witness] = [await customer.endpoint(hook), await customer.endpoint(hook)];
  hook.behave = ({ path }) => (path === endpoint.path ? REFUSED : OK);
  const message = await customer.send({ body: "the eagle lands at noon", metadata: { patient: "4711" } });
  await Promise.all([endpoint.received(4), witness.received(4)]);
  await until("four refusals are stored", async () => ((await endpoint.deliveries()).length === 4 ? true : undefined));
  recordOf(await customer.client.messages.redact(message.id));
  hook.behave = () => OK;
  await endpoint.makeDue();
  const again = (await endpoint.received(8)).slice(4);
  assert.deepEqual(idsOf(again).toSorted(), idsOf(endpoint.calls.slice(0, 4)).toSorted());
  for (const call of again) {
    verify(call, endpoint.secret);
    assert.ok(!/eagle|4711/.test(call.text), call.text);
    assert.equal(messageOf(call)["body"], null);
    assert.equal(messageOf(call)["id"], message.id);
  }
  await endpoint.idle();
  await Promise.all([endpoint.test(), witness.test()]);
  assert.equal(endpoint.calls.length, 9);
  assert.equal(witness.calls.length, 5);
});

describe("the stored response body", () => {
  const ROWS: readonly (readonly [sentence: string, body: string, kept: string])[] = [
    ["is empty for an empty body", "", ""],
    ["contains a short text completely", "thank you", "thank you"],
    ["contains the first 512 bytes of a long text", "0123456789".repeat(1_000), "0123456789".repeat(52).slice(0, 512)],
    ["contains no control characters", "a\u0000b\r\n\tc", "a b c"],
    ["does not contain half a character", "ü".repeat(600), "ü".repeat(256)],
    ["does not end with half a character", `x${"ü".repeat(600)}`, `x${"ü".repeat(255)}`],
  ];
  for (const [sentence, body, kept] of ROWS) {
    test(sentence, async () => {
      const endpoint = await (await Customer.of(godwit)).endpoint(hook);
      hook.behave = ({ path }) => (path === endpoint.path ? { status: 202, body } : OK);
      await endpoint.client.test(endpoint.id);
      const { status, attempts, next_attempt_at: next, event_type: type } = await endpoint.attempted(1);
      assert.deepEqual([status, next, type], ["succeeded", null, "webhook.test"]);
      const [attempt] = attempts;
      assert.deepEqual([attempt?.response_status, attempt?.response_body, attempt?.error], [202, kept, null]);
      assert.ok(Math.abs(Date.parse(attempt?.attempted_at ?? "") - Date.now()) < 10_000);
      assert.ok((attempt?.duration_ms ?? -1) >= 0);
    });
  }
});

test("metrics count attempts by outcome, their duration and the waiting deliveries", async () => {
  const attempts = async () => seriesOf(await readMetrics(godwit), "godwit_webhook_attempts_total");
  const was = await attempts();
  const seconds = (await readMetrics(godwit)).get("godwit_webhook_seconds_count") ?? 0;
  const customer = await Customer.of(godwit);
  const endpoint = await customer.endpoint(hook);
  const unused = await Hook.listen();
  const closed = await customer.endpoint(unused, ["message.queued"]);
  await unused[Symbol.asyncDispose]();
  for (const answer of [OK, REFUSED]) {
    hook.behave = () => answer;
    await endpoint.test();
  }
  await closed.client.test(closed.id);
  await closed.attempted(1);
  await until("two deliveries are stored", async () => ((await endpoint.deliveries()).length === 2 ? true : undefined));
  const now = await attempts();
  const grown = (outcome: string): number => (now[`{outcome="${outcome}"}`] ?? 0) - (was[`{outcome="${outcome}"}`] ?? 0);
  assert.deepEqual(["succeeded", "refused", "connection_failed", "timeout"].map(grown), [1, 1, 1, 0]);
  const metrics = await readMetrics(godwit);
  assert.equal((metrics.get("godwit_webhook_seconds_count") ?? 0) - seconds, 3);
  assert.equal(metrics.get("godwit_webhook_calls"), 0);
  hook.behave = () => OK;
  const waiting = async (): Promise<number | undefined> =>
    (await readMetrics(godwit)).get('godwit_webhook_queue_depth{kind="retry"}') || undefined;
  // Metrics from the database are cached for some seconds.
  assert.ok((await until("the waiting deliveries are counted", waiting)) >= 1);
  assert.ok(metrics.has("godwit_webhook_queue_oldest_due_seconds"));
});

describe("twenty receivers that hang", () => {
  const COUNT = 20;
  let customer: Customer;
  let hanging: Hook[];
  let endpoints: Awaited<ReturnType<Customer["endpoint"]>>[];
  before(async () => {
    customer = await Customer.of(godwit);
    hanging = await Promise.all(Array.from({ length: COUNT }, () => Hook.listen()));
    for (const each of hanging) each.behave = () => null;
    endpoints = await Promise.all(hanging.map((each) => customer.endpoint(each, ["message.queued"])));
    await customer.send();
    await Promise.all(endpoints.map((endpoint) => endpoint.received(1)));
  });
  after(() => Promise.all(hanging.map((each) => each[Symbol.asyncDispose]())));

  /** Waits until the metrics of the process count so many running calls. */
  const untilRunning = (count: number): Promise<true> =>
    until(`${count} calls are running`, async () => (await readMetrics(godwit)).get("godwit_webhook_calls") === count || undefined);

  test("occupy no database connection, and requests get responses as usual", async () => {
    await untilRunning(COUNT);
    // An occupied connection would be busy for longer than any statement takes.
    await until(
      "all receivers hang for 1.5 seconds",
      () => endpoints.every(({ calls }) => performance.now() - (calls[0]?.at ?? 0) > 1_500) || undefined,
    );
    for (let count = 0; count < 20; count += 1) {
      const held = await godwit.rows<{ state: string; query: string }>(
        `select state, query
           from pg_stat_activity
          where datname = current_database() and application_name like 'godwit %' and application_name not like 'godwit test %'
            and state <> 'idle' and now() - state_change > interval '1 second'`,
      );
      assert.deepEqual(held, []);
      await customer.send({ recipient: "+15005550002" });
    }
    // At most two calls to each receiver run at the same time.
    await untilRunning(2 * COUNT);
  });

  test("do not delay one that responds", async () => {
    const endpoint = await customer.endpoint(hook, ["message.queued"]);
    const message = await customer.send();
    const [call] = await endpoint.received(1);
    assert.equal(call && messageOf(call)["id"], message.id);
    assert.ok(
      hanging.some(({ waiting }) => waiting > 0),
      "the receivers still hang",
    );
  });

  test("time out after fifteen seconds, and the customer sees only `timeout`", async () => {
    const [endpoint] = endpoints;
    assert.ok(endpoint !== undefined);
    const first = endpoint.calls[0]?.event.id;
    const delivery = await until("the first attempt has timed out", async () =>
      (await endpoint.deliveries()).find(({ event_id: id, attempts }) => id === first && attempts.length > 0),
    );
    const [attempt] = delivery.attempts;
    assert.ok(attempt !== undefined);
    const { attempted_at: attemptedAt, duration_ms: durationMs, ...rest } = attempt;
    assert.deepEqual(rest, { response_status: null, response_body: null, error: "timeout" });
    assert.ok(durationMs >= 14_900, `${durationMs} ms`);
    assert.ok(!Number.isNaN(Date.parse(attemptedAt)));
    assert.equal(delivery.status, "pending");
    assert.ok(!JSON.stringify(delivery).includes("127.0.0.1"));
    assert.notEqual((await endpoint.record())["failing_since"], null);
  });
});
