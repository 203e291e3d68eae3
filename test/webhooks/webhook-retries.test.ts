/** Failed deliveries of events: retried by the schedule, failed, or retried on request. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { AccountId, DeliveryId, EndpointId, EventId } from "../../src/model/id.ts";
import { storeSettlements } from "../../src/webhooks/queries.ts";
import { until } from "../support/expect.ts";
import { startGodwit, type Godwit } from "../support/harness.ts";
import { Lock } from "../support/locks.ts";
import { readMetrics, seriesOf } from "../support/metrics-text.ts";
import { rowId } from "../support/tables.ts";
import { Customer, WITH_WEBHOOKS, type DeliveryRecord, type Endpoint } from "../support/webhook-customer.ts";
import { Hook, idsOf, messageOf, OK, REFUSED, typesOf, verify, type HookResponse } from "../support/hook-server.ts";

const [SECOND, MINUTE, HOUR] = [1_000, 60_000, 3_600_000];
const DELAYS_MS = [
  5 * SECOND,
  30 * SECOND,
  2 * MINUTE,
  10 * MINUTE,
  30 * MINUTE,
  2 * HOUR,
  5 * HOUR,
  10 * HOUR,
  14 * HOUR,
  20 * HOUR,
  24 * HOUR,
];
const ONE_TYPE = ["message.queued"];
const REFUSED_FOR_AN_HOUR: HookResponse = { status: 503, headers: { "retry-after": "3600" } };

let godwit: Godwit;
let hook: Hook;
/** The responses of endpoints by their paths; the other endpoints respond with 200. */
const answers = new Map<string, HookResponse | null>();
before(async () => {
  [godwit, hook] = await Promise.all([startGodwit({ ...WITH_WEBHOOKS, isOneProcess: true }), Hook.listen()]);
  hook.behave = ({ path }) => {
    const answer = answers.get(path);
    return answer === undefined ? OK : answer;
  };
});
after(async () => {
  await godwit.stop();
  await hook[Symbol.asyncDispose]();
});

const answer = ({ path }: Endpoint, how: HookResponse): unknown => answers.set(path, how);

/** Creates an endpoint of a new customer with this response. */
async function endpointThat(how: HookResponse, types: readonly string[] = ONE_TYPE): Promise<Endpoint> {
  const endpoint = await (await Customer.of(godwit)).endpoint(hook, types);
  answer(endpoint, how);
  return endpoint;
}

/** Sends one event and waits for its first attempt. */
async function attemptedOnce(endpoint: Endpoint): Promise<DeliveryRecord> {
  await endpoint.customer.send();
  return endpoint.attempted(1);
}

/** Returns the time from the last attempt to the due time in the queue, and asserts that the record has the same due time. */
async function waitMsOf(endpoint: Endpoint, { attempts, next_attempt_at: next, updated_at: updated }: DeliveryRecord): Promise<number> {
  const [row, ...more] = await endpoint.queue();
  assert.ok(row !== undefined);
  assert.deepEqual(more, []);
  assert.equal(row.is_retry, true);
  assert.equal(row.attempts, attempts.length);
  assert.ok(Math.abs(Date.parse(next ?? "") - row.due_at_ms) < 2, `${next} and ${new Date(row.due_at_ms).toISOString()}`);
  return row.due_at_ms - Date.parse(updated);
}

function assertAbout(waitMs: number, wantedMs: number): void {
  assert.ok(waitMs >= 0.8 * wantedMs - 10 && waitMs <= 1.2 * wantedMs + 10, `${waitMs} ms, for ${wantedMs} ms`);
}

