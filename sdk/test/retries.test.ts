/** Retries against a real service behind a faulty proxy: one idempotency key, one effect, and a limit on every wait. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type AddressInfo } from "node:net";
import { after, afterEach, before, beforeEach, describe, test } from "node:test";
import pg from "pg";
import { LIMIT_MS, until } from "../../test/support/expect.ts";
import { startGodwit, type Godwit as Server } from "../../test/support/harness.ts";
import {
  ApiError,
  ConnectionError,
  Godwit,
  hasCode,
  TimeoutError,
  type GodwitOptions,
  type NewMessage,
  type RequestEvent,
  type ResponseEvent,
} from "../src/index.ts";
import { retryDelayMs } from "../src/retry.ts";
import { FaultyProxy, problem, type Behavior } from "./faulty-proxy.ts";

const UUID_4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const MESSAGE: NewMessage = { recipient: "+14155550123", channel: "sms", body: "Your code is 123456" };

let server: Server;
let proxy: FaultyProxy;
let apiKey: string;
before(async () => {
  server = await startGodwit();
  await server.unlimited();
  apiKey = await server.key();
});
after(() => server.stop());
beforeEach(async () => {
  proxy = await FaultyProxy.to(server);
});
afterEach(() => proxy[Symbol.asyncDispose]());

const clientOf = (options: Partial<GodwitOptions> = {}): Godwit => new Godwit({ apiKey, baseUrl: proxy.url, ...options });

async function countOf(reference: string): Promise<number> {
  const { json } = await server.request("GET", `/v1/messages?client_reference=${reference}`, { key: apiKey });
  return (json["data"] as unknown[]).length;
}

/** Sends a message through the faults, and asserts that exactly one message exists at the end. */
async function sendThrough(faults: readonly Behavior[], options: Partial<GodwitOptions> = {}) {
  proxy.next.push(...faults);
  const reference = randomUUID();
  const response = await clientOf(options)
    .messages.send({ ...MESSAGE, client_reference: reference })
    .withResponse();
  assert.equal(await countOf(reference), 1, "there is one message");
  assert.equal(response.attempts, faults.length + 1);
  assert.equal(proxy.heard.length, faults.length + 1);
  assert.deepEqual(new Set(proxy.keys), new Set([response.idempotencyKey]), "all attempts have one key");
  assert.deepEqual(new Set(proxy.heard.map(({ body }) => body)).size, 1);
  return response;
}

const rejection = async (call: PromiseLike<unknown>): Promise<unknown> => {
  try {
    await call;
  } catch (error) {
    return error;
  }
  return assert.fail("the call was not refused");
};

