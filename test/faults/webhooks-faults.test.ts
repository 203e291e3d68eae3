/** Webhooks while processes die, the database is lost and receivers hang: every event arrives, and no endpoint delays another. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, describe, test, type TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { encodeId, type EventId } from "../../src/model/id.ts";
import { within } from "../../src/lib/wait.ts";
import { DatabaseWire } from "../support/database-wire.ts";
import { LIMIT_MS, NEVER_MS, until, untilListening } from "../support/expect.ts";
import { ERROR, startGodwit, type Godwit, type StartOptions } from "../support/harness.ts";
import { readMetrics, seriesOf } from "../support/metrics-text.ts";
import { allowConnections, cutConnections } from "../support/outage.ts";
import { Customer, WITH_WEBHOOKS, type Endpoint } from "../support/webhook-customer.ts";
import { Hook, idsOf, messageOf, OK, verify } from "../support/hook-server.ts";

/** A node that does not deliver messages or webhooks: each message is one event, which a later node delivers. */
const startAccepting = (): Promise<Godwit> => startGodwit({ ...WITH_WEBHOOKS, roles: "api" });

const startWebhooks = (databaseUrl: string | undefined, timings: StartOptions["timings"] = {}): Promise<Godwit> =>
  startGodwit({ ...WITH_WEBHOOKS, roles: "webhooks", databaseUrl, timings, isOneProcess: true });

// Another node takes the deliveries of a dead one after seconds.
const SHORT = { webhookLeaseMs: 5_000, webhookCallMs: 3_000, queueLeaseMs: 3_000 };

async function sendMany(customer: Customer, count: number): Promise<string[]> {
  const ids: string[] = [];
  while (ids.length < count) {
    const turn = Array.from({ length: Math.min(50, count - ids.length) }, () => customer.send());
    ids.push(...(await Promise.all(turn)).map(({ id }) => id));
  }
  return ids;
}

/** All stored events of messages. */
async function eventsIn(godwit: Godwit): Promise<string[]> {
  const rows = await godwit.rows<{ id: EventId }>(
    "select id from events where record is not null and type like 'message.%' and type <> 'message.redacted' order by id",
  );
  return rows.map(({ id }) => encodeId("evt", id));
}

const missing = (events: readonly string[], { calls }: Pick<Endpoint, "calls">): string[] => {
  const heard = new Set(idsOf(calls));
  return events.filter((id) => !heard.has(id));
};

const repeated = ({ calls }: Pick<Endpoint, "calls">): number => calls.length - new Set(idsOf(calls)).size;

const attemptsOf = async (node: Godwit, outcome: string): Promise<number> =>
  seriesOf(await readMetrics(node), "godwit_webhook_attempts_total")[`{outcome="${outcome}"}`] ?? 0;

/** Sends messages one after the other. Returns the times until their events arrived, shortest first. */
async function sendInTurn(endpoint: Endpoint, count: number): Promise<number[]> {
  const delays: number[] = [];
  for (let index = 0; index < count; index += 1) {
    const { id } = await endpoint.customer.send();
    const sentAt = performance.now();
    const call = await until(`${id} to arrive`, () => endpoint.calls.findLast(({ text }) => text.includes(id)));
    delays.push(Math.max(0, call.at - sentAt));
  }
  return delays.toSorted((a, b) => a - b);
}

