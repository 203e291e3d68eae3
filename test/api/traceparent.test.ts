/** The trace context of a request is passed on with its messages to the webhooks. */
import assert from "node:assert/strict";
import { randomBytes, randomUUID } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { recordOf } from "../support/client.ts";
import { until } from "../support/expect.ts";
import { sms, startGodwit, type Godwit, type Reply } from "../support/harness.ts";
import { Customer, WITH_WEBHOOKS, type Endpoint } from "../support/webhook-customer.ts";
import { Hook, messageOf, OK, REFUSED, type Call } from "../support/hook-server.ts";

const newParent = (flags = "01"): { traceId: string; spanId: string; traceparent: string } => {
  const [traceId, spanId] = [randomBytes(16).toString("hex"), randomBytes(8).toString("hex")];
  return { traceId, spanId, traceparent: `00-${traceId}-${spanId}-${flags}` };
};

const post = (
  customer: Customer,
  path: string,
  body: object,
  headers: Record<string, string>,
  idempotencyKey: string = randomUUID(),
): Promise<Reply> => customer.godwit.request("POST", path, { key: customer.key, idempotencyKey, body, headers });

const parentsOf = (calls: readonly Call[]): (string | undefined)[] => calls.map(({ headers }) => headers["traceparent"]);

/** Asserts that every call belongs to the trace, with the flags, and has its own span. */
function assertWithin(calls: readonly Call[], { traceId, spanId }: { traceId: string; spanId: string }, flags = "01"): void {
  const parents = parentsOf(calls);
  for (const parent of parents) assert.match(String(parent), new RegExp(`^00-${traceId}-(?!${spanId})[0-9a-f]{16}-${flags}$`));
  assert.equal(new Set(parents).size, calls.length, "every span is unique");
}

