/** The quota: one bucket for each environment, shared by all credentials and all nodes. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { items } from "../support/client.ts";
import { assertProblem, until } from "../support/expect.ts";
import { CHEAP, hammer } from "../support/quota-load.ts";
import { sms, startGodwit, type Godwit, type KeyOptions, type Reply } from "../support/harness.ts";

let godwit: Godwit;
let neighbor: Godwit;
before(async () => {
  // A process can lend part of the burst to its requests, so the exact number of admitted requests holds for one process.
  godwit = await startGodwit({ isOneProcess: true });
  neighbor = await startGodwit({ databaseUrl: godwit.databaseUrl });
  // So slow that the bucket hardly refills during a test.
  await defineTier("slow", 1, 100);
});
after(async () => {
  await neighbor.stop();
  await godwit.stop();
});

let accounts = 0;
/** Creates a key of an environment without requests so far. */
async function freshKey(options: KeyOptions & { tier?: string } = {}): Promise<string> {
  accounts += 1;
  const account = `quota ${accounts}`;
  const key = await godwit.key({ account, ...options });
  if (options.tier !== undefined)
    await godwit.rows("update environments set tier = $1 where account_id = (select id from accounts where name = $2)", [
      options.tier,
      account,
    ]);
  return key;
}

const defineTier = (name: string, rate: number, burst: number): Promise<unknown> =>
  godwit.rows("insert into tiers (name, requests_per_second, burst) values ($1, $2, $3)", [name, rate, burst]);

const ask = (server: Godwit, key: string): ReturnType<Godwit["request"]> => server.request("GET", CHEAP, { key });

describe("the ratelimit headers", () => {
  test("contain the policy and the remaining quota", async () => {
    const key = await freshKey();
    const reply = await ask(godwit, key);
    assert.equal(reply.headers.get("ratelimit-policy"), '"sandbox";q=50;w=2');
    // The bucket refills by one request every 40 milliseconds.
    assert.match(reply.headers.get("ratelimit") ?? "", /^"sandbox";r=(49;t=1|50;t=0)$/);
    const sent = await godwit.send(key);
    assert.match(sent.headers.get("ratelimit") ?? "", /^"sandbox";r=(4[789];t=1|50;t=0)$/);
  });

  test("follow the tier of the environment", async () => {
    const reply = await ask(godwit, await freshKey({ environment: "live" }));
    assert.equal(reply.headers.get("ratelimit-policy"), '"standard";q=400;w=2');
  });

  test("are also on refusals with a valid credential", async () => {
    const key = await freshKey({ scopes: ["messages:read"] });
    for (const reply of [await godwit.send(key), await godwit.request("GET", "/v1/messages?limit=0", { key })]) {
      assert.ok([400, 403].includes(reply.status));
      assert.match(reply.headers.get("ratelimit") ?? "", /^"sandbox";r=\d+;t=\d+$/);
    }
    assert.equal((await godwit.request("GET", CHEAP)).headers.get("ratelimit-policy"), null);
  });

  test("are absent without a limit", async () => {
    const key = await freshKey({ tier: "unlimited" });
    const replies = await Promise.all(Array.from({ length: 200 }, () => ask(godwit, key)));
    for (const { status, headers } of replies) {
      assert.equal(status, 404);
      assert.deepEqual([headers.get("ratelimit"), headers.get("ratelimit-policy")], [null, null]);
    }
  });

  test("contain a window of whole seconds, at least one", async () => {
    await defineTier("brisk", 100, 10);
    assert.equal((await ask(godwit, await freshKey({ tier: "brisk" }))).headers.get("ratelimit-policy"), '"brisk";q=10;w=1');
  });
});

describe("a request over quota", () => {
  test("is a 429 with a whole number of seconds, and is not executed", async () => {
    await defineTier("lone", 1, 1);
    const key = await freshKey({ tier: "lone" });
    let idempotencyKey = randomUUID();
    const post = (): ReturnType<Godwit["request"]> => godwit.request("POST", "/v1/messages", { key, body: sms(), idempotencyKey });
    const count = async (): Promise<number> =>
      (await godwit.rows("select 1 from idempotency_keys where key = $1::uuid union all select 1 from messages", [idempotencyKey])).length;
    let already = 0;
    // On a slow machine the bucket may have refilled before the second request.
    const refused = await until("a request is refused", async () => {
      idempotencyKey = randomUUID();
      already = await count();
      await ask(godwit, key);
      const reply = await post();
      return reply.status === 429 ? reply : undefined;
    });
    assertProblem(refused, "rate_limit_exceeded");
    assert.match(refused.headers.get("retry-after") ?? "", /^[1-9]\d*$/);
    assert.match(refused.headers.get("ratelimit") ?? "", /^"lone";r=0;t=\d+$/);
    assert.equal(await count(), already);

    await sleep(Number(refused.headers.get("retry-after")) * 1_000);
    const accepted = await post();
    assert.equal(accepted.status, 202);
    assert.equal(accepted.headers.get("idempotent-replayed"), null, "the refusal is not stored for the key");
  });

  test("may be a replay, which counts like any other request", async () => {
    await defineTier("lean", 1, 20);
    const key = await freshKey({ tier: "lean" });
    const options = { key, body: sms(), idempotencyKey: randomUUID() };
    const replies = await Promise.all(Array.from({ length: 90 }, () => godwit.request("POST", "/v1/messages", options)));
    assert.ok(replies.some(({ status }) => status === 429));
  });
});