// The tests mostly wait for leases to expire, so they wait together.
describe("no event is lost", { concurrency: 3 }, () => {
  test("when the process is killed during delivery: after a restart every event has arrived, and nothing waits any more", async (context) => {
    await using hook = await Hook.listen();
    const godwit = await startGodwit({ ...WITH_WEBHOOKS, asProcess: true, timings: SHORT });
    const { databaseUrl } = godwit;
    const customer = await Customer.of(godwit);
    const endpoint = await customer.endpoint(hook);
    hook.behave = () => sleep(5, OK);
    const sending = sendMany(customer, 400).catch(() => []);
    await until("some events to have arrived", () => (hook.calls.length >= 300 ? true : undefined));
    await godwit.stop("SIGKILL");
    await sending;
    const callsBefore = hook.calls.length;
    await using next = await startGodwit({ ...WITH_WEBHOOKS, databaseUrl, timings: SHORT });
    await until("every event to be acknowledged", async () => {
      const [left] = await next.rows<{ count: number }>(
        `select (select count(*) from messages where status = 'queued') + (select count(*) from webhook_queue)
                + (select count(*)
                     from events e
                    where e.record is not null
                      and not exists (select from webhook_deliveries d where d.event_id = e.id and d.status = 'succeeded')) as count`,
      );
      return left?.count === 0 ? true : undefined;
    });
    const events = await eventsIn(next);
    context.diagnostic(`${events.length} events, ${callsBefore} calls before the kill, ${repeated(endpoint)} repeated`);
    assert.ok(callsBefore < events.length, "the kill happened during delivery");
    // A message of unknown outcome ends later, with another event.
    await until("every event to arrive", async () => missing(await eventsIn(next), endpoint).length === 0 || undefined);
    assert.ok(repeated(endpoint) <= 200, `${repeated(endpoint)} arrived twice: more than were claimed`);
    for (const call of endpoint.calls.slice(-20)) verify(call, endpoint.secret);
  });

  test("when the database is lost for seconds during delivery: each event arrives, and the service still runs", async (context) => {
    await using hook = await Hook.listen();
    await using accepting = await startAccepting();
    const customer = await Customer.of(accepting);
    const endpoint = await customer.endpoint(hook);
    const wire = await DatabaseWire.to(accepting.databaseUrl as string);
    const allow = (isAllowed: boolean) => allowConnections(accepting.databaseUrl, isAllowed);
    let calling: Godwit | undefined;
    try {
      const ids = await sendMany(customer, 600);
      hook.behave = () => sleep(20, OK);
      calling = await startWebhooks(wire.url, SHORT);
      await endpoint.received(75);
      await allow(false);
      wire.cutAll();
      await sleep(2_500);
      const away = hook.calls.length;
      await allow(true);
      await endpoint.idle();
      context.diagnostic(`${away} calls before the recovery, ${repeated(endpoint)} repeated`);
      assert.ok(away < 600);
      assert.deepEqual(new Set(endpoint.calls.map((call) => messageOf(call)["id"])), new Set(ids));
      assert.ok(repeated(endpoint) <= 200, `${repeated(endpoint)} arrived twice`);
      const records = await accepting.rows<{ status: string; count: number }>(
        "select status, count(*)::integer as count from webhook_deliveries group by status",
      );
      assert.deepEqual(records, [{ status: "succeeded", count: 600 }]);
      assert.equal((await endpoint.record())["failing_since"], null);
      assert.equal((await calling.request("GET", "/readyz")).status, 200);
    } finally {
      await allow(true);
      await calling?.stop();
      await wire.close();
    }
  });

  test("when the process is stopped while a receiver hangs: it exits in time, and the delivery is sent again without a failure", async (context) => {
    await using hook = await Hook.listen();
    // The lease would not expire before the end of the test.
    const godwit = await startGodwit({ ...WITH_WEBHOOKS, asProcess: true, timings: { webhookLeaseMs: NEVER_MS } });
    const { databaseUrl } = godwit;
    const customer = await Customer.of(godwit);
    const endpoint = await customer.endpoint(hook, ["message.queued"]);
    hook.behave = () => null;
    await customer.send();
    await endpoint.received(1);
    const startedAt = performance.now();
    const code = await within(godwit.stop(), LIMIT_MS);
    context.diagnostic(`stopped in ${Math.round(performance.now() - startedAt)} ms`);
    assert.equal(code, 0);
    hook.behave = () => OK;
    await using next = await startGodwit({ ...WITH_WEBHOOKS, databaseUrl });
    const again = endpoint.at(next);
    const [first, second] = await endpoint.received(2);
    assert.equal(first?.event.id, second?.event.id);
    const delivery = await again.attempted(1);
    assert.equal(delivery.status, "succeeded");
    assert.equal((await again.record())["failing_since"], null);
    await again.idle();
  });
});

