import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { WaitingGroups, type ClaimedPlace, type DueGroup, type TakenGroup } from "./waiting-groups.ts";

type Named = { key: string };

const due = (key: string, dueAtMs: number, rank = 0): DueGroup<Named> => ({ rank, group: { key }, dueAtMs });
const keysOf = (taken: readonly TakenGroup<Named>[]): string[] => taken.map(({ group }) => group.key);
const places = (key: string, count: number, dueAtMs: number, rank = 0): ClaimedPlace[] =>
  Array.from({ length: count }, () => ({ rank, key, dueAtMs }));

function groupsWith(...entries: [string, number][]): WaitingGroups<Named> {
  const groups = new WaitingGroups<Named>(2);
  groups.refresh([], 0);
  for (const [key, dueAtMs] of entries) groups.add(due(key, dueAtMs));
  return groups;
}

/** Ends a claim in which each group had a share of so many rows. */
const end = (groups: WaitingGroups<Named>, taken: readonly TakenGroup<Named>[], most: number, claimed: ClaimedPlace[], limit?: number) =>
  groups.end(
    taken.map((each) => ({ ...each, most })),
    claimed,
    limit,
  );

describe("waiting groups", () => {
  test("may be any before the queue was scanned", () => {
    const groups = new WaitingGroups<Named>(1);
    assert.equal(groups.mayBeDue(0, "any", 1), true);
    groups.refresh([], 1);
    assert.equal(groups.mayBeDue(0, "any", 1), false);
  });

  test("are taken when a row is due, from its time on", () => {
    const groups = groupsWith(["a", 10], ["b", 20]);
    assert.deepEqual([groups.isAnyDue(9), groups.isAnyDue(10)], [false, true]);
    assert.deepEqual(groups.take(15, [5]), [{ rank: 0, group: { key: "a" }, fromMs: 10 }]);
    assert.deepEqual([groups.isAnyDue(19), groups.isAnyDue(20)], [false, true]);
  });

  test("keep the earliest of several times", () => {
    const groups = groupsWith(["a", 20], ["a", 10], ["a", 30]);
    assert.deepEqual([groups.mayBeDue(0, "a", 9), groups.mayBeDue(0, "a", 10)], [false, true]);
    assert.equal(groups.take(30, [1])[0]?.fromMs, 10);
  });

  test("are taken by rank, with a limit for each rank", () => {
    const groups = groupsWith(["a", 1]);
    for (const key of ["x", "y"]) groups.add(due(key, 1, 1));
    groups.add(due("a", 1, 1));
    assert.equal(groups.mayBeDue(1, "a", 1), true);
    assert.deepEqual(
      groups.take(1, [1, 2]).map(({ rank, group }) => [rank, group.key]),
      [
        [0, "a"],
        [1, "x"],
        [1, "y"],
      ],
    );
    assert.deepEqual(groups.take(1, [1, 0]), []);
  });

  test("wait for room", () => {
    const groups = groupsWith(["full", 1], ["free", 1]);
    const hasRoom = ({ key }: Named): boolean => key === "free";
    assert.deepEqual(keysOf(groups.take(1, [5], hasRoom)), ["free"]);
    assert.deepEqual([groups.isAnyDue(1, hasRoom), groups.isAnyDue(1)], [false, true]);
  });

  test("with a backlog may have due rows while they are claimed, and others may not", () => {
    const groups = groupsWith(["a", 1], ["b", 1]);
    const first = groups.take(1, [2]);
    end(groups, first, 1, places("a", 1, 1));
    groups.add(due("b", 1));
    const second = groups.take(1, [2]);
    assert.deepEqual(keysOf(second), ["a", "b"]);
    assert.deepEqual([groups.mayBeDue(0, "a", 1), groups.mayBeDue(0, "b", 1)], [true, false]);
    end(groups, second, 1, []);
    assert.equal(groups.mayBeDue(0, "a", 1), false);
  });

  test("are not taken twice at once", () => {
    const groups = groupsWith(["a", 1]);
    groups.take(1, [1]);
    assert.deepEqual([groups.take(1, [1]), groups.mayBeDue(0, "a", 1), groups.isAnyDue(1)], [[], false, false]);
  });

  test("keep a row that was added during the claim, which may not have seen it", () => {
    const groups = groupsWith(["a", 1]);
    const taken = groups.take(1, [1]);
    groups.add(due("a", 2));
    end(groups, taken, 5, []);
    assert.equal(groups.take(2, [1])[0]?.fromMs, 2);
  });

  test("wait as before after a claim that failed", () => {
    const groups = groupsWith(["a", 1]);
    const taken = groups.take(5, [1]);
    groups.giveBack(taken);
    assert.deepEqual(groups.take(5, [1]), taken);
  });

  test("take future times from a scan, and keep due ones", () => {
    const groups = groupsWith(["gone", 50], ["moved", 50], ["due", 5]);
    groups.refresh([due("moved", 80), due("new", 8)], 10);
    assert.deepEqual(keysOf(groups.take(10, [9])), ["due", "new"]);
    const mayBeDue = (key: string, nowMs: number): boolean => groups.mayBeDue(0, key, nowMs);
    assert.deepEqual([mayBeDue("moved", 79), mayBeDue("moved", 80), mayBeDue("gone", 99)], [false, true, false]);
  });

  test("are kept by a scan while they are claimed", () => {
    const groups = groupsWith(["a", 1]);
    const taken = groups.take(1, [1]);
    groups.refresh([], 10);
    end(groups, taken, 1, places("a", 1, 3));
    assert.ok(groups.mayBeDue(0, "a", 3));
  });
});