describe("the burst", () => {
  test("of a fresh environment is admitted completely, and no more, and then refills", async () => {
    const key = await freshKey();
    const startedAt = performance.now();
    const replies = await Promise.all(Array.from({ length: 80 }, () => ask(godwit, key)));
    const seconds = (performance.now() - startedAt) / 1_000;
    const admitted = replies.filter(({ status }) => status === 404).length;
    assert.ok(admitted >= 50 && admitted <= 50 + 25 * seconds, `${admitted} in ${seconds} s`);
    assert.equal(replies.filter(({ status }) => status === 429).length, 80 - admitted);
    await until("the bucket refills", async () => ((await ask(godwit, key)).status === 404 ? true : undefined));
  });

  test("stays with all nodes: a lease that is renewed before its end does not grow", async () => {
    const key = await freshKey({ tier: "slow" });
    await ask(godwit, key);
    const settlements = new Set<string>();
    await until("the lease is settled eight times", async () => {
      // So slowly that the lease ends before half of it is spent.
      await sleep(200);
      await ask(godwit, key);
      const [bucket] = await godwit.rows<{ refilled_at: Date; leases: Record<string, { tokens: number }> }>(
        `select bucket.refilled_at, bucket.leases
           from quota_buckets bucket
           join accounts on accounts.id = bucket.account_id
          where accounts.name = $1`,
        [`quota ${accounts}`],
      );
      assert.ok(bucket !== undefined);
      // A tenth of the burst, and up to half of the lease before.
      for (const { tokens } of Object.values(bucket.leases)) assert.ok(tokens <= 24, `${tokens} of 100 are leased`);
      settlements.add(bucket.refilled_at.toISOString());
      return settlements.size >= 8 ? true : undefined;
    });
  });

  test("is separate for test and live, and for every account", async () => {
    const account = "two worlds";
    const inTest = await godwit.key({ account });
    const inLive = await godwit.key({ account, environment: "live" });
    await godwit.rows("update environments set tier = 'slow' where account_id = (select id from accounts where name = $1)", [account]);
    const replies = await Promise.all(Array.from({ length: 200 }, () => ask(godwit, inTest)));
    assert.ok(replies.some(({ status }) => status === 429));
    assert.equal((await ask(godwit, inLive)).status, 404);
    assert.equal((await ask(godwit, await freshKey())).status, 404);
  });

  test("is shared by all keys of the environment", async () => {
    const account = "one quota";
    const [first, second] = [await godwit.key({ account }), await godwit.key({ account })];
    const startedAt = performance.now();
    const replies = await Promise.all(Array.from({ length: 120 }, (_, index) => ask(godwit, index % 2 === 0 ? first : second)));
    const most = 50 + (25 * (performance.now() - startedAt)) / 1_000;
    assert.ok(replies.filter(({ status }) => status === 404).length <= most);
  });
});

