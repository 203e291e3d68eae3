/** The rules of idempotency for sequential requests: a repeated key returns the first response. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { poll } from "../../src/lib/wait.ts";
import { LIMIT_MS } from "../support/expect.ts";
import { sms, startGodwit, type Godwit, type Reply, type RequestOptions } from "../support/harness.ts";
import {
  assertFirst,
  assertReplayOf,
  assertReused,
  codeOf,
  effectCount,
  isReplay,
  isStored,
  NEVER,
  ONCE,
  unique,
} from "../support/replay.ts";
import { postBytes } from "../support/sending.ts";

let godwit: Godwit;
let apiKey: string;
before(async () => {
  godwit = await startGodwit();
  await godwit.unlimited();
  apiKey = await godwit.key();
});
after(() => godwit.stop());

/** Sends one request with an idempotency key. A `body` that is a string is sent unchanged. */
const post = (key: string, body: unknown = sms(), options: RequestOptions = {}): Promise<Reply> =>
  godwit.request("POST", "/v1/messages", { key: apiKey, idempotencyKey: key, body, ...options });

/** Returns the remaining quota of a ratelimit header. */
const remaining = (reply: Reply): number => Number(/;r=(\d+)/.exec(reply.headers.get("ratelimit") ?? "")?.[1]);

/** Moves the creation of a key into the past by the interval. */
const age = (key: string, interval: string): Promise<unknown> =>
  godwit.rows("update idempotency_keys set created_at = created_at - $2::interval, expires_at = expires_at - $2::interval where key = $1", [
    key,
    interval,
  ]);

describe("a replay", () => {
  test("returns the bytes of the first response ten times, and there is one message, one event and one queue entry", async () => {
    const key = randomUUID();
    const body = unique();
    const first = await post(key, body);
    assertFirst(first);
    for (let count = 0; count < 10; count += 1) assertReplayOf(first, await post(key, body));
    assert.deepEqual(await effectCount(godwit, body), ONCE);
  });

  test("returns the first response, also when the message has changed since", async () => {
    const key = randomUUID();
    const body = unique();
    const first = await post(key, body);
    const path = first.headers.get("location") ?? "";
    assert.equal((await godwit.request("POST", `${path}/cancel`, { key: apiKey })).status, 200);
    assertReplayOf(first, await post(key, body));
    assert.equal(first.json["status"], "queued");
    assert.equal((await godwit.request("GET", path, { key: apiKey })).json["status"], "canceled");
  });

  test("has its own request id, date and rate headers", async () => {
    const limited = await godwit.key({ account: "limited" });
    // So slow that no request is added to the quota between the two requests.
    await godwit.rows("insert into tiers (name, requests_per_second, burst) values ('slow', 1, 50)");
    await godwit.rows("update environments set tier = 'slow' where account_id = (select id from accounts where name = 'limited')");
    const key = randomUUID();
    const first = await post(key, sms(), { key: limited });
    const again = await post(key, sms(), { key: limited });
    assertReplayOf(first, again);
    assert.match(again.headers.get("x-request-id") ?? "", /^req_/);
    assert.notEqual(again.headers.get("x-request-id"), first.headers.get("x-request-id"));
    assert.ok(again.headers.has("date"));
    assert.equal(again.headers.get("ratelimit-policy"), first.headers.get("ratelimit-policy"));
    assert.ok(remaining(again) < remaining(first), "a replay counts against the quota");
  });

  test("is the first response, although the message has changed since", async () => {
    const key = randomUUID();
    const body = unique();
    const first = await post(key, body);
    await godwit.rows("update messages set status = 'delivered', sequence = 4 where client_reference = $1", [body["client_reference"]]);
    assertReplayOf(first, await post(key, body));
  });

  test("is given to another credential of the same environment, and not to one that may not send", async () => {
    const key = randomUUID();
    const first = await post(key);
    assertReplayOf(first, await post(key, sms(), { key: await godwit.key({ scopes: ["messages:send"] }) }));
    const refused = await post(key, sms(), { key: await godwit.key({ scopes: ["messages:read"] }) });
    assert.equal(refused.status, 403);
    assert.ok(!refused.text.includes(String(first.json["id"])));
  });
});

