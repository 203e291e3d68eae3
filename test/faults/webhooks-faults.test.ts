/** Webhooks while processes die, the database goes away and receivers hang: every event arrives, and nobody waits for another. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, describe, test, type TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { encodeId, type EventId } from "../../src/lib/id.ts";
import { within } from "../../src/lib/wait.ts";
import { DatabaseWire } from "../support/database-wire.ts";
import { LIMIT_MS, NEVER_MS, until, untilListening } from "../support/expect.ts";
import { ERROR, startGodwit, type Godwit, type StartOptions } from "../support/harness.ts";
import { readMetrics, seriesOf } from "../support/metrics-text.ts";
import { allowConnections, cutConnections } from "../support/outage.ts";
import { Customer, Hook, idsOf, messageOf, OK, verify, WITH_WEBHOOKS, type Endpoint } from "../support/webhook-customer.ts";

/** A node whose messages stay where they are: each is one event, and that is told when a node comes that tells. */
const startAccepting = (): Promise<Godwit> => startGodwit({ ...WITH_WEBHOOKS, roles: "api" });

const startWebhooks = (databaseUrl: string | undefined, timings: StartOptions["timings"] = {}): Promise<Godwit> =>
  startGodwit({ ...WITH_WEBHOOKS, roles: "webhooks", databaseUrl, timings });

// What a node had in hand when it died is another's after seconds.
const SHORT = { webhookLeaseMs: 5_000, webhookCallMs: 3_000, queueLeaseMs: 3_000 };

async function sendMany(customer: Customer, count: number): Promise<string[]> {
  const ids: string[] = [];
  while (ids.length < count) {
    const turn = Array.from({ length: Math.min(50, count - ids.length) }, () => customer.send());
    ids.push(...(await Promise.all(turn)).map(({ id }) => id));
  }
  return ids;
}

/** All events of messages that there are. */
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

/** Sent after each other, one event each: how long each took to arrive, in the order of length. */
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

