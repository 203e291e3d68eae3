/** How often: one bucket an environment, whoever asks and whichever node is asked. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { Agent, get } from "node:http";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { assertProblem, until } from "../support/expect.ts";
import { items } from "../support/batch-caller.ts";
import { sms, startGodwit, type Godwit, type KeyOptions, type Reply } from "../support/harness.ts";

// Answered 404 after the quota was asked, and before the database is.
const CHEAP = "/v1/messages/none";

let godwit: Godwit;
let neighbour: Godwit;
before(async () => {
  godwit = await startGodwit();
  neighbour = await startGodwit({ databaseUrl: godwit.databaseUrl });
});
after(async () => {
  await neighbour.stop();
  await godwit.stop();
});

let accounts = 0;
/** A key of an environment that was never asked before. */
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

/** Asks a server over and over on some connections until the time is up. */
async function hammer(server: Godwit, key: string, untilMs: number, connections: number): Promise<{ admitted: number; asked: number }> {
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  let admitted = 0;
  let asked = 0;
  const once = (): Promise<number> =>
    new Promise((resolve, reject) => {
      const sent = get(`${server.url}${CHEAP}`, { agent, headers: { authorization: `Bearer ${key}` } }, (response) => {
        response.resume();
        response.on("end", () => resolve(response.statusCode ?? 0));
      });
      sent.on("error", reject);
    });
  const loop = async (): Promise<void> => {
    while (performance.now() < untilMs) {
      asked += 1;
      const status = await once();
      assert.ok(status === 404 || status === 429, `unexpected ${status}`);
      if (status === 404) admitted += 1;
    }
  };
  await Promise.all(Array.from({ length: connections }, loop));
  agent.destroy();
  return { admitted, asked };
}

describe("the headers", () => {
  test("tell the policy, and what is left of it", async () => {
    const key = await freshKey();
    const reply = await ask(godwit, key);
    assert.equal(reply.headers.get("ratelimit-policy"), '"sandbox";q=50;w=2');
    assert.equal(reply.headers.get("ratelimit"), '"sandbox";r=49;t=1');
    const sent = await godwit.send(key);
    assert.match(sent.headers.get("ratelimit") ?? "", /^"sandbox";r=4[789];t=1$/);
  });

  test("are those of the environment's own tier", async () => {
    const reply = await ask(godwit, await freshKey({ environment: "live" }));
    assert.equal(reply.headers.get("ratelimit-policy"), '"standard";q=400;w=2');
  });

  test("are on refusals as well, once the credential is known", async () => {
    const key = await freshKey({ scopes: ["messages:read"] });
    for (const reply of [await godwit.send(key), await godwit.request("GET", "/v1/messages?limit=0", { key })]) {
      assert.ok([400, 403].includes(reply.status));
      assert.match(reply.headers.get("ratelimit") ?? "", /^"sandbox";r=\d+;t=\d+$/);
    }
    assert.equal((await godwit.request("GET", CHEAP)).headers.get("ratelimit-policy"), null);
  });

  test("are absent where there is no limit", async () => {
    const key = await freshKey({ tier: "unlimited" });
    const replies = await Promise.all(Array.from({ length: 200 }, () => ask(godwit, key)));
    for (const { status, headers } of replies) {
      assert.equal(status, 404);
      assert.deepEqual([headers.get("ratelimit"), headers.get("ratelimit-policy")], [null, null]);
    }
  });

  test("name a window of whole seconds, one at least", async () => {
    await defineTier("brisk", 100, 10);
    assert.equal((await ask(godwit, await freshKey({ tier: "brisk" }))).headers.get("ratelimit-policy"), '"brisk";q=10;w=1');
  });
});

