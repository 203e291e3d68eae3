/** The speed of webhooks, also beside endpoints that hang and beside many retries. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { until, untilListening } from "../support/expect.ts";
import { startGodwit, type Godwit } from "../support/harness.ts";
import { Customer, WITH_WEBHOOKS, type Endpoint } from "../support/webhook-customer.ts";
import { Hook, messageOf, REFUSED } from "../support/hook-server.ts";

/** Sends one event after the other, and returns the sorted times until each arrived. */
async function delaysOf(endpoint: Endpoint, count: number): Promise<number[]> {
  const delays: number[] = [];
  for (let index = 0; index < count; index += 1) {
    const { id } = await endpoint.customer.send();
    const sentAt = performance.now();
    const call = await until(`${id} arrives`, () => endpoint.calls.findLast(({ text }) => text.includes(id)));
    delays.push(Math.max(0, call.at - sentAt));
  }
  return delays.toSorted((a, b) => a - b);
}

const at = (sorted: readonly number[], share: number): number => sorted[Math.floor(sorted.length * share)] ?? Infinity;
// A delay below this limit always passes, regardless of the comparison.
const NEGLIGIBLE_MS = 100;

function assertNotSlower(usual: readonly number[], now: readonly number[]): void {
  const [one, other] = [at(usual, 0.95), at(now, 0.95)];
  assert.ok(other < Math.max(NEGLIGIBLE_MS, 5 * one), `p95 was ${Math.round(one)} ms and is ${Math.round(other)} ms`);
}

describe("two nodes of which one only accepts messages", () => {
  test("notify each other, so that the other node does not wait for its next poll", async () => {
    await using hook = await Hook.listen();
    await using accepting = await startGodwit({ ...WITH_WEBHOOKS, roles: "api" });
    await using notifying = await startGodwit({ ...WITH_WEBHOOKS, roles: "webhooks", databaseUrl: accepting.databaseUrl });
    const endpoint = await (await Customer.of(accepting)).endpoint(hook);
    await untilListening(notifying);
    const delays = await delaysOf(endpoint, 15);
    // The median delay of a node that polls once a second is half a second.
    assert.ok(at(delays, 0.5) < 200, delays.map(Math.round).join(" "));
  });
});

describe("one endpoint beside many", () => {
  let godwit: Godwit;
  before(async () => {
    godwit = await startGodwit({ ...WITH_WEBHOOKS, roles: "api,webhooks" });
  });
  after(() => godwit.stop());

  test("is not delayed by ten others that hang, with a backlog each", async () => {
    await using hook = await Hook.listen();
    const dead = await Promise.all(Array.from({ length: 10 }, () => Hook.listen()));
    for (const each of dead) each.behave = () => null;
    try {
      const [blocked, healthy] = [await Customer.of(godwit), await Customer.of(godwit)];
      const endpoint = await healthy.endpoint(hook, ["message.queued"]);
      const usual = await delaysOf(endpoint, 40);
      await Promise.all(dead.map((each) => blocked.endpoint(each, ["message.queued"])));
      for (let turn = 0; turn < 6; turn += 1) await Promise.all(Array.from({ length: 50 }, () => blocked.send()));
      await until("all of them hang", () => dead.every(({ calls }) => calls.length >= 2) || undefined);
      assertNotSlower(usual, await delaysOf(endpoint, 40));
    } finally {
      await Promise.all(dead.map((each) => each[Symbol.asyncDispose]()));
    }
  });

  test("is not delayed by twenty thousand retries of another endpoint that are not due", async () => {
    await using hook = await Hook.listen();
    const customer = await Customer.of(godwit);
    const [burdened, other] = [await customer.endpoint(hook, ["message.queued"]), await customer.endpoint(hook, ["message.queued"])];
    const usual = await delaysOf(other, 40);
    await godwit.rows(
      `insert into webhook_queue (id, account_id, environment, endpoint_id, event_id, is_retry, attempts, due_at)
       select gen_random_uuid(), account_id, environment, id, gen_random_uuid(), true, 1, now() + interval '1 hour'
         from webhook_endpoints, generate_series(1, 20000)
        where id = $1`,
      [burdened.uuid],
    );
    assertNotSlower(usual, await delaysOf(other, 40));
  });

  test("that fails receives new events, although many retries are due", async () => {
    await using hook = await Hook.listen();
    const endpoint = await (await Customer.of(godwit)).endpoint(hook, ["message.queued"]);
    hook.behave = () => REFUSED;
    await Promise.all(Array.from({ length: 60 }, () => endpoint.customer.send()));
    await until(
      "all deliveries have failed once",
      async () => (await endpoint.queue()).filter(({ attempts }) => attempts === 1).length === 60 || undefined,
    );
    // The endpoint processes two calls at a time, which rarely end together.
    hook.behave = async () => {
      await new Promise((resolve) => setTimeout(resolve, 300 + ((endpoint.calls.length * 67) % 200)));
      return REFUSED;
    };
    await endpoint.makeDue();
    await endpoint.received(64);
    const message = await endpoint.customer.send();
    await until("the new event arrives", () => endpoint.calls.find((call) => messageOf(call)["id"] === message.id), 1_500);
    await endpoint.client.remove(endpoint.id);
  });
});