// Mostly they wait for leases to be over, and that they can do together.
describe("no event is lost", { concurrency: 3 }, () => {
  test("when the process is killed in mid-delivery: after a restart every event has arrived, and nothing waits any more", async (context) => {
    await using hook = await Hook.listen();
    const godwit = await startGodwit({ ...WITH_WEBHOOKS, asProcess: true, timings: SHORT });
    const { databaseUrl } = godwit;
    const customer = await Customer.of(godwit);
    const endpoint = await customer.endpoint(hook);
    hook.behave = () => sleep(5, OK);
    const sending = sendMany(customer, 400).catch(() => []);
    await until("some to have arrived", () => (hook.calls.length >= 300 ? true : undefined));
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
    assert.ok(callsBefore < events.length, "the kill came in the middle");
    assert.deepEqual(missing(events, endpoint), []);
    assert.ok(repeated(endpoint) <= 200, `${repeated(endpoint)} came twice: more than were in hand`);
    for (const call of endpoint.calls.slice(-20)) verify(call, endpoint.secret);
  });

  test("when the database is away for seconds in mid-delivery: each event arrives, and the service lives on", async (context) => {
    await using hook = await Hook.listen();
    await using accepting = await startAccepting();
    const customer = await Customer.of(accepting);
    const endpoint = await customer.endpoint(hook);
    const wire = await DatabaseWire.to(accepting.databaseUrl as string);
    const allow = (isAllowed: boolean) => allowConnections(accepting.databaseUrl, isAllowed);
    let telling: Godwit | undefined;
    try {
      const ids = await sendMany(customer, 600);
      hook.behave = () => sleep(20, OK);
      telling = await startWebhooks(wire.url, SHORT);
      await endpoint.heard(150);
      await allow(false);
      wire.cutAll();
      await sleep(2_500);
      const away = hook.calls.length;
      await allow(true);
      await endpoint.idle();
      context.diagnostic(`${away} calls before it was back, ${repeated(endpoint)} repeated`);
      assert.ok(away < 600);
      assert.deepEqual(new Set(endpoint.calls.map((call) => messageOf(call)["id"])), new Set(ids));
      assert.ok(repeated(endpoint) <= 200, `${repeated(endpoint)} came twice`);
      const records = await accepting.rows<{ status: string; count: number }>(
        "select status, count(*)::integer as count from webhook_deliveries group by status",
      );
      assert.deepEqual(records, [{ status: "succeeded", count: 600 }]);
      assert.equal((await endpoint.record())["failing_since"], null);
      assert.equal((await telling.request("GET", "/readyz")).status, 200);
    } finally {
      await allow(true);
      await telling?.stop();
      await wire.close();
    }
  });

  test("when the process is told to stop while a receiver hangs: it ends in time, and the delivery is sent again and no failure", async (context) => {
    await using hook = await Hook.listen();
    // Its lease would not be over before the end of the test.
    const godwit = await startGodwit({ ...WITH_WEBHOOKS, asProcess: true, timings: { webhookLeaseMs: NEVER_MS } });
    const { databaseUrl } = godwit;
    const customer = await Customer.of(godwit);
    const endpoint = await customer.endpoint(hook, ["message.queued"]);
    hook.behave = () => null;
    await customer.send();
    await endpoint.heard(1);
    const startedAt = performance.now();
    const code = await within(godwit.stop(), LIMIT_MS);
    context.diagnostic(`stopped in ${Math.round(performance.now() - startedAt)} ms`);
    assert.equal(code, 0);
    hook.behave = () => OK;
    await using next = await startGodwit({ ...WITH_WEBHOOKS, databaseUrl });
    const again = endpoint.at(next);
    const [first, second] = await endpoint.heard(2);
    assert.equal(first?.event.id, second?.event.id);
    const delivery = await again.tried(1);
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
        assert.equal(repeated(endpoint), 0, "nothing failed, so nothing comes twice");
      }
      const shares = await Promise.all(nodes.map((node) => attemptsOf(node, "succeeded")));
      context.diagnostic(`${shares.join(" and ")} by the two`);
      assert.equal(
        shares.reduce((sum, share) => sum + share, 0),
        ids.length * endpoints.length,
      );
      for (const share of shares) assert.ok(share > 100, `one of them did ${share}`);
      const errors = nodes.flatMap(({ logs }) => logs.filter(({ level }) => level === ERROR));
      assert.deepEqual(errors, []);
    } finally {
      for (const node of nodes) assert.equal(await node.stop(), 0);
    }
  });

  test("of which one only accepts: the other is told, and does not wait for its next look", async () => {
    await using hook = await Hook.listen();
    await using accepting = await startAccepting();
    await using telling = await startWebhooks(accepting.databaseUrl, { webhookPollMs: NEVER_MS });
    const endpoint = await (await Customer.of(accepting)).endpoint(hook);
    await untilListening(telling);
    await sendInTurn(endpoint, 15);
  });

  test("of which one only accepts: without LISTEN the other looks once a second", async () => {
    await using hook = await Hook.listen();
    await using accepting = await startAccepting();
    await using telling = await startWebhooks(accepting.databaseUrl);
    const endpoint = await (await Customer.of(accepting)).endpoint(hook);
    await untilListening(telling);
    // As through a pooler that has no sessions: what is announced is heard by nobody.
    const deafen = setInterval(() => {
      void cutConnections(accepting.databaseUrl, "query like 'listen %'");
    }, 20);
    try {
      const delays = await sendInTurn(endpoint, 4);
      assert.ok((delays.at(-1) ?? 0) > 100, `nobody was deaf: ${delays.map(Math.round).join(" ")}`);
    } finally {
      clearInterval(deafen);
    }
  });
});

describe("a process that is told to stop", () => {
  test("under load gives back what it had only claimed, and nothing comes twice", async () => {
    await using hook = await Hook.listen();
    await using accepting = await startAccepting();
    const customer = await Customer.of(accepting);
    const endpoint = await customer.endpoint(hook);
    const ids = await sendMany(customer, 600);
    hook.behave = () => sleep(20, OK);
    const first = await startWebhooks(accepting.databaseUrl);
    await endpoint.heard(150);
    assert.equal(await first.stop(), 0);
    const left = await endpoint.queue();
    assert.ok(left.length > 0, "it was stopped in the middle");
    assert.deepEqual(
      left.filter(({ due_in_ms: ms }) => ms > 0),
      [],
      "nothing is leased by a process that is gone",
    );
    await using second = await startWebhooks(accepting.databaseUrl);
    await endpoint.idle();
    assert.equal((await second.request("GET", "/readyz")).status, 200);
    assert.deepEqual(new Set(endpoint.calls.map((call) => messageOf(call)["id"])), new Set(ids));
    assert.equal(repeated(endpoint), 0);
  });
});

