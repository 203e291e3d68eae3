/** The share of its quota that an environment gets, and the number of writes to the bucket. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { startGodwit, type Godwit } from "../support/harness.ts";
import { CHEAP, hammer } from "../support/quota-load.ts";

let godwit: Godwit;
let neighbor: Godwit;
before(async () => {
  godwit = await startGodwit();
  neighbor = await startGodwit({ databaseUrl: godwit.databaseUrl });
});
after(async () => {
  await neighbor.stop();
  await godwit.stop();
});

/** Creates a key of an environment without requests so far. */
async function freshKey(tier: string): Promise<string> {
  const account = `pace ${tier}`;
  const key = await godwit.key({ account });
  await godwit.rows("update environments set tier = $1 where account_id = (select id from accounts where name = $2)", [tier, account]);
  return key;
}

test("the headers contain the remaining quota right after a request", async () => {
  const key = await freshKey("sandbox");
  const reply = await godwit.request("GET", CHEAP, { key });
  assert.equal(reply.headers.get("ratelimit"), '"sandbox";r=49;t=1');
  const sent = await godwit.send(key);
  assert.match(sent.headers.get("ratelimit") ?? "", /^"sandbox";r=4[789];t=1$/);
});

describe("two nodes", () => {
  for (const [tier, rate, burst] of [
    ["sandbox", 25, 50],
    ["standard", 200, 400],
  ] as const) {
    test(`on the tier ${tier} together admit at most its quota, and at least nine tenths of it`, async () => {
      const key = await freshKey(tier);
      const startedAt = performance.now();
      const lastsUntil = startedAt + 3_000;
      const [here, there] = await Promise.all([hammer(godwit, key, lastsUntil, 12), hammer(neighbor, key, lastsUntil, 12)]);
      const admitted = here.admitted + there.admitted;
      const most = burst + (rate * (performance.now() - startedAt)) / 1_000;
      const due = burst + rate * 3;
      assert.ok(here.requests + there.requests > most * 1.5, "the requests exceed the quota");
      assert.ok(admitted <= most, `${admitted} admitted, ${most} allowed`);
      assert.ok(admitted >= due * 0.9, `${admitted} admitted, ${due} expected`);
      assert.ok(here.admitted > 0 && there.admitted > 0, "both nodes admit requests");
    });
  }

  test("write the bucket far less often than they get requests", async () => {
    await godwit.rows("insert into tiers (name, requests_per_second, burst) values ('wide', 2000, 4000)");
    const key = await freshKey("wide");
    await godwit.rows("create sequence bucket_writes");
    await godwit.rows(
      "create function count_write() returns trigger language plpgsql as $$ begin perform nextval('bucket_writes'); return null; end $$",
    );
    await godwit.rows("create trigger count_writes after update on quota_buckets for each row execute function count_write()");
    const { requests } = await hammer(godwit, key, performance.now() + 2_000, 16);
    await godwit.rows("drop trigger count_writes on quota_buckets");
    const [row] = await godwit.rows<{ writes: number }>("select last_value as writes from bucket_writes");
    assert.ok(requests > 200, "the node gets enough requests");
    assert.ok((row?.writes ?? requests) <= requests / 20, `${row?.writes} writes for ${requests} requests`);
  });
});