describe("a trace", () => {
  let godwit: Godwit;
  let hook: Hook;
  let customer: Customer;
  let endpoint: Endpoint;
  const callsAbout = async (id: string, count: number): Promise<Call[]> => {
    const matching = (): Call[] => endpoint.calls.filter((call) => messageOf(call)?.["id"] === id);
    return until(`${count} calls about ${id}`, () => (matching().length >= count ? matching() : undefined));
  };
  before(async () => {
    godwit = await startGodwit(WITH_WEBHOOKS);
    hook = await Hook.listen();
    customer = await Customer.of(godwit);
    endpoint = await customer.endpoint(hook);
  });
  after(async () => {
    await hook[Symbol.asyncDispose]();
    await godwit.stop();
  });

  test("is passed from the request to every webhook of the message", async () => {
    const parent = newParent();
    const reply = await post(customer, "/v1/messages", sms(), { traceparent: parent.traceparent, tracestate: "rojo=1" });
    assert.equal(reply.status, 202);
    const calls = await callsAbout(String(reply.json["id"]), 4);
    assertWithin(calls, parent);
    assert.deepEqual(new Set(calls.map(({ headers }) => headers["tracestate"])), new Set(["rojo=1"]));
    assert.ok(calls.some(({ event }) => event.type === "message.delivered"));
  });

  test("that is not sampled is passed on as not sampled", async () => {
    const parent = newParent("00");
    const reply = await post(customer, "/v1/messages", sms(), { traceparent: parent.traceparent });
    assertWithin(await callsAbout(String(reply.json["id"]), 4), parent, "00");
  });

  test("that the caller does not send is not created, and nothing is stored", async () => {
    const { id } = await customer.send();
    const calls = await callsAbout(id, 4);
    assert.deepEqual(parentsOf(calls), [undefined, undefined, undefined, undefined]);
    assert.ok(calls.every(({ headers }) => !("tracestate" in headers)));
  });

  for (const traceparent of [
    "",
    "nonsense",
    "00-0-0-00",
    newParent().traceparent.toUpperCase(),
    `${newParent().traceparent}-x`,
    "é".repeat(3),
  ])
    test(`with an invalid header is ignored: ${JSON.stringify(traceparent.slice(0, 12))}`, async () => {
      const reply = await post(customer, "/v1/messages", sms(), { traceparent });
      assert.equal(reply.status, 202);
      assert.deepEqual(parentsOf(await callsAbout(String(reply.json["id"]), 4)), [undefined, undefined, undefined, undefined]);
    });

  test("is that of the first request, regardless of repeated requests", async () => {
    const [first, second, key] = [newParent(), newParent(), randomUUID()];
    const reply = await post(customer, "/v1/messages", sms(), { traceparent: first.traceparent }, key);
    const again = await post(customer, "/v1/messages", sms(), { traceparent: second.traceparent }, key);
    assert.equal(again.headers.get("idempotent-replayed"), "true");
    assert.equal(again.text, reply.text);
    assertWithin(await callsAbout(String(reply.json["id"]), 4), first);
  });

  test("of a batch is passed on to each of its messages", async () => {
    const parent = newParent();
    const items = Array.from({ length: 3 }, (_, at) => ({ recipient: `+1415555013${at}` }));
    const reply = await post(
      customer,
      "/v1/batches",
      { defaults: { channel: "sms", body: "Hello" }, items },
      { traceparent: parent.traceparent },
    );
    assert.equal(reply.status, 202, reply.text);
    const results = reply.json["results"] as { message_id: string }[];
    for (const { message_id: id } of results) assertWithin(await callsAbout(id, 4), parent);
  });

  test("of a verification is passed on to its message", async () => {
    const parent = newParent();
    const reply = await post(
      customer,
      "/v1/verifications",
      { recipient: "+14155550177", channels: ["sms"] },
      { traceparent: parent.traceparent },
    );
    assert.equal(reply.status, 201, reply.text);
    const calls = await until("four calls arrive", () => {
      const found = endpoint.calls.filter((call) => messageOf(call)?.["recipient"] === "+14155550177");
      return found.length >= 4 ? found : undefined;
    });
    assertWithin(calls, parent);
  });

  test("is passed on to the fallback of a message", async () => {
    const parent = newParent();
    // The simulator does not deliver to this number.
    const body = { ...sms(), recipient: "+15005550005", fallback: [{ channel: "sms", body: "Hello", after_seconds: 10 }] };
    const reply = await post(customer, "/v1/messages", body, { traceparent: parent.traceparent });
    assert.equal(reply.status, 202, reply.text);
    const id = String(reply.json["id"]);
    const children = await until("the fallback is reported", () => {
      const found = endpoint.calls.filter((call) => messageOf(call)?.["fallback_of"] === id);
      return found.length > 0 ? found : undefined;
    });
    assertWithin(children, parent);
  });

  test("of a redacted message is removed", async () => {
    const parent = newParent();
    const reply = await post(customer, "/v1/messages", sms(), { traceparent: parent.traceparent });
    const id = String(reply.json["id"]);
    await callsAbout(id, 4);
    const stored = (): Promise<{ trace: string | null }[]> =>
      godwit.rows("select trace from messages where trace like $1", [`%${parent.traceId}%`]);
    assert.deepEqual(await stored(), [{ trace: parent.traceparent }]);
    recordOf(await customer.client.messages.redact(id));
    assert.deepEqual(await stored(), []);
  });

  test("without a credential has no effect", async () => {
    const { traceparent, traceId } = newParent();
    const reply = await godwit.request("POST", "/v1/messages", { body: sms(), headers: { traceparent } });
    assert.equal(reply.status, 401);
    assert.ok(!reply.text.includes(traceId) && ![...reply.headers].some(([, value]) => value.includes(traceId)));
    assert.deepEqual(await godwit.rows("select 1 from messages where trace like $1", [`%${traceId}%`]), []);
  });
});

test("a trace survives refusals of the endpoint and a restart of the service", async () => {
  await using hook = await Hook.listen();
  const first = await startGodwit({ ...WITH_WEBHOOKS, asProcess: true });
  const customer = await Customer.of(first);
  const endpoint = await customer.endpoint(hook, ["message.queued"]);
  hook.behave = () => REFUSED;
  const parent = newParent();
  await post(customer, "/v1/messages", sms(), { traceparent: parent.traceparent });
  await endpoint.received(1);
  await endpoint.attempted(1);
  await endpoint.makeDue();
  await endpoint.received(2);
  await endpoint.attempted(2);
  await first.stop("SIGKILL");
  hook.behave = () => OK;
  await using second = await startGodwit({ ...WITH_WEBHOOKS, databaseUrl: first.databaseUrl });
  await endpoint.at(second).makeDue();
  const calls = await endpoint.received(3);
  assertWithin(calls, parent);
  assert.equal(new Set(calls.map(({ headers }) => headers["webhook-id"])).size, 1, "one event is delivered in three attempts");
});