describe("a failed delivery", () => {
  test("is retried by the schedule with 20% jitter, and has the status failed after twelve attempts", async () => {
    const endpoint = await endpointThat({ status: 500, body: "no room" });
    let delivery = await attemptedOnce(endpoint);
    for (const [index, delay] of DELAYS_MS.entries()) {
      assert.equal(delivery.status, "pending");
      assertAbout(await waitMsOf(endpoint, delivery), delay);
      await endpoint.makeDue();
      delivery = await endpoint.attempted(index + 2);
    }
    assert.equal(delivery.status, "failed");
    assert.equal(delivery.next_attempt_at, null);
    for (const attempt of delivery.attempts) {
      const { response_status: status, response_body: body, error } = attempt;
      assert.deepEqual([status, body, error], [500, "no room", null]);
    }
    assert.deepEqual(await endpoint.queue(), []);
    assert.equal(endpoint.calls.length, 12);
    assert.equal((await endpoint.record())["status"], "enabled", "one failed delivery does not disable the endpoint");
  });

  test("has the same id and body in every attempt, and a new timestamp and signature", async () => {
    const endpoint = await endpointThat(REFUSED);
    await attemptedOnce(endpoint);
    const [first] = endpoint.calls;
    assert.ok(first !== undefined);
    const second = Number(first.headers["webhook-timestamp"]) + 1;
    await until("the next second begins", () => (Date.now() >= second * 1_000 ? true : undefined));
    answer(endpoint, OK);
    await endpoint.makeDue();
    const { status } = await endpoint.attempted(2);
    assert.equal(status, "succeeded");
    const [, again] = endpoint.calls;
    assert.ok(again !== undefined);
    for (const call of [first, again]) verify(call, endpoint.secret);
    assert.equal(again.headers["webhook-id"], first.headers["webhook-id"]);
    assert.equal(again.text, first.text);
    assert.ok(Number(again.headers["webhook-timestamp"]) >= second);
    assert.notEqual(again.headers["webhook-signature"], first.headers["webhook-signature"]);
    await endpoint.idle();
  });

  test("is not retried before it is due", async () => {
    const endpoint = await endpointThat(REFUSED);
    await attemptedOnce(endpoint);
    answer(endpoint, OK);
    await endpoint.test();
    assert.equal(endpoint.calls.length, 2, "the test event does not wait for the retry");
    const [row] = await endpoint.queue();
    assert.ok(row !== undefined && row.due_in_ms > 0);
  });

  const date = (seconds: number): string => new Date(Date.now() + seconds * 1_000).toUTCString();
  const ROWS: readonly (readonly [sentence: string, status: number, retryAfter: () => string, ms: readonly [number, number]])[] = [
    ["429 with a number of seconds", 429, () => "120", [120 * SECOND, 120 * SECOND]],
    ["503 with a number of seconds", 503, () => "3600", [HOUR, HOUR]],
    ["503 with a date", 503, () => date(300), [240 * SECOND, 300 * SECOND]],
    ["429 with less than the delay of the schedule", 429, () => "1", [4 * SECOND, 6 * SECOND]],
    ["503 with more than a day", 503, () => "999999999", [24 * HOUR, 24 * HOUR]],
    ["429 with a date that is years ahead", 429, () => date(10 ** 8), [24 * HOUR, 24 * HOUR]],
    ["429 with a past date", 429, () => date(-3_600), [4 * SECOND, 6 * SECOND]],
    ["429 with an invalid value", 429, () => "soon", [4 * SECOND, 6 * SECOND]],
  ];
  for (const [sentence, status, retryAfter, [least, most]] of ROWS) {
    test(`with ${sentence} is retried after ${least / SECOND} to ${most / SECOND} s`, async () => {
      const endpoint = await endpointThat({ status, headers: { "retry-after": retryAfter() } });
      const delivery = await attemptedOnce(endpoint);
      assert.equal(delivery.attempts[0]?.response_status, status);
      const waitMs = await waitMsOf(endpoint, delivery);
      assert.ok(waitMs >= least - 10 && waitMs <= most + 10, `${waitMs} ms`);
    });
  }

  for (const status of [301, 302, 303, 307, 308, 304, 400, 401, 404]) {
    test(`with ${status} is retried, and a redirect is not followed`, async () => {
      const endpoint = await endpointThat({ status, headers: { location: hook.url("/elsewhere") } });
      const delivery = await attemptedOnce(endpoint);
      assert.equal(delivery.status, "pending");
      assert.equal(delivery.attempts[0]?.response_status, status);
      assertAbout(await waitMsOf(endpoint, delivery), 5 * SECOND);
      assert.equal(endpoint.calls.length, 1);
      assert.deepEqual(hook.at("/elsewhere"), []);
    });
  }

  for (const status of [200, 201, 202, 204, 299]) {
    test(`${status} counts as success and is not retried`, async () => {
      const endpoint = await endpointThat({ status });
      const delivery = await attemptedOnce(endpoint);
      assert.deepEqual([delivery.status, delivery.next_attempt_at], ["succeeded", null]);
      await endpoint.idle();
      assert.equal((await endpoint.record())["failing_since"], null);
    });
  }
});

