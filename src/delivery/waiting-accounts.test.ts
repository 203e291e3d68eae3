import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { messageOf } from "../../test/support/message.ts";
import { idKey, newId, type AccountId } from "../model/id.ts";
import type { Priority } from "../messages/message.ts";
import { PRIORITY_RANK } from "../messages/queue-entry.ts";
import type { Claimed } from "./queue.ts";
import { Backlog, LaneBacklog } from "./backlog.ts";
import { WaitingAccounts, type TakenShare } from "./waiting-accounts.ts";

const [A, B, C] = [newId("acct", 1), newId("acct", 2), newId("acct", 3)];
const NOW_MS = 1_000;
const MOST = [10, 10, 10] as const;

const scanned = (): WaitingAccounts => {
  const accounts = new WaitingAccounts(new LaneBacklog(new Backlog()));
  accounts.refresh([], NOW_MS);
  return accounts;
};

/** Accounts with messages of normal priority that are due. */
function waiting(...ids: AccountId[]): WaitingAccounts {
  const accounts = scanned();
  for (const id of ids) accounts.add(PRIORITY_RANK.normal, id, 100);
  return accounts;
}

const claimed = (accountId: AccountId, count: number, dueAtMs = 200): Claimed[] =>
  Array.from({ length: count }, () => ({
    message: { ...messageOf({ priority: "normal" }), accountId },
    state: "waiting",
    sealedContent: null,
    dueAtMs,
  }));

const planOf = (shares: readonly TakenShare[]) => shares.map(({ rank, accountId, fromMs, most }) => ({ rank, accountId, fromMs, most }));

describe("the accounts that wait in a lane", () => {
  test("may be any before the queue was scanned", () => {
    const accounts = new WaitingAccounts(new LaneBacklog(new Backlog()));
    assert.equal(accounts.has({ priority: "normal", accountId: A }, NOW_MS), true);
    accounts.refresh([], NOW_MS);
    assert.equal(accounts.has({ priority: "normal", accountId: A }, NOW_MS), false);
  });

  test("wait with the priority of their messages, from the time at which one is due", () => {
    const accounts = waiting(A);
    accounts.add(PRIORITY_RANK.normal, B, NOW_MS + 1);
    const has = (priority: Priority, accountId: AccountId, nowMs = NOW_MS): boolean => accounts.has({ priority, accountId }, nowMs);
    assert.deepEqual([has("normal", A), has("high", A), has("normal", B), has("normal", B, NOW_MS + 1)], [true, false, false, true]);
  });

  test("share the room of a claim equally, the higher priority first", () => {
    const accounts = waiting(A, B, C);
    accounts.add(PRIORITY_RANK.high, C, 300);
    assert.deepEqual(planOf(accounts.plan(MOST, NOW_MS)), [
      { rank: 0, accountId: C, fromMs: 300, most: 10 },
      { rank: 1, accountId: A, fromMs: 100, most: 3 },
      { rank: 1, accountId: B, fromMs: 100, most: 3 },
      { rank: 1, accountId: C, fromMs: 100, most: 3 },
    ]);
  });

  test("are not claimed where the priority has no room", () => {
    const accounts = waiting(A);
    assert.deepEqual(accounts.plan([10, 0, 0], NOW_MS), []);
    assert.equal(accounts.plan(MOST, NOW_MS).length, 1);
  });

  test("take turns where more wait than a claim serves", () => {
    const ids = Array.from({ length: 40 }, (_, index) => newId("acct", index + 1));
    const accounts = waiting(...ids);
    const most = [50, 50, 50] as const;
    const first = accounts.plan(most, NOW_MS);
    assert.equal(first.length, 32);
    accounts.end(
      first,
      first.flatMap(({ accountId }) => claimed(accountId, 1)),
      50,
    );
    const second = accounts.plan(most, NOW_MS).map(({ accountId }) => accountId);
    assert.deepEqual(second.slice(0, 8), ids.slice(32));
  });
});

describe("after a claim an account", () => {
  type Row = readonly [sentence: string, count: number, limit: number, mayHaveMore: boolean];
  const ROWS: readonly Row[] = [
    ["that got less than its share has no more", 9, 50, false],
    ["that got its whole share may have more", 10, 50, true],
    ["may have more where the claim reached its limit", 4, 4, true],
    ["that got nothing has no more", 0, 50, false],
  ];
  for (const [sentence, count, limit, mayHaveMore] of ROWS)
    test(sentence, () => {
      const accounts = waiting(A);
      assert.equal(accounts.end(accounts.plan(MOST, NOW_MS), claimed(A, count), limit), mayHaveMore);
      assert.deepEqual(
        planOf(accounts.plan(MOST, NOW_MS)),
        mayHaveMore ? [{ rank: 1, accountId: A, fromMs: 200, most: 10 }] : [],
        "the next claim goes on where this one ended",
      );
    });

  test("waits as before where the claim failed", () => {
    const accounts = waiting(A);
    const shares = accounts.plan(MOST, NOW_MS);
    accounts.giveBack(shares);
    assert.deepEqual(planOf(accounts.plan(MOST, NOW_MS)), planOf(shares));
  });
});

describe("the backlog of an account", () => {
  const counted = (): { backlog: Backlog; accounts: WaitingAccounts } => {
    const backlog = new Backlog();
    const accounts = new WaitingAccounts(new LaneBacklog(backlog));
    accounts.refresh([], NOW_MS);
    return { backlog, accounts };
  };
  const store = (accounts: WaitingAccounts, accountId: AccountId, fields: Parameters<typeof messageOf>[0] = {}): void => {
    accounts.add(PRIORITY_RANK.normal, accountId, 100);
    accounts.count({ ...messageOf({ priority: "normal", ...fields }), accountId });
  };

  test("has the messages that were stored and not claimed", () => {
    const { backlog, accounts } = counted();
    for (let count = 0; count < 5; count += 1) store(accounts, A);
    store(accounts, B);
    assert.deepEqual([backlog.countOf(idKey(A)), backlog.countOf(idKey(B)), backlog.total], [5, 1, 6]);
    const shares = accounts.plan([2, 2, 2], NOW_MS);
    accounts.end(shares, [...claimed(A, 1), ...claimed(B, 1)], 2);
    assert.deepEqual([backlog.countOf(idKey(A)), backlog.countOf(idKey(B)), backlog.total], [4, 0, 4]);
  });

  test("is empty where a claim finds no more: other nodes have claimed the rest", () => {
    const { backlog, accounts } = counted();
    for (let count = 0; count < 5; count += 1) store(accounts, A);
    accounts.end(accounts.plan(MOST, NOW_MS), claimed(A, 1), 10);
    assert.deepEqual([backlog.countOf(idKey(A)), backlog.total], [0, 0]);
  });

  test("has no urgent messages, no messages of batches, and none of a lane that cannot send", () => {
    const { backlog, accounts } = counted();
    store(accounts, A, { priority: "high" });
    store(accounts, A, { batchId: newId("batch", 1) });
    assert.equal(backlog.total, 0);
    store(accounts, A);
    accounts.clearCounts();
    assert.deepEqual([backlog.countOf(idKey(A)), backlog.total], [0, 0]);
  });
});