describe("a call is retried", () => {
  for (const [what, fault] of [
    ["after 409 idempotency_conflict", problem(409, "idempotency_conflict", { "retry-after": "1" })],
    ["after 429", problem(429, "rate_limit_exceeded", { "retry-after": "1" })],
    ["after 500", problem(500, "internal_server_error")],
    ["after 408", problem(408, "request_timeout")],
    ["after 503", problem(503, "service_unavailable", { "retry-after": "1" })],
    ["after a proxy's own 502", { kind: "respond", status: 502, headers: { "content-type": "text/html" }, body: "<h1>Bad Gateway</h1>" }],
    ["after a proxy's own 504", { kind: "respond", status: 504 }],
    ["after a connection that was cut", { kind: "cut" }],
  ] as const satisfies readonly (readonly [string, Behavior])[]) {
    test(`${what}, with the same idempotency key`, async () => {
      const { isReplayed, status } = await sendThrough([fault]);
      assert.deepEqual([status, isReplayed], [202, false]);
    });
  }

  test("when the response was lost: one message exists, and the retry returns the first response", async () => {
    const { isReplayed, data } = await sendThrough([{ kind: "lose" }]);
    assert.equal(isReplayed, true);
    assert.match(data.id, /^msg_/);
  });

  test("when half of a response arrived", async () => {
    assert.equal((await sendThrough([{ kind: "tear" }])).isReplayed, true);
  });

  test("when no response arrives in time", async () => {
    // Only the first attempt may time out. The limit grows until the second one ends in time, also on a slow machine.
    for (let timeoutMs = 300; ; timeoutMs *= 4) {
      const response = await sendThrough([{ kind: "hang" }], { timeoutMs, maxRetries: 1 }).catch((error: unknown) => {
        if (error instanceof TimeoutError && error.attempts === 2 && timeoutMs < LIMIT_MS) return undefined;
        throw error;
      });
      if (response !== undefined) return assert.equal(response.isReplayed, false);
      // Requests of this round may still arrive at its proxy.
      await proxy[Symbol.asyncDispose]();
      proxy = await FaultyProxy.to(server);
    }
  });

  test("after several different faults", async () => {
    await sendThrough([{ kind: "lose" }, problem(503, "service_unavailable"), { kind: "cut" }, { kind: "tear" }]);
  });

  test("not before Retry-After has passed", async () => {
    await sendThrough([problem(429, "rate_limit_exceeded", { "retry-after": "2" })]);
    const [first, second] = proxy.heard;
    assert.ok((second?.at ?? 0) - (first?.at ?? 0) >= 2_000);
  });

  test("while its first request still runs in the service and gives 409", async () => {
    const blocker = new pg.Client(server.databaseUrl);
    await blocker.connect();
    const reference = randomUUID();
    try {
      await blocker.query("begin");
      await blocker.query("lock table messages in exclusive mode");
      const sending = clientOf({ timeoutMs: 400, maxRetries: 50, totalTimeoutMs: LIMIT_MS })
        .messages.send({ ...MESSAGE, client_reference: reference })
        .withResponse();
      // The client gives up the first request, which still runs in the service. The second request gets a 409.
      await until("a conflict", () => proxy.statuses.includes(409) || undefined);
      await blocker.query("commit");
      const { attempts, data } = await sending;
      assert.ok(attempts >= 3);
      assert.equal((await server.request("GET", `/v1/messages/${data.id}`, { key: apiKey })).status, 200);
    } finally {
      await blocker.end();
    }
    assert.equal(await countOf(reference), 1);
    assert.equal(new Set(proxy.keys).size, 1);
  });

  test("if it is a read or a DELETE, without an idempotency key", async () => {
    const client = clientOf();
    const { id } = await client.templates.create({ name: "t1", language: "en", category: "utility", channels: ["sms"], body: "Hello" });
    proxy.next.push({ kind: "cut" }, { kind: "pass" }, { kind: "lose" });
    assert.equal((await client.templates.get(id)).id, id);
    assert.equal((await client.templates.archive(id)).status, "archived");
    assert.deepEqual(proxy.keys.slice(1), [undefined, undefined, undefined, undefined]);
  });
});