describe("a failing endpoint", () => {
  const shift = (endpoint: Endpoint, interval: string): Promise<unknown> =>
    godwit.rows("update webhook_endpoints set failing_since = now() - $2::interval where id = $1 and failing_since is not null", [
      endpoint.uuid,
      interval,
    ]);

  test("has failing_since from its first failure until its next success", async () => {
    const endpoint = await endpointThat(REFUSED);
    await attemptedOnce(endpoint);
    const { failing_since: since } = await endpoint.record();
    assert.ok(Math.abs(Date.parse(String(since)) - Date.now()) < 10_000);
    await endpoint.makeDue();
    await endpoint.attempted(2);
    assert.equal((await endpoint.record())["failing_since"], since, "a second failure does not change it");
    answer(endpoint, OK);
    await endpoint.makeDue();
    await endpoint.attempted(3);
    assert.equal((await endpoint.record())["failing_since"], null);
  });

  test("is disabled after five days without success, and other endpoints are notified", async () => {
    const endpoint = await endpointThat(REFUSED);
    const other = await endpoint.customer.endpoint(hook, ["endpoint.*"]);
    await attemptedOnce(endpoint);
    await shift(endpoint, "119 hours");
    await endpoint.makeDue();
    await endpoint.attempted(2);
    assert.equal((await endpoint.record())["status"], "enabled", "the endpoint is still enabled");
    await shift(endpoint, "5 days");
    await endpoint.makeDue();
    const [call] = await other.received(1);
    assert.ok(call !== undefined);
    verify(call, other.secret);
    const record = await endpoint.record();
    assert.deepEqual([record["status"], record["disabled_reason"]], ["disabled", "failing"]);
    assert.equal(call.event.type, "endpoint.disabled");
    assert.deepEqual(call.event.data, { webhook_endpoint: record });
    assert.ok(!call.text.includes("whsec_"));
    const disabled = seriesOf(await readMetrics(godwit), "godwit_webhook_endpoints_disabled_total");
    assert.ok((disabled['{reason="failing"}'] ?? 0) >= 1);
    // The waiting delivery fails without a call.
    await endpoint.makeDue();
    await endpoint.idle();
    assert.equal((await endpoint.attempted(3)).status, "failed");
    assert.equal(endpoint.calls.length, 3);
  });

  test("is not disabled after five days with one success", async () => {
    const endpoint = await endpointThat(REFUSED);
    await attemptedOnce(endpoint);
    await shift(endpoint, "6 days");
    answer(endpoint, OK);
    await endpoint.test();
    await until("failing_since is cleared", async () => ((await endpoint.record())["failing_since"] === null ? true : undefined));
    answer(endpoint, REFUSED);
    await endpoint.makeDue();
    await until("failing_since is set again", async () => ((await endpoint.record())["failing_since"] === null ? undefined : true));
    assert.equal((await endpoint.record())["status"], "enabled");
  });

  test("that returns 410 is disabled at once, other endpoints are notified, and waiting deliveries fail without a call", async () => {
    const endpoint = await endpointThat(REFUSED);
    const { customer } = endpoint;
    const other = await customer.endpoint(hook, ["endpoint.disabled"]);
    await Promise.all(Array.from({ length: 5 }, () => customer.send()));
    await until("five failures are stored", async () => ((await endpoint.deliveries()).length === 5 ? true : undefined));
    const callsBefore = endpoint.calls.length;
    answer(endpoint, { status: 410, body: "gone fishing" });
    await endpoint.customer.send();
    const [call] = await other.received(1);
    assert.equal(call?.event.type, "endpoint.disabled");
    const record = await endpoint.record();
    assert.deepEqual([record["status"], record["disabled_reason"]], ["disabled", "gone"]);
    await endpoint.makeDue();
    await endpoint.idle();
    assert.equal(endpoint.calls.length, callsBefore + 1);
    const deliveries = await endpoint.deliveries();
    assert.deepEqual(new Set(deliveries.map(({ status }) => status)), new Set(["failed"]));
    assert.deepEqual(
      deliveries.map(({ attempts }) => attempts.length),
      [1, 1, 1, 1, 1, 1],
    );
    assert.equal(deliveries[0]?.attempts[0]?.response_body, "gone fishing");
    const disabled = seriesOf(await readMetrics(godwit), "godwit_webhook_endpoints_disabled_total");
    assert.ok((disabled['{reason="gone"}'] ?? 0) >= 1);
    await customer.send();
    await other.test();
    assert.equal(endpoint.calls.length, callsBefore + 1, "the endpoint receives no further event");
    assert.deepEqual(await endpoint.queue(), []);
    assert.deepEqual(typesOf(other.calls), ["endpoint.disabled", "webhook.test"], "once");
  });

  test("that returns 410 during a backlog gets no calls other than those already running", async () => {
    // No second attempt runs when the deliveries are made due: it would count as two calls of one delivery.
    const endpoint = await endpointThat(REFUSED_FOR_AN_HOUR);
    const { customer } = endpoint;
    const sent = await Promise.all(Array.from({ length: 300 }, () => customer.send()));
    await until(
      "all deliveries have failed once",
      async () => (await endpoint.queue()).filter(({ attempts }) => attempts >= 1).length === 300 || undefined,
    );
    // The successes raise the number of concurrent calls, and then the endpoint is gone.
    let good = 0;
    let held = 0;
    let callsWhenGone = Infinity;
    let gone: Promise<true> | undefined;
    const behave = hook.behave;
    hook.behave = async (call) => {
      if (call.path !== endpoint.path) return behave(call);
      good += 1;
      if (good <= 100) return OK;
      held += 1;
      gone ??= until("many calls are held", () => (held >= 30 ? true : undefined));
      await gone;
      callsWhenGone = Math.min(callsWhenGone, endpoint.calls.length);
      return { status: 410 };
    };
    await endpoint.makeDue();
    await endpoint.idle();
    hook.behave = behave;
    assert.equal((await endpoint.record())["disabled_reason"], "gone");
    const later = endpoint.calls.length - callsWhenGone;
    // At most 64 calls run at the same time, and at least 30 of them were held.
    assert.ok(later <= 34, `${later} calls arrived after the first 410`);
    const [counts] = await godwit.rows<{ all: number; failed: number }>(
      `select count(*)::integer as all, (count(*) filter (where status = 'failed'))::integer as failed
         from webhook_deliveries
        where endpoint_id = $1`,
      [endpoint.uuid],
    );
    assert.deepEqual(counts, { all: sent.length, failed: sent.length - 100 });
  });
});