describe("two nodes", () => {
  test("share the work, and each event arrives once", async (context) => {
    await using hook = await Hook.listen();
    hook.behave = () => sleep(3, OK);
    await using accepting = await startAccepting();
    const customer = await Customer.of(accepting);
    const endpoints = await Promise.all(Array.from({ length: 6 }, () => customer.endpoint(hook)));
    const ids = await sendMany(customer, 150);
    const nodes = await Promise.all([startWebhooks(accepting.databaseUrl), startWebhooks(accepting.databaseUrl)]);
    try {
      ids.push(...(await sendMany(customer, 150)));
      for (const endpoint of endpoints) await endpoint.idle();
      for (const endpoint of endpoints) {
        assert.deepEqual(new Set(endpoint.calls.map((call) => messageOf(call)["id"])), new Set(ids));
        assert.equal(repeated(endpoint), 0, "nothing failed, so nothing arrives twice");
      }
      const shares = await Promise.all(nodes.map((node) => attemptsOf(node, "succeeded")));
      context.diagnostic(`${shares.join(" and ")} by the two`);
      assert.equal(
        shares.reduce((sum, share) => sum + share, 0),
        ids.length * endpoints.length,
      );
      for (const share of shares) assert.ok(share > 0, "one node has delivered nothing");
      const errors = nodes.flatMap(({ logs }) => logs.filter(({ level }) => level === ERROR));
      assert.deepEqual(errors, []);
    } finally {
      for (const node of nodes) assert.equal(await node.stop(), 0);
    }
  });

  test("of which one only accepts: the other is notified and does not wait for its next poll", async () => {
    await using hook = await Hook.listen();
    await using accepting = await startAccepting();
    await using calling = await startWebhooks(accepting.databaseUrl, { webhookPollMs: NEVER_MS });
    const endpoint = await (await Customer.of(accepting)).endpoint(hook);
    await untilListening(calling);
    await sendInTurn(endpoint, 15);
  });

  test("of which one only accepts: without LISTEN the other polls once a second", async () => {
    await using hook = await Hook.listen();
    await using accepting = await startAccepting();
    await using calling = await startWebhooks(accepting.databaseUrl);
    const endpoint = await (await Customer.of(accepting)).endpoint(hook);
    await untilListening(calling);
    // Like a pooler without sessions: announcements reach no listener.
    const deafen = setInterval(() => {
      void cutConnections(accepting.databaseUrl, "query like 'listen %'");
    }, 20);
    try {
      const delays = await sendInTurn(endpoint, 4);
      assert.ok((delays.at(-1) ?? 0) > 100, `announcements were received: ${delays.map(Math.round).join(" ")}`);
    } finally {
      clearInterval(deafen);
    }
  });
});

describe("a process that is stopped", () => {
  test("under load returns deliveries that are only claimed, and nothing arrives twice", async () => {
    await using hook = await Hook.listen();
    await using accepting = await startAccepting();
    const customer = await Customer.of(accepting);
    const endpoint = await customer.endpoint(hook);
    const ids = await sendMany(customer, 300);
    hook.behave = () => sleep(20, OK);
    const first = await startWebhooks(accepting.databaseUrl);
    await endpoint.received(75);
    assert.equal(await first.stop(), 0);
    const left = await endpoint.queue();
    assert.ok(left.length > 0, "the process was stopped during delivery");
    assert.deepEqual(
      left.filter(({ due_in_ms: ms }) => ms > 0),
      [],
      "the stopped process has no leases",
    );
    await using second = await startWebhooks(accepting.databaseUrl);
    await endpoint.idle();
    assert.equal((await second.request("GET", "/readyz")).status, 200);
    assert.deepEqual(new Set(endpoint.calls.map((call) => messageOf(call)["id"])), new Set(ids));
    assert.equal(repeated(endpoint), 0);
  });
});