describe("a body with the same key", () => {
  const original = '{"recipient":"+14155550123","channel":"sms","body":"A code","ttl_seconds":60,"metadata":{"a":"1","b":"2"}}';
  const same: Record<string, string> = {
    "and its keys reordered": '{"metadata":{"b":"2","a":"1"},"ttl_seconds":60,"body":"A code","channel":"sms","recipient":"+14155550123"}',
    "and other white space": original.replaceAll(":", " : ").replaceAll(",", ",\r\n\t"),
    "and an escaped letter": original.replace('"A code"', String.raw`"\u0041 code"`),
    "and another notation of a number": original.replace("60", "6.0e1"),
  };
  for (const [name, body] of Object.entries(same)) {
    test(`${name} replays`, async () => {
      const key = randomUUID();
      assertReplayOf(await post(key, original), await post(key, body));
    });
  }

  const other: Record<string, string> = {
    "and another text": original.replace("A code", "B code"),
    "and a letter in lower case": original.replace("A code", "a code"),
    "and null for an absent field": original.replace("{", '{"sender":null,'),
    "and an additional field": original.replace("{", '{"priority":"normal",'),
    "and a missing field": original.replace(',"ttl_seconds":60', ""),
  };
  for (const [name, body] of Object.entries(other)) {
    test(`${name} is another request: 422, and the original still replays`, async () => {
      const key = randomUUID();
      const first = await post(key, original);
      assertReused(await post(key, body));
      assertReplayOf(first, await post(key, original));
    });
  }

  test("and an array in another order is another request", async () => {
    const steps = [1, 2].map((seconds) => ({ channel: "sms", body: "again", after_seconds: seconds }));
    const key = randomUUID();
    const first = await post(key, unique({ client_reference: "a", fallback: steps }));
    assertReused(await post(key, unique({ client_reference: "a", fallback: steps.toReversed() })));
    assertReplayOf(first, await post(key, unique({ client_reference: "a", fallback: steps })));
  });

  test("and a query string is another request, and the original still replays", async () => {
    const key = randomUUID();
    const body = unique();
    const first = await post(key, body);
    const changed = await godwit.request("POST", "/v1/messages?priority=high", { key: apiKey, idempotencyKey: key, body });
    assert.ok([400, 422].includes(changed.status) && !isReplay(changed), changed.text);
    assertReplayOf(first, await post(key, body));
    assert.deepEqual(await effectCount(godwit, body), ONCE);
  });
});