describe("one beside many", () => {
  let godwit: Godwit;
  before(async () => {
    godwit = await startGodwit({ ...WITH_WEBHOOKS, asProcess: true, roles: "api,webhooks" });
  });
  after(() => godwit.stop());

  const memoryMb = ({ child }: Godwit): number =>
    Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${child.pid}/status`, "utf8"))?.[1] ?? 0) / 1_024;

  /** Retries that are not due: of one endpoint, or of as many that nobody knows more of. */
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

  test("a retry that is due is found among those of two thousand other endpoints that are not", async (context) => {
    await using hook = await Hook.listen();
    const endpoint = await (await Customer.of(godwit)).endpoint(hook, ["message.queued"]);
    hook.behave = () => ({ status: 503, headers: { "retry-after": "3600" } });
    await endpoint.customer.send();
    await endpoint.tried(1);
    await queueRetries(2_000, null);
    for (let tries = 2; tries <= 3; tries += 1) {
      // Long enough for whoever found nothing to be tired of looking.
      await sleep(3_000);
      const startedAt = performance.now();
      await endpoint.makeDue();
      await endpoint.heard(tries);
      context.diagnostic(`found in ${Math.round(performance.now() - startedAt)} ms`);
    }
  });

  test("ten that hang, with a backlog each, do not delay one that answers; memory and sockets stay within bounds", async (context: TestContext) => {
    await using hook = await Hook.listen();
    const dead = await Promise.all(Array.from({ length: 10 }, () => Hook.listen()));
    for (const each of dead) each.behave = () => null;
    try {
      const [wretched, healthy] = [await Customer.of(godwit), await Customer.of(godwit)];
      await Promise.all(dead.map((each) => wretched.endpoint(each, ["message.queued"])));
      const endpoint = await healthy.endpoint(hook, ["message.queued"]);
      await endpoint.test();
      const memoryBefore = memoryMb(godwit);
      await Promise.all([sendMany(wretched, 300), sendMany(healthy, 300)]);
      await until("all of them to hang", () => dead.every(({ calls }) => calls.length >= 2) || undefined);
      await sendInTurn(endpoint, 40);
      assert.ok(
        dead.some(({ waiting }) => waiting > 0),
        "they hang still",
      );
      const open = await Promise.all([hook, ...dead].map((each) => each.connections()));
      context.diagnostic(`${Math.round(memoryBefore)} → ${Math.round(memoryMb(godwit))} MB; ${open.join(" ")} sockets`);
      await until("the healthy one's backlog to be over", () => endpoint.calls.length >= 341 || undefined);
      for (const each of dead) assert.ok(each.mostWaiting <= 2, `${each.mostWaiting} calls at once to one that hangs`);
      // Sixty-four at a time, and as many that were busy a moment ago.
      assert.ok((open[0] ?? Infinity) <= 128, `${open[0]} connections to one that answers`);
      for (const count of open.slice(1)) assert.ok(count <= 2, `${count} connections to one that hangs`);
      assert.ok(memoryMb(godwit) < memoryBefore + 150);
    } finally {
      await Promise.all(dead.map((each) => each[Symbol.asyncDispose]()));
    }
  });

  test("three hundred endpoints are all told of an event, once", async (context) => {
    await using hook = await Hook.listen();
    const endpoints: Endpoint[] = [];
    const customers = [await Customer.of(godwit), await Customer.of(godwit)];
    // An environment may have two hundred and fifty.
    for (const [index, count] of [250, 50].entries()) {
      const customer = customers[index] as Customer;
      for (let made = 0; made < count; made += 25)
        endpoints.push(...(await Promise.all(Array.from({ length: 25 }, () => customer.endpoint(hook, ["message.queued"])))));
    }
    const startedAt = performance.now();
    await Promise.all(customers.map((customer) => customer.send()));
    await until("all to be told", () => hook.calls.length >= 300 || undefined);
    context.diagnostic(`told in ${Math.round(performance.now() - startedAt)} ms`);
    await Promise.all(endpoints.slice(0, 3).map((endpoint) => endpoint.idle()));
    assert.deepEqual(new Set(endpoints.map(({ calls }) => calls.length)), new Set([1]));
    assert.equal(new Set(idsOf(hook.calls)).size, 2);
  });

  test("twenty thousand retries of one endpoint that are not due do not slow another's new deliveries, or its own", async () => {
    await using hook = await Hook.listen();
    const customer = await Customer.of(godwit);
    const [laden, other] = [await customer.endpoint(hook, ["message.queued"]), await customer.endpoint(hook, ["message.queued"])];
    await queueRetries(20_000, laden.uuid);
    await sendInTurn(other, 30);
    await laden.heard(30);
    await until("no new one to be left", async () => (await laden.queue()).length === 20_000 || undefined);
  });
});