describe("a request over quota", () => {
  test("is a 429 with a whole number of seconds, and was not processed", async () => {
    await defineTier("lone", 1, 1);
    const key = await freshKey({ tier: "lone" });
    const idempotencyKey = randomUUID();
    const post = (): ReturnType<Godwit["request"]> => godwit.request("POST", "/v1/messages", { key, body: sms(), idempotencyKey });
    const count = async (): Promise<number> =>
      (await godwit.rows("select 1 from idempotency_keys where key = $1::uuid union all select 1 from messages", [idempotencyKey])).length;
    const already = await count();
    assert.equal((await ask(godwit, key)).status, 404);
    const refused = await post();
    assertProblem(refused, "rate_limit_exceeded");
    assert.match(refused.headers.get("retry-after") ?? "", /^[1-9]\d*$/);
    assert.match(refused.headers.get("ratelimit") ?? "", /^"lone";r=0;t=\d+$/);
    assert.equal(await count(), already);

    const retryMs = Number(refused.headers.get("retry-after")) * 1_000;
    const accepted = await until(
      "the quota to come back",
      async () => {
        const reply = await post();
        return reply.status === 429 ? undefined : reply;
      },
      retryMs + 1_000,
    );
    assert.equal(accepted.status, 202);
    assert.equal(accepted.headers.get("idempotent-replayed"), null, "the refusal was not stored under the key");
  });

  test("a replay counts like any other", async () => {
    const key = await freshKey();
    const options = { key, body: sms(), idempotencyKey: randomUUID() };
    const replies = await Promise.all(Array.from({ length: 90 }, () => godwit.request("POST", "/v1/messages", options)));
    assert.ok(replies.some(({ status }) => status === 429));
  });
});

