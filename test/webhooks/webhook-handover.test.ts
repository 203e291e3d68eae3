/** The handover of webhook deliveries in memory: the statement that stores an event leases its deliveries to the process that calls. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { until } from "../support/expect.ts";
import { startGodwit, type Godwit } from "../support/harness.ts";
import { Hook, OK, type HookResponse } from "../support/hook-server.ts";
import { HELD_BODY, holdAccepts } from "../support/locks.ts";
import { Customer, WITH_WEBHOOKS, type Endpoint } from "../support/webhook-customer.ts";

let godwit: Godwit;
let hook: Hook;
before(async () => {
  // One process, so that the endpoint is known to the one that accepts.
  [godwit, hook] = await Promise.all([startGodwit({ ...WITH_WEBHOOKS, roles: "api,webhooks", isOneProcess: true }), Hook.listen()]);
});
after(async () => {
  await godwit.stop();
  await hook[Symbol.asyncDispose]();
});

/** An endpoint that has responded once. Its next deliveries are handed over. */
async function provenEndpoint(customer: Customer): Promise<Endpoint> {
  const endpoint = await customer.endpoint(hook, ["message.queued"]);
  await endpoint.test();
  await endpoint.idle();
  return endpoint;
}

/** Lets the calls at the path wait until the function that this returns is called. */
function hold({ path }: Endpoint): () => void {
  const held = Promise.withResolvers<HookResponse>();
  hook.behave = (call) => (call.path === path ? held.promise : OK);
  return () => held.resolve(OK);
}

/** Whether the statement that stored the event has written the row of its delivery, and whether the row has a lease. */
const rowOf = async ({ uuid }: Endpoint): Promise<{ is_of_event: boolean; is_leased: boolean } | undefined> => {
  const rows = await godwit.rows<{ is_of_event: boolean; is_leased: boolean }>(
    `select q.xmin = e.xmin as is_of_event, q.due_at > now() as is_leased
       from webhook_queue q
       join events e on e.id = q.event_id
      where q.endpoint_id = $1`,
    [uuid],
  );
  return rows[0];
};

test("the first delivery of an endpoint is claimed, and the following ones are leased by the statement that stores their event", async () => {
  const customer = await Customer.of(godwit);
  const endpoint = await customer.endpoint(hook, ["message.queued"]);
  const seen = [];
  for (let count = 1; count <= 2; count += 1) {
    const respond = hold(endpoint);
    await customer.send();
    await endpoint.received(count);
    seen.push(await rowOf(endpoint));
    respond();
    await endpoint.idle();
  }
  assert.deepEqual(seen, [
    { is_of_event: false, is_leased: true },
    { is_of_event: true, is_leased: true },
  ]);
  const deliveries = await endpoint.deliveries();
  assert.deepEqual(
    deliveries.map(({ status, attempts }) => [status, attempts.length]),
    [
      ["succeeded", 1],
      ["succeeded", 1],
    ],
  );
});

test("an endpoint that is disabled between the statement of an event and its call gets no call", async () => {
  const customer = await Customer.of(godwit);
  const endpoint = await provenEndpoint(customer);
  await using lock = await holdAccepts(godwit.databaseUrl);
  const sending = customer.send({ body: HELD_BODY });
  await lock.waiting();
  await endpoint.edit({ status: "disabled" });
  await lock.release();
  const { id } = await sending;
  const delivery = await until("the outcome of the delivery", async () =>
    (await endpoint.deliveries()).find(({ event_type: type }) => type === "message.queued"),
  );
  assert.deepEqual([delivery.status, delivery.attempts], ["failed", []]);
  assert.equal(endpoint.calls.filter(({ text }) => text.includes(id)).length, 0);
});

test("a URL that changes between the statement of an event and its call is called", async () => {
  const customer = await Customer.of(godwit);
  const endpoint = await provenEndpoint(customer);
  await using lock = await holdAccepts(godwit.databaseUrl);
  const sending = customer.send({ body: HELD_BODY });
  await lock.waiting();
  await endpoint.edit({ url: hook.url(`${endpoint.path}/moved`) });
  await lock.release();
  const { id } = await sending;
  await until("the call at the new URL", () => hook.at(`${endpoint.path}/moved`).find(({ text }) => text.includes(id)));
});

test("an endpoint whose limit is reached gets no more handed over, and another one of the account gets all of its deliveries", async () => {
  const customer = await Customer.of(godwit);
  const [slow, other] = [await provenEndpoint(customer), await provenEndpoint(customer)];
  const respond = hold(slow);
  const messages = [];
  for (let count = 0; count < 20; count += 1) messages.push(await customer.send());
  await other.received(21);
  const waiting = await slow.queue();
  assert.equal(waiting.length, 20);
  assert.ok(
    waiting.some(({ due_in_ms: ms }) => ms <= 0),
    "some wait for a claim",
  );
  respond();
  await slow.received(21);
  await slow.idle();
  const heard = new Set(slow.calls.map(({ event }) => event.id));
  assert.equal(heard.size, 21, "each event arrived once");
  assert.deepEqual(await slow.queue(), []);
  assert.ok(messages.every(({ id }) => slow.calls.some(({ text }) => text.includes(id))));
});