describe("an idempotency key", () => {
  test("is the same in upper case and in quotes", async () => {
    const key = randomUUID();
    const first = await post(key);
    for (const form of [key.toUpperCase(), `"${key}"`, `"${key.toUpperCase()}"`]) assertReplayOf(first, await post(form));
  });

  const v4 = "3f2a1c64-9b1e-4d7a-8c55-0e6b7f3a9d21";
  const bad: Record<string, string> = {
    "of UUID version 1": "3f2a1c64-9b1e-11ee-8c55-0e6b7f3a9d21",
    "of UUID version 7": "018f3a1c-9b1e-7d7a-8c55-0e6b7f3a9d21",
    "of another UUID variant": "3f2a1c64-9b1e-4d7a-cc55-0e6b7f3a9d21",
    "that is the nil UUID": "00000000-0000-0000-0000-000000000000",
    "without hyphens": v4.replaceAll("-", ""),
    "in braces": `{${v4}}`,
    "as a URN": `urn:uuid:${v4}`,
    "with only one quote": `"${v4}`,
    "in single quotes": `'${v4}'`,
    "twice in one header": `${v4}, ${v4}`,
    "of ten kilobytes": "a".repeat(10_000),
    "with a character that is not ASCII": `${v4.slice(0, -1)}é`,
    "that is a word": "order-1234",
    "that is empty": "",
  };
  for (const [name, key] of Object.entries(bad)) {
    test(`${name} is refused`, async () => {
      const body = unique();
      const reply = await post(key, body);
      assert.equal(reply.status, 400, reply.text);
      assert.equal(codeOf(reply), "invalid_idempotency_key");
      assert.deepEqual(await effectCount(godwit, body), NEVER);
    });
  }

  test("in two headers is refused, also when both are equal", async () => {
    const key = randomUUID();
    const bytes = postBytes(apiKey, key).replace("Host:", `Connection: close\r\nIdempotency-Key: ${key}\r\nHost:`);
    const answer = await godwit.raw(bytes);
    assert.match(answer, /^HTTP\/1\.1 400 /);
    assert.match(answer, /"invalid_idempotency_key"/);
    assert.equal(await isStored(godwit, key), false);
  });

  test("is optional: without one each request creates a message", async () => {
    const body = unique();
    for (let count = 0; count < 2; count += 1) assertFirst(await godwit.request("POST", "/v1/messages", { key: apiKey, body }));
    assert.deepEqual(await effectCount(godwit, body), { messages: 2, events: 2, queued: 2 });
  });

  test("is ignored on a GET, even an invalid one, and nothing is stored", async () => {
    const key = randomUUID();
    for (const idempotencyKey of [key, key, "not a key"]) {
      const reply = await godwit.request("GET", "/v1/messages?limit=1", { key: apiKey, idempotencyKey });
      assert.equal(reply.status, 200);
      assert.equal(isReplay(reply), false);
    }
    assert.equal(await isStored(godwit, key), false);
  });
});

describe("the owner of a key", () => {
  test("is the environment: test, live and other accounts use one key independently, and nothing leaks", async () => {
    const key = randomUUID();
    const credentials = [
      apiKey,
      await godwit.key({ environment: "live" }),
      await godwit.key({ account: "neighbor" }),
      await godwit.key({ account: "neighbor", environment: "live" }),
      await godwit.key({ account: "newcomer" }),
    ];
    // Each request has another body: even a 422 must not reveal that the key is used elsewhere.
    const bodies = credentials.map((_, index) => unique({ body: `number ${index}` }));
    const replies: Reply[] = [];
    for (const [index, credential] of credentials.entries()) replies.push(await post(key, bodies[index], { key: credential }));
    // Live has no link, and its refusal is the stored response of its own key.
    assert.deepEqual(
      replies.map((reply) => [reply.status, codeOf(reply), isReplay(reply)]),
      [202, 422, 202, 422, 202].map((status) => [status, status === 422 ? "no_route" : undefined, false]),
    );
    assert.equal(new Set(replies.map(({ text }) => text)).size, replies.length);
    for (const [index, credential] of credentials.entries()) {
      const first = replies[index] as Reply;
      assertReplayOf(first, await post(key, bodies[index], { key: credential }));
      assert.deepEqual(await effectCount(godwit, bodies[index] ?? {}), first.status === 202 ? ONCE : NEVER);
      // The body of another environment is another request for this key.
      assertReused(await post(key, bodies[(index + 1) % bodies.length], { key: credential }));
    }
  });
});

