import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { isoTime } from "./time.ts";

test("a time is written as toISOString writes it", () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 253_402_300_799_999 }), (timeMs) => {
      assert.equal(isoTime(timeMs), new Date(timeMs).toISOString());
    }),
  );
});

test("times within a minute and at its edges are written differently", () => {
  const start = Date.UTC(2030, 0, 31, 23, 59);
  for (const offset of [-1, 0, 1, 9, 10, 99, 100, 999, 1_000, 9_999, 10_000, 59_999, 60_000]) {
    assert.equal(isoTime(start + offset), new Date(start + offset).toISOString());
  }
});
