/** What becomes of an event whose endpoint does not take it: tried again by the schedule, given up, or asked for again. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { AccountId, DeliveryId, EndpointId, EventId } from "../../src/lib/id.ts";
import { storeSettlements } from "../../src/webhooks/queries.ts";
import { until } from "../support/expect.ts";
import { startGodwit, type Godwit } from "../support/harness.ts";
import { readMetrics, seriesOf } from "../support/metrics-text.ts";
import {
  Customer,
  Hook,
  idsOf,
  messageOf,
  OK,
  REFUSED,
  typesOf,
  verify,
  WITH_WEBHOOKS,
  type Answer,
  type DeliveryRecord,
  type Endpoint,
} from "../support/webhook-customer.ts";

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

let godwit: Godwit;
let hook: Hook;
/** What endpoints answer, by their paths; the others are well. */
const answers = new Map<string, Answer | null>();
before(async () => {
  [godwit, hook] = await Promise.all([startGodwit(WITH_WEBHOOKS), Hook.listen()]);
  hook.behave = ({ path }) => {
    const answer = answers.get(path);
    return answer === undefined ? OK : answer;
  };
});
after(async () => {
  await godwit.stop();
  await hook[Symbol.asyncDispose]();
});

const answer = ({ path }: Endpoint, how: Answer): unknown => answers.set(path, how);

/** An endpoint of a new customer that answers so. */
async function endpointThat(how: Answer, types: readonly string[] = ONE_TYPE): Promise<Endpoint> {
  const endpoint = await (await Customer.of(godwit)).endpoint(hook, types);
  answer(endpoint, how);
  return endpoint;
}

/** One event, tried once. */
async function triedOnce(endpoint: Endpoint): Promise<DeliveryRecord> {
  await endpoint.customer.send();
  return endpoint.tried(1);
}