describe("a call is not retried", () => {
  for (const [status, code] of [
    [400, "invalid_request_payload"],
    [401, "unauthorized_invalid_token"],
    [403, "forbidden_insufficient_scope"],
    [404, "not_found"],
    [413, "payload_too_large"],
    [422, "recipient_opted_out"],
  ] as const) {
    test(`after ${status}`, async () => {
      proxy.next.push(problem(status, code, { "retry-after": "1" }));
      const error = await rejection(clientOf().messages.send(MESSAGE));
      assert.ok(hasCode(error, code), String(error));
      assert.deepEqual([error.status, error.attempts, error.retryAfterSeconds, proxy.heard.length], [status, 1, 1, 1]);
    });
  }

  test("after a redirect, which is not followed", async () => {
    proxy.next.push({ kind: "respond", status: 307, headers: { location: `${server.url}/v1/messages` } });
    assert.ok(hasCode(await rejection(clientOf().messages.send(MESSAGE)), "unexpected_response"));
    assert.equal(proxy.heard.length, 1);
  });

  test("after a response that does not come from godwit", async () => {
    proxy.next.push({ kind: "respond", status: 200, headers: { "content-type": "text/html" }, body: "<h1>Log in</h1>" });
    const error = await rejection(clientOf().messages.get("msg_1"));
    assert.ok(hasCode(error, "unexpected_response"), String(error));
    assert.equal(proxy.heard.length, 1);
  });

  test("more than maxRetries times, and then throws the last refusal with the idempotency key", async () => {
    proxy.next.push(...Array.from({ length: 9 }, () => problem(503, "service_unavailable")));
    const idempotencyKey = randomUUID();
    const error = await rejection(clientOf({ maxRetries: 2 }).messages.send(MESSAGE, { idempotencyKey }));
    assert.ok(error instanceof ApiError);
    assert.deepEqual([error.code, error.attempts, error.idempotencyKey, proxy.heard.length], ["service_unavailable", 3, idempotencyKey, 3]);
  });

  test("when Retry-After would exceed its total time limit", async () => {
    proxy.next.push(problem(429, "rate_limit_exceeded", { "retry-after": "3600" }));
    const startedAt = performance.now();
    const error = await rejection(clientOf({ totalTimeoutMs: LIMIT_MS }).messages.send(MESSAGE));
    assert.ok(hasCode(error, "rate_limit_exceeded") && error.retryAfterSeconds === 3_600);
    assert.ok(performance.now() - startedAt < LIMIT_MS && proxy.heard.length === 1);
  });

  test("after its total time limit", async () => {
    proxy.next.push(...Array.from({ length: 50 }, (): Behavior => ({ kind: "hang" })));
    const startedAt = performance.now();
    const error = await rejection(clientOf({ timeoutMs: 200, totalTimeoutMs: 1_000, maxRetries: 50 }).messages.send(MESSAGE));
    assert.ok(error instanceof TimeoutError && error.attempts < 50, String(error));
    assert.ok(performance.now() - startedAt < LIMIT_MS);
  });

  test("more than maxRetries times when the connection is refused", async () => {
    const error = await rejection(new Godwit({ apiKey, baseUrl: "http://127.0.0.1:1", maxRetries: 1 }).queue.get());
    assert.ok(error instanceof ConnectionError && error.attempts === 2 && error.cause !== undefined, String(error));
  });

  test("and names the service that is not running", async () => {
    const stopped = createServer().listen(0, "127.0.0.1");
    await once(stopped, "listening");
    const { port } = stopped.address() as AddressInfo;
    await once(stopped.close(), "close");
    const baseUrl = `http://127.0.0.1:${port}`;
    const error = await rejection(new Godwit({ apiKey, baseUrl, maxRetries: 0 }).queue.get());
    assert.match(String(error), new RegExp(`no response from ${baseUrl}: .*ECONNREFUSED.*; is Godwit running there\\?$`));
  });
});

describe("a signal ends a call with its reason", () => {
  const reason = new Error("the user left");

  test("before the first request", async () => {
    assert.equal(await rejection(clientOf().messages.send(MESSAGE, { signal: AbortSignal.abort(reason) })), reason);
    assert.equal(proxy.heard.length, 0);
  });

  test("while it waits for a response", async () => {
    proxy.next.push({ kind: "hang" });
    const leaving = new AbortController();
    const sending = rejection(clientOf().messages.send(MESSAGE, { signal: leaving.signal }));
    await proxy.hears(1);
    leaving.abort(reason);
    assert.equal(await sending, reason);
  });

  test("while it waits before the next attempt", async () => {
    proxy.next.push(problem(503, "service_unavailable", { "retry-after": "20" }));
    const leaving = new AbortController();
    const sending = rejection(clientOf().messages.send(MESSAGE, { signal: leaving.signal }));
    await proxy.hears(1);
    leaving.abort(reason);
    assert.equal(await sending, reason);
    assert.equal(proxy.heard.length, 1);
  });
});