describe("a key is not stored for", () => {
  const faults: Record<
    string,
    { status: number; body?: unknown; options?: RequestOptions; path?: string; withKey?: () => Promise<string> }
  > = {
    "a schema fault": { status: 400, body: { ...sms(), channel: "pigeon" } },
    "broken JSON": { status: 400, body: '{"recipient":' },
    "no credential": { status: 401, withKey: async () => "" },
    "a missing scope": { status: 403, withKey: () => godwit.key({ scopes: ["messages:read"] }) },
    "a wrong path": { status: 404, path: "/v1/massages" },
    "a body that is too large": { status: 413, body: { ...sms(), body: "x".repeat(70_000) } },
    "a wrong media type": { status: 415, options: { headers: { "content-type": "text/plain" } } },
  };
  for (const [name, { status, body = sms(), options = {}, path = "/v1/messages", withKey }] of Object.entries(faults)) {
    test(`${name} (${status}): the corrected request with the same key is executed`, async () => {
      const key = randomUUID();
      const credential = withKey === undefined ? apiKey : await withKey();
      const refused = await godwit.request("POST", path, { key: credential, idempotencyKey: key, body, ...options });
      assert.equal(refused.status, status, refused.text);
      assert.equal(await isStored(godwit, key), false);
      const correct = unique();
      assertFirst(await post(key, correct));
      assert.deepEqual(await effectCount(godwit, correct), ONCE);
    });
  }

  test("a 429: the same request is executed when there is quota again", async () => {
    await godwit.rows("insert into tiers (name, requests_per_second, burst) values ('tiny', 1, 1)");
    const tiny = await godwit.key({ account: "tiny" });
    await godwit.rows("update environments set tier = 'tiny' where account_id = (select id from accounts where name = 'tiny')");
    const key = randomUUID();
    const body = unique();
    assertFirst(await post(randomUUID(), sms(), { key: tiny }));
    const refused = await post(key, body, { key: tiny });
    assert.equal(refused.status, 429);
    assert.equal(await isStored(godwit, key), false);
    const ask = async (): Promise<Reply | undefined> => {
      const reply = await post(key, body, { key: tiny });
      return reply.status === 429 ? undefined : reply;
    };
    assertFirst((await poll(ask, { timeoutMs: LIMIT_MS, everyMs: 200 })) as Reply);
    assert.deepEqual(await effectCount(godwit, body), ONCE);
  });
});

describe("a refusal by a business rule", () => {
  const refusals: readonly (readonly [what: string, code: string, fields: object, environment?: "live"])[] = [
    ["for more segments than max_segments", "max_segments_exceeded", { body: "x".repeat(500), max_segments: 1 }],
    ["for an unknown template", "template_not_found", { body: undefined, template_id: "no_such_template" }],
    ["for an environment without a link", "no_route", {}, "live"],
  ];
  for (const [what, code, fields, environment = "test"] of refusals) {
    test(`${what} is stored, and replays the same bytes`, async () => {
      const key = randomUUID();
      const body = unique(fields);
      const options = { key: await godwit.key({ environment }) };
      const first = await post(key, body, options);
      assert.deepEqual([first.status, codeOf(first)], [422, code], first.text);
      assert.equal(isReplay(first), false);
      for (let count = 0; count < 3; count += 1) assertReplayOf(first, await post(key, body, options));
      assertReused(await post(key, { ...body, body: "short", template_id: undefined }, options));
      assertReplayOf(first, await post(key, body, options));
      assert.deepEqual(await effectCount(godwit, body), NEVER);
    });
  }
});

describe("the 24 hours of a key", () => {
  test("replay the first response until just before their end", async () => {
    const key = randomUUID();
    const first = await post(key);
    await age(key, "23:59:30");
    assertReplayOf(first, await post(key));
    assertReused(await post(key, { ...sms(), body: "another" }));
  });

  test("end with a new key, for any request", async () => {
    const key = randomUUID();
    const body = unique();
    const first = await post(key, body);
    await age(key, "24:00:00");
    const later = await post(key, body);
    assertFirst(later);
    assert.notEqual(later.json["id"], first.json["id"]);
    assertReplayOf(later, await post(key, body));
    await age(key, "24:00:00");
    assertFirst(await post(key, { ...body, body: "another" }));
    assert.deepEqual(await effectCount(godwit, body), { messages: 3, events: 3, queued: 3 });
  });

  test("are not extended by a replay", async () => {
    const key = randomUUID();
    const times = () =>
      godwit.rows("select created_at, expires_at, expires_at - created_at = '24 hours' as is_day from idempotency_keys where key = $1", [
        key,
      ]);
    await post(key);
    await age(key, "12:00:00");
    const halfway = await times();
    assert.equal(isReplay(await post(key)), true);
    assert.deepEqual(await times(), halfway);
    assert.equal((halfway[0] as { is_day: boolean }).is_day, true);
    await age(key, "12:00:00");
    assertFirst(await post(key));
  });
});