describe("a batch", () => {
  const post = (key: string, count: number, options: { idempotencyKey?: string; server?: Godwit } = {}): Promise<Reply> => {
    const { server = godwit, ...rest } = options;
    return server.request("POST", "/v1/batches", {
      key,
      body: { defaults: { channel: "sms", body: "Hello" }, items: items(count) },
      ...rest,
    });
  };
  /** Returns a function with the most requests by which the tier `slow` can have refilled since now. */
  const startRefill = (): (() => number) => {
    const startedAt = performance.now();
    return () => Math.ceil((performance.now() - startedAt) / 1_000) + 1;
  };
  const remaining = ({ headers }: Reply): number => Number(/;r=(\d+);/.exec(headers.get("ratelimit") ?? "")?.[1]);
  for (const [count, cost] of [
    [1, 1],
    [50, 1],
    [51, 2],
    [100, 2],
    [101, 3],
    [1_000, 20],
  ] as const)
    test(`of ${count} costs ${cost}`, async () => {
      const key = await freshKey({ tier: "slow" });
      const refilled = startRefill();
      const reply = await post(key, count);
      assert.equal(reply.status, 202, reply.text);
      const left = remaining(reply);
      assert.ok(left >= 100 - cost && left <= 100 - cost + refilled(), `${left} of 100 are left`);
    });

  test("costs the same when it is replayed, and when it is refused for one item too many", async () => {
    const key = await freshKey({ tier: "slow" });
    const refilled = startRefill();
    const idempotencyKey = randomUUID();
    assert.equal((await post(key, 1_000, { idempotencyKey })).status, 202);
    const again = await post(key, 1_000, { idempotencyKey });
    assert.equal(again.headers.get("idempotent-replayed"), "true");
    assert.ok(remaining(again) <= 60 + refilled(), again.headers.get("ratelimit") ?? "");
    const refused = await post(key, 1_001);
    assertProblem(refused, "invalid_request_payload");
    assert.ok(remaining(refused) <= 40 + refilled(), refused.headers.get("ratelimit") ?? "");
  });

  test("without a list of items costs one", async () => {
    const key = await freshKey({ tier: "slow" });
    const refilled = startRefill();
    for (const body of [{}, { items: "x" }, { items: {} }, { items: [] }, [], "x"])
      assertProblem(
        await godwit.request("POST", "/v1/batches", { key, body: JSON.stringify(body), headers: { "content-type": "application/json" } }),
        "invalid_request_payload",
      );
    const left = remaining(await ask(godwit, key));
    assert.ok(left >= 93 && left <= 93 + refilled(), `${left} are left`);
  });

  test("over quota is a 429 with Retry-After, stores nothing, and is accepted later with the same key", async () => {
    // The bucket needs three seconds to refill.
    await defineTier("steady", 5, 25);
    const key = await freshKey({ tier: "steady" });
    const batches = async (): Promise<number> => (await godwit.rows("select from batches")).length;
    assert.equal((await post(key, 1_000)).status, 202);
    const already = await batches();
    const idempotencyKey = randomUUID();
    const refused = await post(key, 1_000, { idempotencyKey });
    assertProblem(refused, "rate_limit_exceeded");
    assert.match(refused.headers.get("retry-after") ?? "", /^[1-9]\d*$/);
    assert.equal(await batches(), already);
    let accepted = refused;
    // Retries as a client does that obeys Retry-After.
    for (let attempts = 0; attempts < 3 && accepted.status === 429; attempts += 1) {
      await sleep(Number(accepted.headers.get("retry-after")) * 1_000);
      accepted = await post(key, 1_000, { idempotencyKey });
    }
    assert.equal(accepted.status, 202, accepted.text.slice(0, 300));
    assert.equal(accepted.headers.get("idempotent-replayed"), null);
  });

  test("together with many others on two nodes never gets more than the burst and the refill", async () => {
    await defineTier("shared", 2, 50);
    const key = await freshKey({ tier: "shared" });
    const startedAt = performance.now();
    let admitted = 0;
    let refused = 0;
    const work = async (server: Godwit, count: number): Promise<void> => {
      while (performance.now() < startedAt + 3_000) {
        const { status } = await post(key, count, { server });
        if (status === 202) admitted += Math.ceil(count / 50);
        else {
          assert.equal(status, 429);
          refused += 1;
        }
      }
    };
    const sizes = [1_000, 500, 60, 1];
    await Promise.all(sizes.flatMap((count) => [work(godwit, count), work(neighbor, count)]));
    const most = 50 + (2 * (performance.now() - startedAt)) / 1_000;
    assert.ok(refused > 0, "the requests exceed the quota");
    assert.ok(admitted <= most, `${admitted} admitted, ${most} allowed`);
  });

  test("that is larger than the burst is accepted when the bucket is full", async () => {
    await defineTier("small", 1, 10);
    const key = await freshKey({ tier: "small" });
    const refilled = startRefill();
    const reply = await post(key, 1_000);
    assert.equal(reply.status, 202, reply.text.slice(0, 300));
    assert.ok(remaining(reply) <= refilled(), "the bucket is empty then");
    assertProblem(await post(key, 1_000), "rate_limit_exceeded");
  });

  test("is accepted with a burst of one request", async () => {
    await defineTier("single", 1, 1);
    assert.equal((await post(await freshKey({ tier: "single" }), 1_000)).status, 202);
  });

  test("costs nothing without a limit", async () => {
    const reply = await post(await freshKey({ tier: "unlimited" }), 1_000);
    assert.deepEqual([reply.status, reply.headers.get("ratelimit")], [202, null]);
  });
});

describe("two nodes", () => {
  for (const [tier, rate, burst] of [
    ["sandbox", 25, 50],
    ["standard", 200, 400],
  ] as const) {
    test(`on the tier ${tier} together never admit more than its quota`, async () => {
      const key = await freshKey({ tier });
      const startedAt = performance.now();
      const lastsUntil = startedAt + 3_000;
      const [here, there] = await Promise.all([hammer(godwit, key, lastsUntil, 12), hammer(neighbor, key, lastsUntil, 12)]);
      const admitted = here.admitted + there.admitted;
      const most = burst + (rate * (performance.now() - startedAt)) / 1_000;
      assert.ok(admitted <= most, `${admitted} admitted, ${most} allowed`);
      assert.ok(here.admitted > 0 && there.admitted > 0, "both nodes admit requests");
    });
  }
});