describe("one endpoint among many", () => {
  let godwit: Godwit;
  before(async () => {
    godwit = await startGodwit({ ...WITH_WEBHOOKS, asProcess: true, isOneProcess: true, roles: "api,webhooks" });
  });
  after(() => godwit.stop());

  const memoryMb = ({ child }: Godwit): number =>
    Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${child.pid}/status`, "utf8"))?.[1] ?? 0) / 1_024;

  /** Stores retries that are not due: of one endpoint, or of the same number of unknown endpoints. */
  const queueRetries = (count: number, endpointId: string | null): Promise<unknown> =>
    godwit.rows(
      `with made as (
         insert into webhook_endpoints (account_id, environment, id, url, event_types, status, secret, updated_at)
         select gen_random_uuid(), 'test', gen_random_uuid(), 'https://example.com', '{}', 'enabled', '', now()
           from generate_series(1, $1)
          where $2::uuid is null
         returning account_id, environment, id
       ), owner as (
         select account_id, environment, id from made
         union all
         select account_id, environment, id from webhook_endpoints, generate_series(1, $1) where id = $2
       )
       insert into webhook_queue (id, account_id, environment, endpoint_id, event_id, is_retry, attempts, due_at)
       select gen_random_uuid(), account_id, environment, id, gen_random_uuid(), true, 1, now() + interval '1 hour'
         from owner`,
      [count, endpointId],
    );

  test("has its due retry found among those of two thousand other endpoints that are not due", async (context) => {
    await using hook = await Hook.listen();
    const endpoint = await (await Customer.of(godwit)).endpoint(hook, ["message.queued"]);
    hook.behave = () => ({ status: 503, headers: { "retry-after": "3600" } });
    await endpoint.customer.send();
    await endpoint.attempted(1);
    await queueRetries(2_000, null);
    for (let attempts = 2; attempts <= 3; attempts += 1) {
      // Long enough for a worker that found nothing to poll rarely.
      await sleep(3_000);
      const startedAt = performance.now();
      await endpoint.makeDue();
      await endpoint.received(attempts);
      context.diagnostic(`found in ${Math.round(performance.now() - startedAt)} ms`);
    }
  });

  test("is not delayed by ten that hang with a backlog each, and memory and sockets stay within bounds", async (context: TestContext) => {
    await using hook = await Hook.listen();
    const dead = await Promise.all(Array.from({ length: 10 }, () => Hook.listen()));
    for (const each of dead) each.behave = () => null;
    try {
      const [wretched, healthy] = [await Customer.of(godwit), await Customer.of(godwit)];
      await Promise.all(dead.map((each) => wretched.endpoint(each, ["message.queued"])));
      const endpoint = await healthy.endpoint(hook, ["message.queued"]);
      await endpoint.test();
      const memoryBefore = memoryMb(godwit);
      await Promise.all([sendMany(wretched, 150), sendMany(healthy, 150)]);
      await until("all ten to hang", () => dead.every(({ calls }) => calls.length >= 2) || undefined);
      await sendInTurn(endpoint, 40);
      assert.ok(
        dead.some(({ waiting }) => waiting > 0),
        "the ten still hang",
      );
      const open = await Promise.all([hook, ...dead].map((each) => each.connections()));
      context.diagnostic(`${Math.round(memoryBefore)} → ${Math.round(memoryMb(godwit))} MB; ${open.join(" ")} sockets`);
      await until("the backlog of the healthy endpoint to be delivered", () => endpoint.calls.length >= 191 || undefined);
      for (const each of dead) assert.ok(each.mostWaiting <= 2, `${each.mostWaiting} concurrent calls to one that hangs`);
      // Sixty-four at a time, and as many that were active a moment ago.
      assert.ok((open[0] ?? Infinity) <= 128, `${open[0]} connections to one that responds`);
      for (const count of open.slice(1)) assert.ok(count <= 2, `${count} connections to one that hangs`);
      assert.ok(memoryMb(godwit) < memoryBefore + 150);
    } finally {
      await Promise.all(dead.map((each) => each[Symbol.asyncDispose]()));
    }
  });

  test("is notified of an event once, and so are three hundred", async (context) => {
    await using hook = await Hook.listen();
    const endpoints: Endpoint[] = [];
    const customers = [await Customer.of(godwit), await Customer.of(godwit)];
    // An environment may have two hundred and fifty endpoints.
    for (const [index, count] of [250, 50].entries()) {
      const customer = customers[index] as Customer;
      for (let made = 0; made < count; made += 5)
        endpoints.push(...(await Promise.all(Array.from({ length: 5 }, () => customer.endpoint(hook, ["message.queued"])))));
    }
    const startedAt = performance.now();
    await Promise.all(customers.map((customer) => customer.send()));
    await until("all to be notified", () => hook.calls.length >= 300 || undefined);
    context.diagnostic(`notified in ${Math.round(performance.now() - startedAt)} ms`);
    await Promise.all(endpoints.slice(0, 3).map((endpoint) => endpoint.idle()));
    assert.deepEqual(new Set(endpoints.map(({ calls }) => calls.length)), new Set([1]));
    assert.equal(new Set(idsOf(hook.calls)).size, 2);
  });

  test("with five thousand retries that are not due delays neither another's new deliveries nor its own", async () => {
    await using hook = await Hook.listen();
    const customer = await Customer.of(godwit);
    const [loaded, other] = [await customer.endpoint(hook, ["message.queued"]), await customer.endpoint(hook, ["message.queued"])];
    await queueRetries(5_000, loaded.uuid);
    await sendInTurn(other, 30);
    await loaded.received(30);
    await until("no new delivery to be left", async () => (await loaded.queue()).length === 5_000 || undefined);
  });
});
