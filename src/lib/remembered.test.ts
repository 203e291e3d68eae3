import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { test } from "node:test";
import { remembered } from "./remembered.ts";

test("many that come together ask once, and whoever comes later asks again", async () => {
  let asked = 0;
  const ask = remembered(50, async () => (asked += 1));
  assert.deepEqual(await Promise.all([ask(), ask(), ask()]), [1, 1, 1]);
  await sleep(60);
  assert.deepEqual(await Promise.all([ask(), ask()]), [2, 2]);
});
