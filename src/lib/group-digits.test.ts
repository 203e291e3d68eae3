import assert from "node:assert/strict";
import { test } from "node:test";
import { groupDigits } from "./group-digits.ts";

test("digits are grouped as by the locale en-US", () => {
  for (const value of [0, 7, 999, 1_000, 10_000, 123_456, 1_234_567, 2 ** 53 - 1])
    assert.equal(groupDigits(value), value.toLocaleString("en-US"));
});
