import assert from "node:assert/strict";
import { test } from "node:test";
import { TokenBucket } from "./token-bucket.ts";

test("a bucket gives its burst at once, and then its rate", () => {
  // A whole number: sums of others are inexact, and the bucket is empty at one of these moments.
  const start = Math.ceil(performance.now());
  const bucket = new TokenBucket({ perSecond: 2, burst: 3 });
  const take = (afterMs: number, count = 1): boolean => bucket.take(count, start + 1_000 + afterMs);
  assert.deepEqual([take(0), take(0), take(0), take(0)], [true, true, true, false]);
  assert.deepEqual([take(500), take(500), take(1_000)], [true, false, true]);
  assert.equal(take(10_000, 7), true, "more than is left");
  assert.deepEqual([take(11_000), take(12_000), take(12_500)], [false, false, true]);
});