describe("new events during retries", () => {
  test("are delivered to a failing endpoint although many retries are due", async () => {
    const endpoint = await endpointThat(REFUSED_FOR_AN_HOUR);
    await Promise.all(Array.from({ length: 60 }, () => endpoint.customer.send()));
    await until(
      "all deliveries have failed once",
      async () => (await endpoint.queue()).filter(({ attempts }) => attempts >= 1).length === 60 || undefined,
    );
    const behave = hook.behave;
    // The endpoint processes two calls at a time, which rarely end together.
    hook.behave = async (call) => {
      if (call.path !== endpoint.path) return behave(call);
      await new Promise((resolve) => setTimeout(resolve, 300 + ((endpoint.calls.length * 67) % 200)));
      return REFUSED;
    };
    await endpoint.makeDue();
    await endpoint.received(64);
    const message = await endpoint.customer.send();
    await until("the new event arrives", () => endpoint.calls.find((call) => messageOf(call)["id"] === message.id));
    hook.behave = behave;
    await endpoint.client.remove(endpoint.id);
  });
});

describe("a retry on request", () => {
  test("of a failed delivery makes one attempt, and can succeed", async () => {
    const endpoint = await endpointThat({ status: 500 });
    const { id } = await attemptedOnce(endpoint);
    for (let tries = 2; tries <= 12; tries += 1) {
      await endpoint.makeDue();
      await endpoint.attempted(tries);
    }
    const retried = await endpoint.retry({ id });
    assert.deepEqual([retried.id, retried.status, retried.attempts.length], [id, "pending", 12]);
    assert.ok(retried.next_attempt_at !== null);
    const failed = await endpoint.attempted(13);
    assert.equal(failed.status, "failed", "there is no further automatic attempt");
    assert.deepEqual(await endpoint.queue(), []);
    answer(endpoint, OK);
    await endpoint.retry({ id });
    assert.equal((await endpoint.attempted(14)).status, "succeeded");
    await endpoint.idle();
    assert.equal(new Set(idsOf(endpoint.calls)).size, 1);
  });

  test("of a succeeded delivery calls the endpoint with the same id", async () => {
    const endpoint = await endpointThat(OK);
    const first = await attemptedOnce(endpoint);
    await endpoint.retry(first);
    const second = await endpoint.attempted(2);
    assert.deepEqual([second.id, second.status], [first.id, "succeeded"]);
    const [one, two] = endpoint.calls;
    assert.equal(one?.text, two?.text);
    assert.equal(one?.headers["webhook-id"], two?.headers["webhook-id"]);
    await endpoint.idle();
  });

  test("of a succeeded delivery continues by the schedule when it fails", async () => {
    const endpoint = await endpointThat(OK);
    const first = await attemptedOnce(endpoint);
    answer(endpoint, REFUSED);
    await endpoint.retry(first);
    const second = await endpoint.attempted(2);
    assert.equal(second.status, "pending");
    assertAbout(await waitMsOf(endpoint, second), 30 * SECOND);
  });

  test("of a pending delivery does not wait until it is due", async () => {
    const endpoint = await endpointThat(REFUSED_FOR_AN_HOUR);
    const first = await attemptedOnce(endpoint);
    answer(endpoint, OK);
    await endpoint.retry(first);
    assert.equal((await endpoint.attempted(2)).status, "succeeded");
    await endpoint.idle();
    assert.equal(endpoint.calls.length, 2);
  });

  test("keeps the last fifty attempts", async () => {
    const endpoint = await endpointThat(OK);
    const { id } = await attemptedOnce(endpoint);
    const many = JSON.stringify(
      Array.from({ length: 50 }, (_, index) => ({
        attempted_at: "2026-01-01T00:00:00.000Z",
        duration_ms: index,
        response_status: 500,
        response_body: "",
        error: null,
      })),
    );
    await godwit.rows("update webhook_deliveries set attempts = $2::jsonb where endpoint_id = $1", [endpoint.uuid, many]);
    await endpoint.retry({ id });
    await endpoint.received(2);
    await endpoint.idle();
    const [delivery] = await endpoint.deliveries();
    assert.equal(delivery?.attempts.length, 50);
    assert.equal(delivery?.attempts[0]?.duration_ms, 1);
    assert.equal(delivery?.attempts[49]?.response_status, 200);
  });
});

