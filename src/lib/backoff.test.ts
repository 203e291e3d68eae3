import assert from "node:assert/strict";
import { test } from "node:test";
import { backoffMs } from "./backoff.ts";

const TABLE: readonly (readonly [failures: number, least: number, most: number])[] = [
  [1, 500, 1_000],
  [2, 1_000, 2_000],
  [3, 2_000, 4_000],
  [9, 128_000, 256_000],
  [10, 256_000, 512_000],
  // The limit.
  [11, 300_000, 600_000],
  [100, 300_000, 600_000],
  [1e9, 300_000, 600_000],
];

for (const [failures, least, most] of TABLE) {
  test(`after ${failures} failed attempts the wait is from ${least} to ${most} ms`, () => {
    assert.equal(
      backoffMs(failures, 1_000, 600_000, () => 0),
      least,
    );
    assert.equal(
      backoffMs(failures, 1_000, 600_000, () => 1),
      most,
    );
    for (let time = 0; time < 100; time += 1) {
      const ms = backoffMs(failures, 1_000, 600_000);
      assert.ok(Number.isInteger(ms) && ms >= least && ms <= most, String(ms));
    }
  });
}

test("clients that failed together do not retry together", () => {
  const waits = new Set(Array.from({ length: 50 }, () => backoffMs(5, 1_000, 600_000)));
  assert.ok(waits.size > 40, `only ${waits.size} different waits of 50`);
});