/** How long after its last try is on record the delivery is tried again, by the queue, of which the record tells the same. */
async function waitOf(endpoint: Endpoint, { attempts, next_attempt_at: next, updated_at: updated }: DeliveryRecord): Promise<number> {
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

describe("a delivery that fails", () => {
  test("is tried by the schedule, a fifth more or less, and after twelve tries it is failed", async () => {
    const endpoint = await endpointThat({ status: 500, body: "no room" });
    let delivery = await triedOnce(endpoint);
    for (const [index, delay] of DELAYS_MS.entries()) {
      assert.equal(delivery.status, "pending");
      assertAbout(await waitOf(endpoint, delivery), delay);
      await endpoint.makeDue();
      delivery = await endpoint.tried(index + 2);
    }
    assert.equal(delivery.status, "failed");
    assert.equal(delivery.next_attempt_at, null);
    for (const attempt of delivery.attempts) {
      const { response_status: status, response_body: body, error } = attempt;
      assert.deepEqual([status, body, error], [500, "no room", null]);
    }
    assert.deepEqual(await endpoint.queue(), []);
    assert.equal(endpoint.calls.length, 12);
    assert.equal((await endpoint.record())["status"], "enabled", "one failed delivery does not disable it");
  });

  test("has the same id and body on every try, and a time and signature of its own", async () => {
    const endpoint = await endpointThat(REFUSED);
    await triedOnce(endpoint);
    const [first] = endpoint.calls;
    assert.ok(first !== undefined);
    const second = Number(first.headers["webhook-timestamp"]) + 1;
    await until("the next second", () => (Date.now() >= second * 1_000 ? true : undefined));
    answer(endpoint, OK);
    await endpoint.makeDue();
    const { status } = await endpoint.tried(2);
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

  test("is not tried before its time", async () => {
    const endpoint = await endpointThat(REFUSED);
    await triedOnce(endpoint);
    answer(endpoint, OK);
    await endpoint.test();
    assert.equal(endpoint.calls.length, 2, "the test event passed it by");
    const [row] = await endpoint.queue();
    assert.ok(row !== undefined && row.due_in_ms > 0);
  });

  const date = (seconds: number): string => new Date(Date.now() + seconds * 1_000).toUTCString();
  const ROWS: readonly (readonly [sentence: string, status: number, retryAfter: () => string, ms: readonly [number, number]])[] = [
    ["429 with a number of seconds", 429, () => "120", [120 * SECOND, 120 * SECOND]],
    ["503 with a number of seconds", 503, () => "3600", [HOUR, HOUR]],
    ["503 with a date", 503, () => date(300), [240 * SECOND, 300 * SECOND]],
    ["429 with less than the schedule has", 429, () => "1", [4 * SECOND, 6 * SECOND]],
    ["503 with more than a day", 503, () => "999999999", [24 * HOUR, 24 * HOUR]],
    ["429 with a date that is years away", 429, () => date(10 ** 8), [24 * HOUR, 24 * HOUR]],
    ["429 with a date that has passed", 429, () => date(-3_600), [4 * SECOND, 6 * SECOND]],
    ["429 with something else", 429, () => "soon", [4 * SECOND, 6 * SECOND]],
  ];
  for (const [sentence, status, retryAfter, [least, most]] of ROWS) {
    test(`by ${sentence} is tried again after ${least / SECOND} to ${most / SECOND} s`, async () => {
      const endpoint = await endpointThat({ status, headers: { "retry-after": retryAfter() } });
      const delivery = await triedOnce(endpoint);
      assert.equal(delivery.attempts[0]?.response_status, status);
      const waitMs = await waitOf(endpoint, delivery);
      assert.ok(waitMs >= least - 10 && waitMs <= most + 10, `${waitMs} ms`);
    });
  }

  for (const status of [301, 302, 303, 307, 308, 304, 400, 401, 404]) {
    test(`by ${status} is tried again, and nobody is followed`, async () => {
      const endpoint = await endpointThat({ status, headers: { location: hook.url("/elsewhere") } });
      const delivery = await triedOnce(endpoint);
      assert.equal(delivery.status, "pending");
      assert.equal(delivery.attempts[0]?.response_status, status);
      assertAbout(await waitOf(endpoint, delivery), 5 * SECOND);
      assert.equal(endpoint.calls.length, 1);
      assert.deepEqual(hook.at("/elsewhere"), []);
    });
  }

  for (const status of [200, 201, 202, 204, 299]) {
    test(`by nothing, since ${status} is success, is not tried again`, async () => {
      const endpoint = await endpointThat({ status });
      const delivery = await triedOnce(endpoint);
      assert.deepEqual([delivery.status, delivery.next_attempt_at], ["succeeded", null]);
      await endpoint.idle();
      assert.equal((await endpoint.record())["failing_since"], null);
    });
  }
});

describe("an endpoint that fails", () => {
  const shift = (endpoint: Endpoint, interval: string): Promise<unknown> =>
    godwit.rows("update webhook_endpoints set failing_since = now() - $2::interval where id = $1 and failing_since is not null", [
      endpoint.uuid,
      interval,
    ]);

  test("is failing since its first failure; the first success forgets that", async () => {
    const endpoint = await endpointThat(REFUSED);
    await triedOnce(endpoint);
    const { failing_since: since } = await endpoint.record();
    assert.ok(Math.abs(Date.parse(String(since)) - Date.now()) < 10_000);
    await endpoint.makeDue();
    await endpoint.tried(2);
    assert.equal((await endpoint.record())["failing_since"], since, "a second failure does not change it");
    answer(endpoint, OK);
    await endpoint.makeDue();
    await endpoint.tried(3);
    assert.equal((await endpoint.record())["failing_since"], null);
  });

  test("and has done nothing else for five days is disabled, and the others are told", async () => {
    const endpoint = await endpointThat(REFUSED);
    const other = await endpoint.customer.endpoint(hook, ["endpoint.*"]);
    await triedOnce(endpoint);
    await shift(endpoint, "119 hours");
    await endpoint.makeDue();
    await endpoint.tried(2);
    assert.equal((await endpoint.record())["status"], "enabled", "not yet");
    await shift(endpoint, "5 days");
    await endpoint.makeDue();
    const [call] = await other.heard(1);
    assert.ok(call !== undefined);
    verify(call, other.secret);
    const record = await endpoint.record();
    assert.deepEqual([record["status"], record["disabled_reason"]], ["disabled", "failing"]);
    assert.equal(call.event.type, "endpoint.disabled");
    assert.deepEqual(call.event.data, { webhook_endpoint: record });
    assert.ok(!call.text.includes("whsec_"));
    const disabled = seriesOf(await readMetrics(godwit), "godwit_webhook_endpoints_disabled_total");
    assert.ok((disabled['{reason="failing"}'] ?? 0) >= 1);
    // What still waited is given up without a call.
    await endpoint.makeDue();
    await endpoint.idle();
    assert.equal((await endpoint.tried(3)).status, "failed");
    assert.equal(endpoint.calls.length, 3);
  });

  test("but had one success in five days goes on", async () => {
    const endpoint = await endpointThat(REFUSED);
    await triedOnce(endpoint);
    await shift(endpoint, "6 days");
    answer(endpoint, OK);
    await endpoint.test();
    await until("its failures to be forgotten", async () => ((await endpoint.record())["failing_since"] === null ? true : undefined));
    answer(endpoint, REFUSED);
    await endpoint.makeDue();
    await until("the second failure", async () => ((await endpoint.record())["failing_since"] === null ? undefined : true));
    assert.equal((await endpoint.record())["status"], "enabled");
  });

  test("with 410 is disabled at once; the others are told, and what waited is given up without a call", async () => {
    const endpoint = await endpointThat(REFUSED);
    const { customer } = endpoint;
    const other = await customer.endpoint(hook, ["endpoint.disabled"]);
    await Promise.all(Array.from({ length: 5 }, () => customer.send()));
    await until("five failures", async () => ((await endpoint.deliveries()).length === 5 ? true : undefined));
    const callsBefore = endpoint.calls.length;
    answer(endpoint, { status: 410, body: "gone fishing" });
    await endpoint.customer.send();
    const [call] = await other.heard(1);
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
    assert.equal(endpoint.calls.length, callsBefore + 1, "it is told nothing more");
    assert.deepEqual(await endpoint.queue(), []);
    assert.deepEqual(typesOf(other.calls), ["endpoint.disabled", "webhook.test"], "once");
  });

  test("with 410 in the middle of a backlog is called no more than what was under way", async () => {
    const endpoint = await endpointThat(REFUSED);
    const { customer } = endpoint;
    const sent = await Promise.all(Array.from({ length: 300 }, () => customer.send()));
    await until(
      "all to have failed",
      async () => (await endpoint.queue()).filter(({ attempts }) => attempts >= 1).length === 300 || undefined,
    );
    // It earns many calls at a time, and then it is gone.
    let good = 0;
    let callsWhenGone = Infinity;
    let gone: Promise<true> | undefined;
    const behave = hook.behave;
    hook.behave = async (call) => {
      if (call.path !== endpoint.path) return behave(call);
      good += 1;
      if (good <= 100) return OK;
      gone ??= until("many calls under way", () => (hook.waiting >= 30 ? true : undefined));
      await gone;
      callsWhenGone = Math.min(callsWhenGone, endpoint.calls.length);
      return { status: 410 };
    };
    await endpoint.makeDue();
    await endpoint.idle();
    hook.behave = behave;
    assert.equal((await endpoint.record())["disabled_reason"], "gone");
    const later = endpoint.calls.length - callsWhenGone;
    // Sixty-four at a time; thirty and more had come.
    assert.ok(later <= 34, `${later} calls came after it had said that it is gone`);
    const [counts] = await godwit.rows<{ all: number; failed: number }>(
      `select count(*)::integer as all, (count(*) filter (where status = 'failed'))::integer as failed
         from webhook_deliveries
        where endpoint_id = $1`,
      [endpoint.uuid],
    );
    assert.deepEqual(counts, { all: sent.length, failed: sent.length - 100 });
  });
});

describe("new events beside retries", () => {
  test("an endpoint that fails is tried with what is new though much is due again", async () => {
    const endpoint = await endpointThat(REFUSED);
    await Promise.all(Array.from({ length: 60 }, () => endpoint.customer.send()));
    await until(
      "all to have failed",
      async () => (await endpoint.queue()).filter(({ attempts }) => attempts >= 1).length === 60 || undefined,
    );
    const behave = hook.behave;
    // Two at a time, which hardly ever end together.
    hook.behave = async (call) => {
      if (call.path !== endpoint.path) return behave(call);
      await new Promise((resolve) => setTimeout(resolve, 300 + ((endpoint.calls.length * 67) % 200)));
      return REFUSED;
    };
    await endpoint.makeDue();
    await endpoint.heard(64);
    const message = await endpoint.customer.send();
    await until("the new one to come", () => endpoint.calls.find((call) => messageOf(call)["id"] === message.id));
    hook.behave = behave;
    await endpoint.delete();
  });
});

describe("asked for again", () => {
  test("a failed delivery is tried once more, and succeeds", async () => {
    const endpoint = await endpointThat({ status: 500 });
    const { id } = await triedOnce(endpoint);
    for (let tries = 2; tries <= 12; tries += 1) {
      await endpoint.makeDue();
      await endpoint.tried(tries);
    }
    const retried = await endpoint.retry({ id });
    assert.deepEqual([retried.id, retried.status, retried.attempts.length], [id, "pending", 12]);
    assert.ok(retried.next_attempt_at !== null);
    const failed = await endpoint.tried(13);
    assert.equal(failed.status, "failed", "there is no further try by itself");
    assert.deepEqual(await endpoint.queue(), []);
    answer(endpoint, OK);
    await endpoint.retry({ id });
    assert.equal((await endpoint.tried(14)).status, "succeeded");
    await endpoint.idle();
    assert.equal(new Set(idsOf(endpoint.calls)).size, 1);
  });

  test("a delivery that succeeded is told again, under the same id", async () => {
    const endpoint = await endpointThat(OK);
    const first = await triedOnce(endpoint);
    await endpoint.retry(first);
    const second = await endpoint.tried(2);
    assert.deepEqual([second.id, second.status], [first.id, "succeeded"]);
    const [one, two] = endpoint.calls;
    assert.equal(one?.text, two?.text);
    assert.equal(one?.headers["webhook-id"], two?.headers["webhook-id"]);
    await endpoint.idle();
  });

  test("a delivery that succeeded and fails when it is told again goes on by the schedule", async () => {
    const endpoint = await endpointThat(OK);
    const first = await triedOnce(endpoint);
    answer(endpoint, REFUSED);
    await endpoint.retry(first);
    const second = await endpoint.tried(2);
    assert.equal(second.status, "pending");
    assertAbout(await waitOf(endpoint, second), 30 * SECOND);
  });

  test("a pending delivery does not wait for its time", async () => {
    const endpoint = await endpointThat({ status: 503, headers: { "retry-after": "3600" } });
    const first = await triedOnce(endpoint);
    answer(endpoint, OK);
    await endpoint.retry(first);
    assert.equal((await endpoint.tried(2)).status, "succeeded");
    await endpoint.idle();
    assert.equal(endpoint.calls.length, 2);
  });

  test("fifty tries are kept, the last ones", async () => {
    const endpoint = await endpointThat(OK);
    const { id } = await triedOnce(endpoint);
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
    await endpoint.heard(2);
    await endpoint.idle();
    const [delivery] = await endpoint.deliveries();
    assert.equal(delivery?.attempts.length, 50);
    assert.equal(delivery?.attempts[0]?.duration_ms, 1);
    assert.equal(delivery?.attempts[49]?.response_status, 200);
  });
});

describe("recovery", () => {
  test("brings what was given up and what happened while the endpoint was disabled; nothing that it acknowledged", async () => {
    const endpoint = await endpointThat(OK);
    const { customer } = endpoint;
    const since = new Date(Date.now() - 60_000).toISOString();
    const acknowledged = await customer.send();
    await endpoint.tried(1);
    answer(endpoint, REFUSED);
    const refused = await customer.send();
    await until("a failure", async () => (await endpoint.queue()).some(({ is_retry: isRetry }) => isRetry) || undefined);
    await endpoint.edit({ status: "disabled" });
    await endpoint.makeDue();
    await endpoint.idle();
    assert.equal(endpoint.calls.length, 2, "it is not called while it is disabled");
    const missed = await customer.send();
    answer(endpoint, OK);
    const enabled = await endpoint.edit({ status: "enabled" });
    assert.deepEqual([enabled["status"], enabled["failing_since"], enabled["disabled_reason"]], ["enabled", null, null]);
    await endpoint.test();
    assert.equal(endpoint.calls.length, 3, "what it missed does not come by itself");
    const recovering = await endpoint.client.recover(endpoint.id, since);
    assert.notEqual(recovering["recovery"], null);
    const calls = await endpoint.heard(5);
    await endpoint.idle();
    await until("the recovery to be over", async () => ((await endpoint.record())["recovery"] === null ? true : undefined));
    assert.deepEqual(new Set(calls.slice(3).map((call) => messageOf(call)["id"])), new Set([refused.id, missed.id]));
    assert.equal(endpoint.calls.filter((call) => call.event.id === endpoint.calls[0]?.event.id).length, 1, acknowledged.id);
    for (const call of calls) verify(call, endpoint.secret);
    const deliveries = await endpoint.deliveries();
    assert.deepEqual(new Set(deliveries.map(({ status }) => status)), new Set(["succeeded"]));
    assert.equal(deliveries.length, 4, "one for each event, and one for the test");
    // A second one finds nothing.
    await endpoint.client.recover(endpoint.id, since);
    await until("the second to be over", async () => ((await endpoint.record())["recovery"] === null ? true : undefined));
    await endpoint.test();
    assert.equal(endpoint.calls.length, 6);
  });

  test("goes no further back than it was told, and brings the types that the endpoint wants", async () => {
    const customer = await Customer.of(godwit);
    const witness = await customer.endpoint(hook, ["message.delivered"]);
    await customer.send();
    await witness.heard(1);
    await until("the next millisecond", () =>
      Date.now() > (witness.calls[0] ? Date.parse(witness.calls[0].event.timestamp) : 0) + 5 ? true : undefined,
    );
    const since = new Date().toISOString();
    const messages = await Promise.all(Array.from({ length: 20 }, () => customer.send()));
    await witness.heard(21);
    const late = await customer.endpoint(hook, ["message.sent", "message.delivered"]);
    await late.client.recover(late.id, since);
    const calls = await late.heard(40);
    await late.idle();
    assert.equal(late.calls.length, 40);
    assert.deepEqual(new Set(calls.map((call) => messageOf(call)["id"])), new Set(messages.map(({ id }) => id)));
    assert.deepEqual(new Set(typesOf(calls)), new Set(["message.sent", "message.delivered"]));
    assert.equal(new Set(idsOf(calls)).size, 40);
  });
});

describe("what waits for an endpoint", () => {
  test("that is disabled is given up, and stays on record as failed", async () => {
    const endpoint = await endpointThat(REFUSED);
    await triedOnce(endpoint);
    await endpoint.edit({ status: "disabled" });
    await endpoint.makeDue();
    await endpoint.idle();
    const { status, attempts, next_attempt_at: next } = await endpoint.tried(1);
    assert.deepEqual([status, attempts.length, next], ["failed", 1, null]);
    assert.equal(endpoint.calls.length, 1);
    assert.equal((await endpoint.record())["disabled_reason"], "requested");
  });

  test("that is deleted is dropped", async () => {
    const endpoint = await endpointThat(REFUSED);
    await triedOnce(endpoint);
    await endpoint.delete();
    await endpoint.makeDue();
    await endpoint.idle();
    assert.equal(endpoint.calls.length, 1);
    const reply = await endpoint.client.request("GET", `/${endpoint.id}/deliveries`);
    assert.equal(reply.status, 404);
  });

  test("whose event is gone is dropped", async () => {
    const endpoint = await endpointThat(REFUSED);
    await triedOnce(endpoint);
    const [row] = await endpoint.queue();
    await godwit.rows("delete from events where id = $1", [row?.event]);
    await endpoint.makeDue();
    await endpoint.idle();
    assert.equal(endpoint.calls.length, 1);
  });

  test("is told to the new place when it has moved", async () => {
    const endpoint = await endpointThat(REFUSED);
    await triedOnce(endpoint);
    await endpoint.edit({ url: hook.url("/moved") });
    await endpoint.makeDue();
    await endpoint.idle();
    assert.equal(endpoint.calls.length, 1);
    assert.deepEqual(idsOf(hook.at("/moved")), idsOf(endpoint.calls));
  });
});

test("a try whose commit was in doubt is put on record once, though it is settled twice", async () => {
  const endpoint = await endpointThat({ status: 500, headers: { "retry-after": "3600" } });
  const delivery = await triedOnce(endpoint);
  const dueAt = async (): Promise<number[]> => (await endpoint.queue()).map(({ due_at_ms: at }) => at);
  const dueBefore = await dueAt();
  const [row] = await godwit.rows<{ account_id: AccountId; endpoint_id: EndpointId; id: DeliveryId; event_id: EventId }>(
    "select account_id, endpoint_id, id, event_id from webhook_queue where endpoint_id = $1",
    [endpoint.uuid],
  );
  assert.ok(row !== undefined && godwit.db !== undefined);
  const settlement = {
    id: row.id,
    accountId: row.account_id,
    environment: "test",
    endpointId: row.endpoint_id,
    eventId: row.event_id,
    eventType: "message.queued",
    delayMs: 5_000,
    attempt: JSON.stringify(delivery.attempts),
  } as const;
  await storeSettlements(godwit.db, [{ ...settlement, outcome: "later", attempts: 1 }]);
  assert.deepEqual(await dueAt(), dueBefore);
  assert.equal((await endpoint.deliveries())[0]?.attempts.length, 1);
  await storeSettlements(godwit.db, [{ ...settlement, outcome: "later", attempts: 2 }]);
  assert.equal((await endpoint.deliveries())[0]?.attempts.length, 2, "the next try is another");
});