describe("the burst", () => {
  test("of a fresh environment is admitted whole, and no more; then it refills", async () => {
    const key = await freshKey();
    const startedAt = performance.now();
    const replies = await Promise.all(Array.from({ length: 80 }, () => ask(godwit, key)));
    const seconds = (performance.now() - startedAt) / 1_000;
    const admitted = replies.filter(({ status }) => status === 404).length;
    assert.ok(admitted >= 50 && admitted <= 50 + 25 * seconds, `${admitted} in ${seconds} s`);
    assert.equal(replies.filter(({ status }) => status === 429).length, 80 - admitted);
    await until("it to refill", async () => ((await ask(godwit, key)).status === 404 ? true : undefined), 2_000);
  });

  test("test and live have each their own, and so has every account", async () => {
    const account = "two worlds";
    const inTest = await godwit.key({ account });
    const inLive = await godwit.key({ account, environment: "live" });
    const replies = await Promise.all(Array.from({ length: 100 }, () => ask(godwit, inTest)));
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
  const remaining = ({ headers }: Reply): number => Number(/;r=(\d+);/.exec(headers.get("ratelimit") ?? "")?.[1]);
  // So slow that what comes back meanwhile does not matter.
  before(() => defineTier("slow", 1, 100));

  for (const [count, cost] of [
    [1, 1],
    [50, 1],
    [51, 2],
    [100, 2],
    [101, 3],
    [1_000, 20],
  ] as const)
    test(`of ${count} costs ${cost}`, async () => {
      const reply = await post(await freshKey({ tier: "slow" }), count);
      assert.equal(reply.status, 202, reply.text);
      const left = remaining(reply);
      assert.ok(left >= 100 - cost && left <= 100 - cost + 2, `${left} are left of 100`);
    });

  test("costs as much when it is replayed, and as much when it is refused for one item too many", async () => {
    const key = await freshKey({ tier: "slow" });
    const idempotencyKey = randomUUID();
    assert.equal((await post(key, 1_000, { idempotencyKey })).status, 202);
    const again = await post(key, 1_000, { idempotencyKey });
    assert.equal(again.headers.get("idempotent-replayed"), "true");
    assert.ok(remaining(again) <= 62, again.headers.get("ratelimit") ?? "");
    const refused = await post(key, 1_001);
    assertProblem(refused, "invalid_request_payload");
    assert.ok(remaining(refused) <= 44, refused.headers.get("ratelimit") ?? "");
  });

  test("without a list of items costs one", async () => {
    const key = await freshKey({ tier: "slow" });
    for (const body of [{}, { items: "x" }, { items: {} }, { items: [] }, [], "x"])
      assertProblem(
        await godwit.request("POST", "/v1/batches", { key, body: JSON.stringify(body), headers: { "content-type": "application/json" } }),
        "invalid_request_payload",
      );
    const left = remaining(await ask(godwit, key));
    assert.ok(left >= 93 && left <= 96, `${left} are left`);
  });

  test("over quota is a 429 that says when, stores nothing, and is taken whole later under the same key", async () => {
    await defineTier("steady", 10, 30);
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
    // As a client does that is told when to come again.
    for (let tries = 0; tries < 3 && accepted.status === 429; tries += 1) {
      await sleep(Number(accepted.headers.get("retry-after")) * 1_000);
      accepted = await post(key, 1_000, { idempotencyKey });
    }
    assert.equal(accepted.status, 202, accepted.text.slice(0, 300));
    assert.equal(accepted.headers.get("idempotent-replayed"), null);
  });

  test("with many others, on two nodes, never gets more than the burst and what comes back", async () => {
    const key = await freshKey({ tier: "sandbox" });
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
    await Promise.all(sizes.flatMap((count) => [work(godwit, count), work(neighbour, count)]));
    const most = 50 + (25 * (performance.now() - startedAt)) / 1_000;
    assert.ok(refused > 0, "there was more asked than allowed");
    assert.ok(admitted <= most, `${admitted} admitted, ${most} allowed`);
  });

  test("larger than the burst is taken when the bucket is full", async () => {
    await defineTier("small", 1, 10);
    const key = await freshKey({ tier: "small" });
    const reply = await post(key, 1_000);
    assert.equal(reply.status, 202, reply.text.slice(0, 300));
    assert.ok(remaining(reply) <= 1, "and nothing is left then");
    assertProblem(await post(key, 1_000), "rate_limit_exceeded");
  });

  test("is taken where a single request is all there is", async () => {
    await defineTier("single", 1, 1);
    assert.equal((await post(await freshKey({ tier: "single" }), 1_000)).status, 202);
  });

  test("costs nothing where there is no limit", async () => {
    const reply = await post(await freshKey({ tier: "unlimited" }), 1_000);
    assert.deepEqual([reply.status, reply.headers.get("ratelimit")], [202, null]);
  });
});

describe("two nodes", () => {
  for (const [tier, rate, burst] of [
    ["sandbox", 25, 50],
    ["standard", 200, 400],
  ] as const) {
    test(`on the tier ${tier} together admit what it allows, never more, and nine tenths of it at least`, async () => {
      const key = await freshKey({ tier });
      const startedAt = performance.now();
      const lastsUntil = startedAt + 3_000;
      const [here, there] = await Promise.all([hammer(godwit, key, lastsUntil, 12), hammer(neighbour, key, lastsUntil, 12)]);
      const admitted = here.admitted + there.admitted;
      const most = burst + (rate * (performance.now() - startedAt)) / 1_000;
      const due = burst + rate * 3;
      assert.ok(here.asked + there.asked > most * 1.5, "there was more asked than allowed");
      assert.ok(admitted <= most, `${admitted} admitted, ${most} allowed`);
      assert.ok(admitted >= due * 0.9, `${admitted} admitted, ${due} were due`);
      assert.ok(here.admitted > 0 && there.admitted > 0, "neither node starved");
    });
  }

  test("write the bucket far less often than they are asked", async () => {
    await defineTier("wide", 2_000, 4_000);
    const key = await freshKey({ tier: "wide" });
    await godwit.rows("create sequence bucket_writes");
    await godwit.rows(
      "create function count_write() returns trigger language plpgsql as $$ begin perform nextval('bucket_writes'); return null; end $$",
    );
    await godwit.rows("create trigger count_writes after update on quota_buckets for each row execute function count_write()");
    const { asked } = await hammer(godwit, key, performance.now() + 2_000, 16);
    await godwit.rows("drop trigger count_writes on quota_buckets");
    const [row] = await godwit.rows<{ writes: number }>("select last_value as writes from bucket_writes");
    assert.ok(asked > 200, "the machine was not asleep");
    assert.ok((row?.writes ?? asked) <= asked / 20, `${row?.writes} writes for ${asked} requests`);
  });
});
