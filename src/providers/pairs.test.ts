import assert from "node:assert/strict";
import { test } from "node:test";
import { Pairs } from "./pairs.ts";

test("a recipient is held until its time, and counted until one of its messages is taken", () => {
  const pairs = new Pairs();
  assert.deepEqual([pairs.heldMs("a", 0), pairs.next("a")], [0, 1]);
  pairs.hold("a", 4_000);
  assert.deepEqual([pairs.heldMs("a", 1_000), pairs.heldMs("a", 4_000), pairs.heldMs("b", 1_000)], [3_000, 0, 0]);
  assert.equal(pairs.next("a"), 2);
  pairs.hold("a", 20_000);
  assert.deepEqual([pairs.next("a"), pairs.next("b")], [3, 1]);
  pairs.release("a");
  assert.deepEqual([pairs.heldMs("a", 5_000), pairs.next("a")], [0, 1]);
});

test("only so many are remembered, the oldest are forgotten first", () => {
  const pairs = new Pairs();
  for (let count = 0; count < 10_001; count += 1) pairs.hold(`r${count}`, 1_000);
  assert.deepEqual([pairs.heldMs("r0", 0), pairs.heldMs("r1", 0)], [0, 1_000]);
});
