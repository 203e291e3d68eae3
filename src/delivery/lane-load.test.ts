import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { messageOf } from "../../test/support/message.ts";
import type { Priority } from "../messages/message.ts";
import { LaneLoad } from "./lane-load.ts";
import type { Claimed } from "./queue.ts";

const claimed = (priority: Priority): Claimed => ({
  message: messageOf({ priority }),
  state: "waiting",
  sealedContent: null,
  dueAtMs: 0,
});

const laneLoad = (window: number, owned = (): number => 0): LaneLoad => new LaneLoad({ window: () => window, owned });

describe("a lane has room", () => {
  const ROWS: readonly (readonly [window: number, room: Record<Priority, number>])[] = [
    [1, { high: 2, normal: 2, bulk: 2 }],
    [10, { high: 20, normal: 18, bulk: 14 }],
    [100, { high: 200, normal: 180, bulk: 140 }],
    [1_000, { high: 1_100, normal: 990, bulk: 770 }],
  ];
  for (const [window, room] of ROWS)
    test(`for ${room.high} high, ${room.normal} normal or ${room.bulk} bulk messages where its window is ${window}`, () => {
      const load = laneLoad(window);
      assert.deepEqual({ high: load.room("high"), normal: load.room("normal"), bulk: load.room("bulk") }, room);
    });

  test("less for each reservation and each message that the node owns", () => {
    let owned = 1;
    const load = laneLoad(10, () => owned);
    load.reserve();
    assert.deepEqual([load.room("high"), load.room("bulk"), load.isEmpty], [18, 12, false]);
    load.unreserve();
    owned = 0;
    assert.deepEqual([load.room("high"), load.room("bulk"), load.isEmpty], [20, 14, true]);
  });
});

describe("the window", () => {
  test("takes the most urgent messages first, and each priority up to its share", () => {
    const load = laneLoad(10);
    for (const priority of ["bulk", "normal", "high"] as const) for (let count = 0; count < 4; count += 1) load.add(claimed(priority));
    const entered = Array.from({ length: 12 }, () => load.next()?.message.priority);
    assert.deepEqual(entered, [
      ...Array<string>(4).fill("high"),
      ...Array<string>(4).fill("normal"),
      ...Array<undefined>(4).fill(undefined),
    ]);
    load.leaveWindow();
    assert.equal(load.next(), undefined, "bulk messages fill 7 of 10 places at most");
    load.leaveWindow();
    assert.equal(load.next()?.message.priority, "bulk");
  });
});

test("messages that only wait can be removed, and those in the window stay", () => {
  const load = laneLoad(1);
  const [first, second] = [claimed("normal"), claimed("normal")];
  load.add(first);
  load.add(second);
  load.next();
  assert.deepEqual(load.removeWaiting(), [second]);
  assert.deepEqual(load.removeWaiting(), []);
});