describe("after a claim a group", () => {
  type Row = readonly [sentence: string, most: number, count: number, limit: number, nextMs: number | undefined];
  const ROWS: readonly Row[] = [
    ["that got less than its share has no more", 10, 9, 50, undefined],
    ["that got nothing has no more", 10, 0, 50, undefined],
    ["that got its whole share continues after its last row", 10, 10, 50, 7],
    ["continues after its last row if the claim reached its limit", 10, 4, 4, 7],
    ["without a share waits as before", 0, 0, 50, 1],
  ];
  for (const [sentence, most, count, limit, nextMs] of ROWS)
    test(sentence, () => {
      const groups = groupsWith(["a", 1]);
      assert.equal(end(groups, groups.take(9, [1]), most, places("a", count, 7), limit), nextMs !== undefined);
      assert.equal(groups.take(9, [1])[0]?.fromMs, nextMs);
    });

  test("has its rows of another rank apart", () => {
    const groups = groupsWith(["a", 1]);
    groups.add(due("a", 1, 1));
    end(groups, groups.take(1, [1, 1]), 1, places("a", 1, 1, 1));
    assert.deepEqual(
      groups.take(1, [1, 1]).map(({ rank }) => rank),
      [1],
    );
  });
});

describe("fairness", () => {
  test("groups take turns if a claim has no place for all", () => {
    const groups = groupsWith(["a", 1], ["b", 1], ["c", 1]);
    const turns = Array.from({ length: 3 }, () => {
      const taken = groups.take(1, [2]);
      groups.giveBack(taken);
      return keysOf(taken);
    });
    assert.deepEqual(turns, [
      ["a", "b"],
      ["c", "a"],
      ["b", "c"],
    ]);
  });

  // A group arrives, has more rows or has none left, in any order, beside groups that always have more rows than their shares.
  test("a group that stays due is taken at least once in every ceil(n / most) claims, whatever the other groups do", () => {
    const others = fc.array(fc.constantFrom("p", "q", "r", "s", "t"), { maxLength: 4 });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 4 }), fc.array(others, { minLength: 30, maxLength: 60 }), (most, arrivals) => {
        const groups = groupsWith(["steady", 1]);
        let sinceTaken = 0;
        for (const arriving of arrivals) {
          for (const key of arriving) groups.add(due(key, 1));
          const taken = groups.take(1, [most]);
          sinceTaken = keysOf(taken).includes("steady") ? 0 : sinceTaken + 1;
          // Of the other groups only every second one stays due.
          const claimed = taken.flatMap(({ group }) => (group.key === "steady" || group.key > "q" ? places(group.key, 3, 1) : []));
          end(groups, taken, 3, claimed);
          assert.ok(sinceTaken < Math.ceil(6 / most), `not taken in ${sinceTaken} claims of ${most}`);
        }
      }),
    );
  });
});
