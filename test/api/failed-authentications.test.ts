/** Requests without a valid credential: counted, delayed for a peer that keeps failing, and found in the log by their peer. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { until } from "../support/expect.ts";
import { startGodwit, type Godwit } from "../support/harness.ts";
import { madeUpKey, oauthClientOf } from "../support/keys.ts";
import { readMetrics } from "../support/metrics-text.ts";

let godwit: Godwit;

before(async () => {
  godwit = await startGodwit({ isOneProcess: true, timings: { failureDelayMs: 50 } });
});

after(() => godwit.stop());

const failuresOf = async (code: string): Promise<number> =>
  (await readMetrics(godwit)).get(`godwit_authentication_failures_total{code="${code}"}`) ?? 0;

test("failures are counted, and only they wait once a peer has failed too often", async () => {
  const atStart = await failuresOf("unauthorized_invalid_token");
  const ask = (key: string | undefined): ReturnType<Godwit["request"]> => godwit.request("GET", "/v1/credential", { key });
  for (let time = 0; time < 40; time += 1) assert.equal((await ask(madeUpKey())).status, 401);
  assert.equal((await failuresOf("unauthorized_invalid_token")) - atStart, 40);
  const startedAt = performance.now();
  assert.equal((await ask(undefined)).status, 401);
  assert.ok(performance.now() - startedAt >= 500, "a failure beyond the free ones waits");
  // The failure waits for more than half a second, and a valid credential does not wait for it.
  const key = await godwit.key();
  const order: string[] = [];
  await Promise.all([ask(madeUpKey()).then(() => order.push("made up")), ask(key).then(({ status }) => order.push(`valid ${status}`))]);
  assert.deepEqual(order, ["valid 200", "made up"]);
});

test("the log line of a request names the peer, and the key and the account of a valid credential", async () => {
  const key = await godwit.key();
  const client = await oauthClientOf(godwit, key);
  await godwit.request("GET", "/v1/usage", { key });
  await godwit.request("GET", "/v1/usage", { key: madeUpKey() });
  // A line is written after the client has its response.
  const lines = await until("both lines are written", async () => {
    const found = godwit.logs.filter(({ route }) => route === "/v1/usage");
    return found.length === 2 ? found : undefined;
  });
  const [valid, refused] = lines;
  assert.equal(valid?.["key_id"], client.id);
  assert.match(String(valid?.["account_id"]), /^acct_/);
  assert.equal(valid?.["peer"], "127.0.0.1");
  assert.equal(refused?.["status"], 401);
  assert.equal(refused?.["peer"], "127.0.0.1");
  assert.ok(refused !== undefined && !("key_id" in refused));
});
