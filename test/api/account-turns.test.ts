/** One account with many slow requests: the requests of other accounts have their connections to the database. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { clientOfAccount } from "../support/client.ts";
import { until } from "../support/expect.ts";
import { startGodwit } from "../support/harness.ts";
import { HELD_BODY, holdAccepts, Lock } from "../support/locks.ts";
import { readMetrics } from "../support/metrics-text.ts";

test("an account whose requests are stuck does not delay another account, and too many of them get 429", async () => {
  // The limits of an account are those of a process.
  await using godwit = await startGodwit({ isOneProcess: true });
  const [greedy, modest] = [await clientOfAccount(godwit, "greedy"), await clientOfAccount(godwit, "modest")];
  await using lock = await Lock.take(godwit.databaseUrl, "lock table templates in access exclusive mode");
  const stuck = Array.from({ length: 300 }, () => greedy.request("GET", "/v1/templates"));
  const rejected = await until("requests are refused", async () =>
    (await readMetrics(godwit)).get('godwit_http_rejected_total{reason="work_of_account"}'),
  );
  assert.ok(rejected > 0);
  for (let count = 0; count < 5; count += 1) {
    assert.equal((await godwit.send(modest.key)).status, 202);
    assert.equal((await modest.request("GET", "/v1/messages")).status, 200);
  }
  await lock.release();
  const refused = (await Promise.all(stuck)).filter(({ status }) => status === 429);
  assert.ok(refused.length > 0);
  for (const { headers } of refused) assert.match(headers.get("retry-after") ?? "", /^[1-9]\d*$/);
});

test("where many messages of an account wait, its bulk messages get 429 first, and the others are accepted", async () => {
  await using godwit = await startGodwit({ isOneProcess: true });
  await godwit.unlimited();
  const [busy, other] = [await clientOfAccount(godwit, "busy"), await clientOfAccount(godwit, "other")];
  // Beside another account with work, few messages of an account are stored at a time, and the others wait.
  assert.equal((await godwit.send(other.key)).status, 202);
  const hold = await holdAccepts(godwit.databaseUrl);
  const held = Array.from({ length: 40 }, () => godwit.send(busy.key, { body: HELD_BODY }));
  await hold.waiting();
  const bulk = Array.from({ length: 400 }, () => godwit.send(busy.key, { priority: "bulk" }));
  await until("a bulk message is refused", async () =>
    (await readMetrics(godwit)).get('godwit_http_rejected_total{reason="work_of_account"}'),
  );
  const normal = Array.from({ length: 40 }, () => godwit.send(busy.key));
  await hold[Symbol.asyncDispose]();
  for (const { status } of await Promise.all([...held, ...normal])) assert.equal(status, 202);
  const statuses = new Set((await Promise.all(bulk)).map(({ status }) => status));
  assert.deepEqual(statuses, new Set([202, 429]));
});
