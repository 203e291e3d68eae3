import assert from "node:assert/strict";
import { test } from "node:test";
import { DATABASE_LOCK, LOCKS, OWNER_LOCKS } from "./locks.ts";

test("no two advisory locks have the same numbers", () => {
  const first: readonly number[] = [DATABASE_LOCK, ...Object.values(OWNER_LOCKS)];
  const second: readonly number[] = Object.values(LOCKS);
  assert.equal(new Set(first).size, first.length);
  assert.equal(new Set(second).size, second.length);
});
