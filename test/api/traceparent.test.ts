/** The trace that a request names goes with its messages to whoever is told of them. */
import assert from "node:assert/strict";
import { randomBytes, randomUUID } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { recordOf } from "../support/client/request.ts";
import { until } from "../support/expect.ts";
import { sms, startGodwit, type Godwit, type Reply } from "../support/harness.ts";
import { Customer, Hook, messageOf, OK, REFUSED, WITH_WEBHOOKS, type Call, type Endpoint } from "../support/webhook-customer.ts";

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

const parentsOf = (calls: readonly Call[]): (string | undefined)[] =>
  calls.map(({ headers }) => headers["traceparent"] as string | undefined);

/** Every call is of the trace, with the flags, and has a span of its own. */
function assertWithin(calls: readonly Call[], { traceId, spanId }: { traceId: string; spanId: string }, flags = "01"): void {
  const parents = parentsOf(calls);
  for (const parent of parents) assert.match(String(parent), new RegExp(`^00-${traceId}-(?!${spanId})[0-9a-f]{16}-${flags}$`));
  assert.equal(new Set(parents).size, calls.length, "no span twice");
}

describe("a trace", () => {
  let godwit: Godwit;
  let hook: Hook;
  let customer: Customer;
  let endpoint: Endpoint;
  const about = async (id: string, count: number): Promise<Call[]> => {
    const told = (): Call[] => endpoint.calls.filter((call) => messageOf(call)?.["id"] === id);
    return until(`${count} calls about ${id}`, () => (told().length >= count ? told() : undefined));
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

  test("goes from the request to every webhook of the message", async () => {
    const parent = newParent();
    const reply = await post(customer, "/v1/messages", sms(), { traceparent: parent.traceparent, tracestate: "rojo=1" });
    assert.equal(reply.status, 202);
    const calls = await about(String(reply.json["id"]), 4);
    assertWithin(calls, parent);
    assert.deepEqual(new Set(calls.map(({ headers }) => headers["tracestate"])), new Set(["rojo=1"]));
    assert.ok(calls.some(({ event }) => event.type === "message.delivered"));
  });

  test("that is not sampled says so to the webhooks", async () => {
    const parent = newParent("00");
    const reply = await post(customer, "/v1/messages", sms(), { traceparent: parent.traceparent });
    assertWithin(await about(String(reply.json["id"]), 4), parent, "00");
  });

  test("that nobody named is not made up, and nothing is stored", async () => {
    const { id } = await customer.send();
    const calls = await about(id, 4);
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
    test(`that is malformed is ignored: ${JSON.stringify(traceparent.slice(0, 12))}`, async () => {
      const reply = await post(customer, "/v1/messages", sms(), { traceparent });
      assert.equal(reply.status, 202);
      assert.deepEqual(parentsOf(await about(String(reply.json["id"]), 4)), [undefined, undefined, undefined, undefined]);
    });

  test("is the first request's, whatever its repetitions say", async () => {
    const [first, second, key] = [newParent(), newParent(), randomUUID()];
    const reply = await post(customer, "/v1/messages", sms(), { traceparent: first.traceparent }, key);
    const again = await post(customer, "/v1/messages", sms(), { traceparent: second.traceparent }, key);
    assert.equal(again.headers.get("idempotent-replayed"), "true");
    assert.equal(again.text, reply.text);
    assertWithin(await about(String(reply.json["id"]), 4), first);
  });

  test("of a batch is that of each of its messages", async () => {
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
    for (const { message_id: id } of results) assertWithin(await about(id, 4), parent);
  });

  test("of a verification is that of its message", async () => {
    const parent = newParent();
    const reply = await post(
      customer,
      "/v1/verifications",
      { recipient: "+14155550177", channels: ["sms"] },
      { traceparent: parent.traceparent },
    );
    assert.equal(reply.status, 201, reply.text);
    const calls = await until("four calls", () => {
      const found = endpoint.calls.filter((call) => messageOf(call)?.["recipient"] === "+14155550177");
      return found.length >= 4 ? found : undefined;
    });
    assertWithin(calls, parent);
  });

  test("goes on in what is sent in the place of a message", async () => {
    const parent = newParent();
    // The simulator's carrier does not deliver to this number.
    const body = { ...sms(), recipient: "+15005550005", fallback: [{ channel: "sms", body: "Hello", after_seconds: 10 }] };
    const reply = await post(customer, "/v1/messages", body, { traceparent: parent.traceparent });
    assert.equal(reply.status, 202, reply.text);
    const id = String(reply.json["id"]);
    const children = await until("the fallback is told", () => {
      const found = endpoint.calls.filter((call) => messageOf(call)?.["fallback_of"] === id);
      return found.length > 0 ? found : undefined;
    });
    assertWithin(children, parent);
  });

  test("of a message that is redacted is taken out with the rest", async () => {
    const parent = newParent();
    const reply = await post(customer, "/v1/messages", sms(), { traceparent: parent.traceparent });
    const id = String(reply.json["id"]);
    await about(id, 4);
    const stored = (): Promise<{ trace: string | null }[]> =>
      godwit.rows("select trace from messages where trace like $1", [`%${parent.traceId}%`]);
    assert.deepEqual(await stored(), [{ trace: parent.traceparent }]);
    recordOf(await customer.client.messages.redact(id));
    assert.deepEqual(await stored(), []);
  });

  test("before a credential has no effect", async () => {
    const { traceparent, traceId } = newParent();
    const reply = await godwit.request("POST", "/v1/messages", { body: sms(), headers: { traceparent } });
    assert.equal(reply.status, 401);
    assert.ok(!reply.text.includes(traceId) && ![...reply.headers].some(([, value]) => value.includes(traceId)));
    assert.deepEqual(await godwit.rows("select 1 from messages where trace like $1", [`%${traceId}%`]), []);
  });
});

test("a trace outlives refusals of the endpoint and a restart of the service", async () => {
  await using hook = await Hook.listen();
  const first = await startGodwit({ ...WITH_WEBHOOKS, asProcess: true });
  const customer = await Customer.of(first);
  const endpoint = await customer.endpoint(hook, ["message.queued"]);
  hook.behave = () => REFUSED;
  const parent = newParent();
  await post(customer, "/v1/messages", sms(), { traceparent: parent.traceparent });
  await endpoint.heard(1);
  await endpoint.tried(1);
  await endpoint.makeDue();
  await endpoint.heard(2);
  await endpoint.tried(2);
  await first.stop("SIGKILL");
  hook.behave = () => OK;
  await using second = await startGodwit({ ...WITH_WEBHOOKS, databaseUrl: first.databaseUrl });
  await endpoint.at(second).makeDue();
  const calls = await endpoint.heard(3);
  assertWithin(calls, parent);
  assert.equal(new Set(calls.map(({ headers }) => headers["webhook-id"])).size, 1, "one event, told three times");
});
