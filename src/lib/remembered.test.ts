import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { test } from "node:test";
import { remembered } from "./remembered.ts";

test("calls within the trust time share one load, and a later call loads again", async () => {
  let loads = 0;
  const load = remembered(50, async () => (loads += 1));
  assert.deepEqual(await Promise.all([load(), load(), load()]), [1, 1, 1]);
  await sleep(60);
  assert.deepEqual(await Promise.all([load(), load()]), [2, 2]);
});