test("a fetch that ignores its signal does not delay the timeout", async () => {
  const client = new Godwit({ apiKey, baseUrl: proxy.url, fetch: () => new Promise(() => undefined), timeoutMs: 100, maxRetries: 0 });
  assert.ok((await rejection(client.queue.get())) instanceof TimeoutError);
});

test("the hooks report every attempt, without the credential", async () => {
  proxy.next.push(problem(503, "service_unavailable"), { kind: "cut" });
  const events: (RequestEvent | ResponseEvent)[] = [];
  const client = clientOf({ onRequest: (event) => events.push(event), onResponse: (event) => events.push(event) });
  const { idempotencyKey, requestId } = await client.messages.send(MESSAGE).withResponse();
  const seen = events.map((event) => ("status" in event ? [event.attempt, event.status, event.retryMs === null] : event.attempt));
  assert.deepEqual(seen, [1, [1, 503, false], 2, [2, null, false], 3, [3, 202, true]]);
  const [first, failed] = events;
  assert.deepEqual(first, { method: "POST", path: "/v1/messages", attempt: 1, idempotencyKey });
  assert.ok(failed !== undefined && "error" in failed && hasCode(failed.error, "service_unavailable") && failed.durationMs > 0);
  assert.equal((events.at(-1) as ResponseEvent).requestId, requestId);
});

test("every POST and PATCH has its own idempotency key, and a given key is sent", async () => {
  const client = clientOf();
  const given = randomUUID();
  const first = await client.messages
    .send({ ...MESSAGE, send_at: new Date(Date.now() + 3_600_000).toISOString() }, { idempotencyKey: given })
    .withResponse();
  await client.messages.edit(first.data.id, { body: "Later" });
  await client.messages.cancel(first.data.id);
  const again = await client.messages.send(JSON.parse(proxy.heard[0]?.body ?? "") as NewMessage, { idempotencyKey: given }).withResponse();
  const [sent, edited, canceled] = proxy.keys;
  assert.equal(sent, given);
  for (const key of [edited, canceled]) assert.match(key ?? "", UUID_4);
  assert.equal(new Set(proxy.keys).size, 3);
  assert.deepEqual([first.isReplayed, again.isReplayed, again.data], [false, true, first.data]);
});

test("an exhausted quota is waited for", async () => {
  const key = await server.key({ account: "trickle" });
  await server.rows("insert into tiers (name, requests_per_second, burst) values ('trickle', 2, 2)");
  await server.rows("update environments set tier = 'trickle' where account_id = (select id from accounts where name = 'trickle')");
  const client = new Godwit({ apiKey: key, baseUrl: server.url, maxRetries: 10 });
  const responses = await Promise.all(Array.from({ length: 6 }, () => client.queue.get().withResponse()));
  assert.ok(
    responses.some(({ attempts }) => attempts > 1),
    "a request has waited",
  );
  const { rateLimit, requestId } = await client.queue.get().withResponse();
  assert.match(requestId ?? "", /^req_/);
  assert.deepEqual([rateLimit?.name, rateLimit?.quota, rateLimit?.windowSeconds], ["trickle", 2, 1]);
});

test("waits are random below a bound that doubles, and never shorter than Retry-After", () => {
  const bounds = [1, 2, 3, 7, 8, 1_000].map((tries) => retryDelayMs(tries, undefined, () => 1));
  assert.deepEqual(bounds, [500, 1_000, 2_000, 30_000, 30_000, 30_000]);
  assert.equal(
    retryDelayMs(5, undefined, () => 0),
    0,
  );
  const headers = new Headers();
  const asked = new ApiError({
    status: 429,
    code: "rate_limit_exceeded",
    title: "",
    detail: "",
    requestId: null,
    errors: [],
    requiredScopes: [],
    retryAfterSeconds: 7,
    headers,
  });
  assert.equal(
    retryDelayMs(1, asked, () => 0),
    7_000,
  );
  assert.ok(retryDelayMs(20, asked, () => 1) <= 14_000);
});
