import assert from "node:assert/strict";
import { test } from "node:test";
import { BoundedMap } from "./bounded-map.ts";

const filled = (limit: number, keys: string): BoundedMap<string, number> => {
  const map = new BoundedMap<string, number>(limit);
  for (const key of keys) map.set(key, 0);
  return map;
};
const keysOf = (map: BoundedMap<string, number>): string => [...map.keys()].join("");

test("a new key removes the oldest one of a full map", () => {
  assert.equal(keysOf(filled(3, "abc")), "abc");
  assert.equal(keysOf(filled(3, "abcd")), "bcd");
  assert.equal(keysOf(filled(3, "abcdefghij")), "hij");
});

test("a known key removes nothing, and keeps its age", () => {
  const map = filled(3, "abc").set("a", 7);
  assert.deepEqual([keysOf(map), map.get("a")], ["abc", 7]);
  assert.equal(keysOf(map.set("d", 0)), "bcd");
});

test("a renewed key is the newest one", () => {
  const map = filled(3, "abcd");
  map.renew("b", 7);
  assert.deepEqual([keysOf(map), map.get("b")], ["cdb", 7]);
  map.renew("e", 0);
  assert.equal(keysOf(map), "dbe");
});

test("a map of one key has the last one", () => assert.equal(keysOf(filled(1, "abc")), "c"));

test("a map that was emptied fills again", () => {
  const map = filled(2, "abc");
  map.clear();
  assert.equal(keysOf(map), "");
  for (const key of "defg") map.set(key, 0);
  assert.equal(keysOf(map), "fg");
});

test("any sequence of writes leaves the keys of a list in which each removal searches the oldest key", () => {
  let random = 7;
  const next = (below: number): number => (random = (random * 48_271) % 2_147_483_647) % below;
  for (const limit of [1, 2, 7, 64]) {
    const map = new BoundedMap<number, number>(limit);
    let list: number[] = [];
    for (let write = 0; write < 5_000; write += 1) {
      const key = next(limit * 2);
      const action = next(10);
      if (action > 1 && list.length === limit && !list.includes(key)) list.shift();
      if (action === 0 || action > 5) list = list.filter((each) => each !== key);
      if (action === 0) map.delete(key);
      else if (action === 1) map.clear();
      else if (action > 5) map.renew(key, write);
      else map.set(key, write);
      if (action === 1) list = [];
      else if (action > 1 && !list.includes(key)) list.push(key);
    }
    assert.deepEqual([...map.keys()], list, `limit ${limit}`);
  }
});
