/** Webhook deliveries that were handed over in memory, while their process dies, is stopped, or has another one beside it. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { NEVER_MS, until } from "../support/expect.ts";
import { startGodwit } from "../support/harness.ts";
import { Hook, idsOf, messageOf, OK } from "../support/hook-server.ts";
import { Customer, WITH_WEBHOOKS, type Endpoint } from "../support/webhook-customer.ts";

// Another node takes the deliveries of a dead one after seconds.
const SHORT = { webhookLeaseMs: 5_000, webhookCallMs: 3_000 };
const ONE = { ...WITH_WEBHOOKS, roles: "api,webhooks", isOneProcess: true };

async function sendMany(customers: readonly Customer[], count: number): Promise<string[]> {
  const ids: string[] = [];
  for (let index = 0; index < count; index += 1) ids.push((await (customers[index % customers.length] as Customer).send()).id);
  return ids;
}

const messagesAt = ({ calls }: Endpoint): Set<unknown> =>
  new Set(calls.filter(({ event }) => event.type === "message.queued").map((call) => messageOf(call)["id"]));

async function provenEndpoint(customer: Customer, hook: Hook): Promise<Endpoint> {
  const endpoint = await customer.endpoint(hook, ["message.queued"]);
  await endpoint.test();
  await endpoint.idle();
  return endpoint;
}

describe("deliveries that are handed over", { concurrency: 3 }, () => {
  test("and wait for their calls when the process is killed arrive from another process after their leases", async (context) => {
    await using hook = await Hook.listen();
    const godwit = await startGodwit({ ...ONE, asProcess: true, timings: SHORT });
    const customer = await Customer.of(godwit);
    const endpoint = await provenEndpoint(customer, hook);
    hook.behave = () => null;
    const ids = (await Promise.all(Array.from({ length: 8 }, () => customer.send()))).map(({ id }) => id);
    // Four calls may run at a time, and the others wait for them.
    await until("the calls to begin", () => endpoint.calls.length >= 3 || undefined);
    const leased = (await endpoint.queue()).filter(({ due_in_ms: ms }) => ms > 0);
    context.diagnostic(`${leased.length} deliveries are leased, and ${endpoint.calls.length - 1} called`);
    await godwit.stop("SIGKILL");
    hook.behave = () => OK;
    await using next = await startGodwit({ ...ONE, databaseUrl: godwit.databaseUrl, timings: SHORT });
    await endpoint.at(next).idle();
    assert.deepEqual(messagesAt(endpoint), new Set(ids));
  });

  test("return to the queue when the process is stopped, and each event arrives once", async () => {
    await using hook = await Hook.listen();
    // The leases of the stopped process would not expire before the end of the test.
    const godwit = await startGodwit({ ...ONE, asProcess: true, timings: { webhookLeaseMs: NEVER_MS } });
    const customer = await Customer.of(godwit);
    const endpoint = await provenEndpoint(customer, hook);
    hook.behave = () => sleep(500, OK);
    const ids = await sendMany([customer], 12);
    assert.equal(await godwit.stop(), 0);
    await using next = await startGodwit({ ...ONE, databaseUrl: godwit.databaseUrl });
    await endpoint.at(next).idle();
    assert.deepEqual(messagesAt(endpoint), new Set(ids));
    assert.equal(new Set(idsOf(endpoint.calls)).size, endpoint.calls.length, "nothing arrives twice");
  });

  test("by two nodes that both accept arrive once", async () => {
    await using hook = await Hook.listen();
    await using first = await startGodwit(ONE);
    await using second = await startGodwit({ ...ONE, databaseUrl: first.databaseUrl });
    const customer = await Customer.of(first);
    const endpoint = await provenEndpoint(customer, hook);
    hook.behave = () => sleep(3, OK);
    const ids = await sendMany([customer, customer.at(second)], 100);
    await endpoint.idle();
    assert.deepEqual(messagesAt(endpoint), new Set(ids));
    assert.equal(new Set(idsOf(endpoint.calls)).size, endpoint.calls.length, "nothing arrives twice");
  });
});
