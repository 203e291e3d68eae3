/** The axes of charts have round values, and few labels. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { toLabelPositions, toTicks } from "../src/ui/chart-scale.ts";

test("the value axis has round steps up to the highest value", () => {
  assert.deepEqual(toTicks("count", 0), [0, 1]);
  assert.deepEqual(toTicks("count", 1), [0, 1]);
  assert.deepEqual(toTicks("count", 3), [0, 1, 2, 3]);
  assert.deepEqual(toTicks("count", 17), [0, 5, 10, 15, 20]);
  assert.deepEqual(toTicks("count", 1_234), [0, 500, 1_000, 1_500]);
  assert.deepEqual(toTicks("share", 0.3), [0, 0.25, 0.5, 0.75, 1]);
  assert.deepEqual(toTicks("duration", 1_060), [0, 500, 1_000, 1_500]);
  assert.deepEqual(toTicks("duration", 100_000), [0, 30_000, 60_000, 90_000, 120_000]);
  assert.deepEqual(toTicks("duration", 9 * 3_600_000), [0, 10_800_000, 21_600_000, 32_400_000]);
});

test("every value is within at most five lines", () => {
  for (const kind of ["count", "duration", "share"] as const)
    for (let value = 1; value < 1e9; value *= 1.7) {
      const ticks = toTicks(kind, kind === "share" ? 1 / value : value);
      assert.ok(ticks.length <= 5 && (ticks.at(-1) ?? 0) >= (kind === "share" ? 1 / value : value), `${kind} ${value}: ${ticks.join()}`);
    }
});

test("the time axis has at most six labels, and one for the last time", () => {
  for (const count of [1, 2, 6, 7, 24, 60, 168, 200]) {
    const positions = toLabelPositions(count);
    assert.ok(positions.length <= 6 && positions.length >= Math.min(count, 4), `${count}: ${positions.join()}`);
    assert.equal(positions.at(-1), count - 1);
  }
});
