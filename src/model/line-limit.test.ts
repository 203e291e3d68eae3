/** The limit of log lines for one failure. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { LineLimit } from "./line-limit.ts";

test("ten lines of a failure pass in a second, and the next second counts those that were left out", () => {
  const limit = new LineLimit();
  const taken = Array.from({ length: 25 }, (_, index) => limit.take("one", index));
  assert.deepEqual(taken, [...Array.from({ length: 10 }, () => 0), ...Array.from({ length: 15 }, () => undefined)]);
  assert.equal(limit.take("another", 30), 0, "another failure has its own lines");
  assert.equal(limit.take("one", 1_000), 15);
  assert.equal(limit.take("one", 1_001), 0);
});
