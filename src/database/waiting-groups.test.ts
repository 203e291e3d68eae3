import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { WaitingGroups } from "./waiting-groups.ts";

const found = (key: string, dueAtMs: number) => ({ key, group: key.toUpperCase(), dueAtMs });
const keysOf = (taken: readonly { key: string }[]): string[] => taken.map(({ key }) => key);

function groupsWith(...entries: [string, number][]): WaitingGroups<string> {
  const groups = new WaitingGroups<string>();
  for (const [key, dueAtMs] of entries) groups.add(found(key, dueAtMs));
  return groups;
}

describe("waiting groups", () => {
  test("are taken when a row is due, from its time on", () => {
    const groups = groupsWith(["a", 10], ["b", 20]);
    assert.deepEqual(groups.take(15, 5), [{ key: "a", group: "A", fromMs: 10 }]);
  });

  test("keep the earliest of several times", () => {
    const groups = groupsWith(["a", 20], ["a", 10], ["a", 30]);
    assert.deepEqual([groups.isDue("a", 9), groups.isDue("a", 10)], [false, true]);
    assert.equal(groups.take(30, 1)[0]?.fromMs, 10);
  });

  test("take turns where a claim has no place for all", () => {
    const groups = groupsWith(["a", 1], ["b", 1], ["c", 1]);
    const turns = Array.from({ length: 3 }, () => {
      const taken = groups.take(1, 2);
      for (const each of taken) groups.end(each, each.fromMs);
      return keysOf(taken);
    });
    assert.deepEqual(turns, [
      ["a", "b"],
      ["c", "a"],
      ["b", "c"],
    ]);
  });

  test("with a backlog may have due rows while they are claimed, and others may not", () => {
    const groups = groupsWith(["a", 1], ["b", 1]);
    for (const each of groups.take(1, 2)) groups.end(each, each.key === "a" ? 1 : undefined);
    groups.add(found("b", 1));
    assert.deepEqual(keysOf(groups.take(1, 2)), ["a", "b"]);
    assert.deepEqual([groups.isDue("a", 1), groups.isDue("b", 1)], [true, false]);
    groups.end({ key: "a" }, undefined);
    assert.equal(groups.isDue("a", 1), false);
  });

  test("are not taken twice at once, and are forgotten when they have no more rows", () => {
    const groups = groupsWith(["a", 1]);
    const [taken] = groups.take(1, 1);
    assert.deepEqual([groups.take(1, 1), groups.isDue("a", 1)], [[], false]);
    assert.ok(taken !== undefined);
    groups.end(taken, undefined);
    assert.deepEqual(groups.take(100, 1), []);
  });

  test("go on where a full claim ended", () => {
    const groups = groupsWith(["a", 1]);
    const [taken] = groups.take(1, 1);
    assert.ok(taken !== undefined);
    groups.end(taken, 7);
    assert.equal(groups.take(9, 1)[0]?.fromMs, 7);
  });

  test("keep a row that was added during the claim, which may not have seen it", () => {
    const groups = groupsWith(["a", 1]);
    const [taken] = groups.take(1, 1);
    assert.ok(taken !== undefined);
    groups.add(found("a", 2));
    groups.end(taken, undefined);
    assert.equal(groups.take(2, 1)[0]?.fromMs, 2);
  });

  test("take future times from a scan, and keep due ones", () => {
    const groups = groupsWith(["gone", 50], ["moved", 50], ["due", 5]);
    groups.refresh([found("moved", 80), found("new", 8)], 10);
    assert.deepEqual(keysOf(groups.take(10, 9)), ["due", "new"]);
    assert.deepEqual([groups.isDue("moved", 79), groups.isDue("moved", 80), groups.isDue("gone", 99)], [false, true, false]);
  });

  test("are kept by a scan while they are claimed", () => {
    const groups = groupsWith(["a", 1]);
    const [taken] = groups.take(1, 1);
    assert.ok(taken !== undefined);
    groups.refresh([], 10);
    groups.end(taken, 3);
    assert.ok(groups.isDue("a", 3));
  });
});