describe("a recovery", () => {
  test("delivers failed events and events from the time when the endpoint was disabled, and no acknowledged event", async () => {
    const endpoint = await endpointThat(OK);
    const { customer } = endpoint;
    const since = new Date(Date.now() - 60_000).toISOString();
    const acknowledged = await customer.send();
    await endpoint.attempted(1);
    answer(endpoint, REFUSED);
    const refused = await customer.send();
    await until("a delivery has failed", async () => (await endpoint.queue()).some(({ is_retry: isRetry }) => isRetry) || undefined);
    await endpoint.edit({ status: "disabled" });
    await endpoint.makeDue();
    await endpoint.idle();
    assert.equal(endpoint.calls.length, 2, "a disabled endpoint is not called");
    const missed = await customer.send();
    answer(endpoint, OK);
    const enabled = await endpoint.edit({ status: "enabled" });
    assert.deepEqual([enabled["status"], enabled["failing_since"], enabled["disabled_reason"]], ["enabled", null, null]);
    await endpoint.test();
    assert.equal(endpoint.calls.length, 3, "missed events are not delivered automatically");
    const recovering = await endpoint.client.recover(endpoint.id, since);
    assert.notEqual(recovering["recovery"], null);
    const calls = await endpoint.received(5);
    await endpoint.idle();
    await until("the recovery has ended", async () => ((await endpoint.record())["recovery"] === null ? true : undefined));
    assert.deepEqual(new Set(calls.slice(3).map((call) => messageOf(call)["id"])), new Set([refused.id, missed.id]));
    assert.equal(endpoint.calls.filter((call) => call.event.id === endpoint.calls[0]?.event.id).length, 1, acknowledged.id);
    for (const call of calls) verify(call, endpoint.secret);
    const deliveries = await endpoint.deliveries();
    assert.deepEqual(new Set(deliveries.map(({ status }) => status)), new Set(["succeeded"]));
    assert.equal(deliveries.length, 4, "one delivery for each event and one for the test");
    // A second recovery delivers no event.
    await endpoint.client.recover(endpoint.id, since);
    await until("the second recovery has ended", async () => ((await endpoint.record())["recovery"] === null ? true : undefined));
    await endpoint.test();
    assert.equal(endpoint.calls.length, 6);
  });

  test("delivers no event before its start, and only the event types of the endpoint", async () => {
    const customer = await Customer.of(godwit);
    const witness = await customer.endpoint(hook, ["message.delivered"]);
    await customer.send();
    await witness.received(1);
    await until("the next milliseconds begin", () =>
      Date.now() > (witness.calls[0] ? Date.parse(witness.calls[0].event.timestamp) : 0) + 5 ? true : undefined,
    );
    const since = new Date().toISOString();
    const messages = await Promise.all(Array.from({ length: 20 }, () => customer.send()));
    await witness.received(21);
    const late = await customer.endpoint(hook, ["message.sent", "message.delivered"]);
    await late.client.recover(late.id, since);
    const calls = await late.received(40);
    await late.idle();
    assert.equal(late.calls.length, 40);
    assert.deepEqual(new Set(calls.map((call) => messageOf(call)["id"])), new Set(messages.map(({ id }) => id)));
    assert.deepEqual(new Set(typesOf(calls)), new Set(["message.sent", "message.delivered"]));
    assert.equal(new Set(idsOf(calls)).size, 40);
  });
});

