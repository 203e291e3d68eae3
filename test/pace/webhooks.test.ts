/** How soon endpoints are called, also beside endpoints that hang and beside many retries. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { until, untilListening } from "../support/expect.ts";
import { startGodwit, type Godwit } from "../support/harness.ts";
import { Customer, Hook, messageOf, REFUSED, WITH_WEBHOOKS, type Endpoint } from "../support/webhook-customer.ts";

/** Sent after each other, one event each: how long each took to arrive, in the order of length. */
async function delaysOf(endpoint: Endpoint, count: number): Promise<number[]> {
  const delays: number[] = [];
  for (let index = 0; index < count; index += 1) {
    const { id } = await endpoint.customer.send();
    const sentAt = performance.now();
    const call = await until(`${id} to arrive`, () => endpoint.calls.findLast(({ text }) => text.includes(id)));
    delays.push(Math.max(0, call.at - sentAt));
  }
  return delays.toSorted((a, b) => a - b);
}

const at = (sorted: readonly number[], share: number): number => sorted[Math.floor(sorted.length * share)] ?? Infinity;
// A delay below this is as good as none, whatever it is compared with.
const NEGLIGIBLE_MS = 100;

function assertNotSlower(usual: readonly number[], now: readonly number[]): void {
  const [one, other] = [at(usual, 0.95), at(now, 0.95)];
  assert.ok(other < Math.max(NEGLIGIBLE_MS, 5 * one), `p95 was ${Math.round(one)} ms and is ${Math.round(other)} ms`);
}

describe("two nodes of which one only accepts", () => {
  test("the other is told, and does not wait for its next look", async () => {
    await using hook = await Hook.listen();
    await using accepting = await startGodwit({ ...WITH_WEBHOOKS, roles: "api" });
    await using telling = await startGodwit({ ...WITH_WEBHOOKS, roles: "webhooks", databaseUrl: accepting.databaseUrl });
    const endpoint = await (await Customer.of(accepting)).endpoint(hook);
    await untilListening(telling);
    const delays = await delaysOf(endpoint, 15);
    // A node that looks once a second is half a second late in the middle.
    assert.ok(at(delays, 0.5) < 200, delays.map(Math.round).join(" "));
  });
});

describe("one beside many", () => {
  let godwit: Godwit;
  before(async () => {
    godwit = await startGodwit({ ...WITH_WEBHOOKS, roles: "api,webhooks" });
  });
  after(() => godwit.stop());

  test("ten that hang, with a backlog each, do not delay one that answers", async () => {
    await using hook = await Hook.listen();
    const dead = await Promise.all(Array.from({ length: 10 }, () => Hook.listen()));
    for (const each of dead) each.behave = () => null;
    try {
      const [wretched, healthy] = [await Customer.of(godwit), await Customer.of(godwit)];
      const endpoint = await healthy.endpoint(hook, ["message.queued"]);
      const usual = await delaysOf(endpoint, 40);
      await Promise.all(dead.map((each) => wretched.endpoint(each, ["message.queued"])));
      for (let turn = 0; turn < 6; turn += 1) await Promise.all(Array.from({ length: 50 }, () => wretched.send()));
      await until("all of them to hang", () => dead.every(({ calls }) => calls.length >= 2) || undefined);
      assertNotSlower(usual, await delaysOf(endpoint, 40));
    } finally {
      await Promise.all(dead.map((each) => each[Symbol.asyncDispose]()));
    }
  });

  test("twenty thousand retries of one endpoint that are not due do not slow another's new deliveries", async () => {
    await using hook = await Hook.listen();
    const customer = await Customer.of(godwit);
    const [laden, other] = [await customer.endpoint(hook, ["message.queued"]), await customer.endpoint(hook, ["message.queued"])];
    const usual = await delaysOf(other, 40);
    await godwit.rows(
      `insert into webhook_queue (id, account_id, environment, endpoint_id, event_id, is_retry, attempts, due_at)
       select gen_random_uuid(), account_id, environment, id, gen_random_uuid(), true, 1, now() + interval '1 hour'
         from webhook_endpoints, generate_series(1, 20000)
        where id = $1`,
      [laden.uuid],
    );
    assertNotSlower(usual, await delaysOf(other, 40));
  });

  test("an endpoint that fails is tried with what is new, though much is due again", async () => {
    await using hook = await Hook.listen();
    const endpoint = await (await Customer.of(godwit)).endpoint(hook, ["message.queued"]);
    hook.behave = () => REFUSED;
    await Promise.all(Array.from({ length: 60 }, () => endpoint.customer.send()));
    await until(
      "all to have failed",
      async () => (await endpoint.queue()).filter(({ attempts }) => attempts === 1).length === 60 || undefined,
    );
    // Two at a time, which hardly ever end together.
    hook.behave = async () => {
      await new Promise((resolve) => setTimeout(resolve, 300 + ((endpoint.calls.length * 67) % 200)));
      return REFUSED;
    };
    await endpoint.makeDue();
    await endpoint.heard(64);
    const message = await endpoint.customer.send();
    await until("the new one to come", () => endpoint.calls.find((call) => messageOf(call)["id"] === message.id), 1_500);
    await endpoint.delete();
  });
});
