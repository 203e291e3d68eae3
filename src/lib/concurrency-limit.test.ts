import assert from "node:assert/strict";
import { test } from "node:test";
import { ConcurrencyLimit } from "./concurrency-limit.ts";

test("work runs up to the limit, and further work follows in order of arrival", async () => {
  const limit = new ConcurrencyLimit(2, 100);
  const order: number[] = [];
  let running = 0;
  let most = 0;
  const work = async (index: number): Promise<void> => {
    running += 1;
    most = Math.max(most, running);
    order.push(index);
    await new Promise((resolve) => setImmediate(resolve));
    running -= 1;
  };
  await Promise.all(Array.from({ length: 20 }, (_, index) => limit.run(() => work(index))));
  assert.equal(most, 2);
  assert.deepEqual(
    order,
    Array.from({ length: 20 }, (_, index) => index),
  );
});

test("failed work rejects and frees its slot", async () => {
  const limit = new ConcurrencyLimit(1, 100);
  const failing = limit.run(() => Promise.reject(new Error("no")));
  const next = limit.run(async () => "yes");
  await assert.rejects(failing, /no/);
  assert.equal(await next, "yes");
  assert.equal(await limit.run(async () => "again"), "again");
});

test("the limit is full while as many wait as may, and not once one of them runs", async () => {
  const limit = new ConcurrencyLimit(1, 2);
  const blockers = Array.from({ length: 3 }, () => Promise.withResolvers<void>());
  const all = blockers.map(({ promise }) => limit.run(() => promise));
  assert.equal(limit.isFull, true);
  blockers[0]?.resolve();
  await all[0];
  assert.equal(limit.isFull, false);
  for (const { resolve } of blockers) resolve();
  await Promise.all(all);
  assert.equal(limit.isFull, false);
});