describe("a waiting delivery", () => {
  test("of a disabled endpoint fails and remains in the list", async () => {
    const endpoint = await endpointThat(REFUSED);
    await attemptedOnce(endpoint);
    await endpoint.edit({ status: "disabled" });
    await endpoint.makeDue();
    await endpoint.idle();
    const { status, attempts, next_attempt_at: next } = await endpoint.attempted(1);
    assert.deepEqual([status, attempts.length, next], ["failed", 1, null]);
    assert.equal(endpoint.calls.length, 1);
    assert.equal((await endpoint.record())["disabled_reason"], "requested");
  });

  test("of a deleted endpoint is removed", async () => {
    const endpoint = await endpointThat(REFUSED);
    await attemptedOnce(endpoint);
    await endpoint.client.remove(endpoint.id);
    await endpoint.makeDue();
    await endpoint.idle();
    assert.equal(endpoint.calls.length, 1);
    const reply = await endpoint.client.request("GET", `/${endpoint.id}/deliveries`);
    assert.equal(reply.status, 404);
  });

  test("whose event was deleted is removed", async () => {
    const endpoint = await endpointThat(REFUSED);
    await attemptedOnce(endpoint);
    const [row] = await endpoint.queue();
    await godwit.rows("delete from events where id = $1", [row?.event]);
    await endpoint.makeDue();
    await endpoint.idle();
    assert.equal(endpoint.calls.length, 1);
  });

  test("is sent to the new URL of an edited endpoint", async () => {
    const endpoint = await endpointThat(REFUSED);
    await attemptedOnce(endpoint);
    await endpoint.edit({ url: hook.url("/moved") });
    await endpoint.makeDue();
    await endpoint.idle();
    assert.equal(endpoint.calls.length, 1);
    assert.deepEqual(idsOf(hook.at("/moved")), idsOf(endpoint.calls));
  });
});

