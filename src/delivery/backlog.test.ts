import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { messageOf } from "../../test/support/message.ts";
import { PRIORITY_RANK } from "../messages/queue-entry.ts";
import { idKey, newId, type AccountId } from "../model/id.ts";
import { Backlog, LaneBacklog } from "./backlog.ts";

const [A, B] = [newId("acct", 1), newId("acct", 2)];

function counted(): { backlog: Backlog; lane: LaneBacklog } {
  const backlog = new Backlog();
  return { backlog, lane: new LaneBacklog(backlog) };
}

const store = (lane: LaneBacklog, accountId: AccountId, fields: Parameters<typeof messageOf>[0] = {}): void =>
  lane.stored({ ...messageOf({ priority: "normal", ...fields }), accountId });

const claim = (lane: LaneBacklog, accountId: AccountId, count: number, mayHaveMore: boolean): void =>
  lane.claimed({ share: { rank: PRIORITY_RANK.normal, group: { key: idKey(accountId) }, fromMs: 0, most: 10 }, count, mayHaveMore });

describe("the backlog of an account", () => {
  test("has the messages that were stored and not claimed", () => {
    const { backlog, lane } = counted();
    for (let count = 0; count < 5; count += 1) store(lane, A);
    store(lane, B);
    assert.deepEqual([backlog.countOf(idKey(A)), backlog.countOf(idKey(B)), backlog.total], [5, 1, 6]);
    claim(lane, A, 1, true);
    claim(lane, B, 1, true);
    assert.deepEqual([backlog.countOf(idKey(A)), backlog.countOf(idKey(B)), backlog.total], [4, 0, 4]);
  });

  test("is empty if a claim finds no more: other nodes have claimed the rest", () => {
    const { backlog, lane } = counted();
    for (let count = 0; count < 5; count += 1) store(lane, A);
    claim(lane, A, 1, false);
    assert.deepEqual([backlog.countOf(idKey(A)), backlog.total], [0, 0]);
  });

  test("has no urgent messages, no messages of batches, and none of a lane that cannot send", () => {
    const { backlog, lane } = counted();
    store(lane, A, { priority: "high" });
    store(lane, A, { batchId: newId("batch", 1) });
    assert.equal(backlog.total, 0);
    store(lane, A);
    lane.clear();
    assert.deepEqual([backlog.countOf(idKey(A)), backlog.total], [0, 0]);
  });
});