test("an attempt that is settled twice, because its commit was in doubt, is stored once", async () => {
  const endpoint = await endpointThat({ status: 500, headers: { "retry-after": "3600" } });
  const delivery = await attemptedOnce(endpoint);
  const dueAt = async (): Promise<number[]> => (await endpoint.queue()).map(({ due_at_ms: at }) => at);
  const dueBefore = await dueAt();
  const [row] = await godwit.rows<{ account_id: AccountId; endpoint_id: EndpointId; id: DeliveryId; event_id: EventId }>(
    "select account_id, endpoint_id, id, event_id from webhook_queue where endpoint_id = $1",
    [endpoint.uuid],
  );
  assert.ok(row !== undefined && godwit.db !== undefined);
  const settlement = {
    row: { ...row, environment: "test", type: "message.queued", leased_until: new Date(0) },
    delayMs: 5_000,
    attempt: JSON.stringify(delivery.attempts),
  } as const;
  await storeSettlements(godwit.db, [{ ...settlement, outcome: "later", attempts: 1 }], Date.now());
  assert.deepEqual(await dueAt(), dueBefore);
  assert.equal((await endpoint.deliveries())[0]?.attempts.length, 1);
  await storeSettlements(godwit.db, [{ ...settlement, outcome: "later", attempts: 2 }], Date.now());
  assert.equal((await endpoint.deliveries())[0]?.attempts.length, 2, "the next attempt is a new one");
});

test("endpoints that a transaction has locked do not delay the deliveries of others", async () => {
  const locked = await Promise.all(Array.from({ length: 3 }, () => endpointThat(REFUSED)));
  const other = await endpointThat(OK);
  const ids = locked.map(({ id }) => `'${rowId(id)}'`).join();
  await using lock = await Lock.take(godwit.databaseUrl, `select from webhook_endpoints where id in (${ids}) for update`);
  for (const endpoint of locked) {
    await endpoint.customer.send();
    await endpoint.received(1);
  }
  await lock.waiting();
  assert.equal((await attemptedOnce(other)).status, "succeeded");
  assert.deepEqual(await locked[2]?.deliveries(), []);
  await lock.release();
  for (const endpoint of locked) assert.equal((await endpoint.attempted(1)).status, "pending");
});
