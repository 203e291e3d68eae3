import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { newId } from "../model/id.ts";
import type { Message } from "../messages/message.ts";
import { SenderTurns } from "./sender-turns.ts";

type Waiting = Pick<Message, "id" | "sender" | "priority">;

const message = (fields: Partial<Waiting> = {}): Waiting => ({ id: newId("msg", 1), sender: "+1", priority: "normal", ...fields });
const RATES: Readonly<Record<string, number>> = { "+1": 10, "+2": 10, slow: 0.01 };
const open = (): SenderTurns => new SenderTurns((sender) => RATES[sender]);

describe("a sender with a rate", () => {
  test("has turns at equal distances, in the order of the messages", () => {
    const turns = open();
    const waits = [1, 2, 3, 4].map(() => turns.waitMs(message(), 1_000));
    assert.deepEqual(waits, [0, 100, 200, 300]);
  });

  test("gives a message that comes back its turn, before messages that came later", () => {
    const turns = open();
    turns.waitMs(message(), 1_000);
    const second = message();
    assert.equal(turns.waitMs(second, 1_000), 100);
    assert.equal(turns.waitMs(message(), 1_100), 100, "a message that comes at the turn of another");
    assert.equal(turns.waitMs(second, 1_101), 0);
  });

  test("never sends more than its rate, however its messages come back", () => {
    const turns = open();
    let waiting = Array.from({ length: 50 }, (_, index) => message({ priority: index % 5 === 0 ? "high" : "bulk" }));
    const sentAt: number[] = [];
    // Every message asks at every step: earlier and later than its turn.
    for (let now = 0; waiting.length > 0; now += 7) {
      assert.ok(now < 60_000, "all messages are sent");
      const left = waiting.filter((each) => turns.waitMs(each, now) > 0);
      sentAt.push(...waiting.slice(left.length).map(() => now));
      waiting = left;
    }
    assert.equal(sentAt.length, 50);
    for (const [index, at] of sentAt.slice(1).entries()) assert.ok(at >= (index + 1) * 100, `${at} after ${sentAt[index]}`);
  });

  test("lets an urgent message go before those that wait", () => {
    const turns = open();
    turns.waitMs(message(), 1_000);
    const waits = Array.from({ length: 20 }, () => turns.waitMs(message({ priority: "bulk" }), 1_000));
    assert.equal(waits.at(-1), 2_000);
    assert.equal(turns.waitMs(message({ priority: "high" }), 1_050), 50);
    assert.equal(turns.waitMs(message({ priority: "high" }), 1_050), 150);
  });

  test("gives a message that found its turn taken the next one", () => {
    const turns = open();
    turns.waitMs(message(), 1_000);
    const bulk = message({ priority: "bulk" });
    turns.waitMs(bulk, 1_000);
    assert.equal(turns.waitMs(message({ priority: "high" }), 1_100), 0);
    assert.equal(turns.waitMs(bulk, 1_100), 100);
    assert.equal(turns.waitMs(bulk, 1_200), 0);
  });

  test("sends at once after a rest", () => {
    const turns = open();
    assert.equal(turns.waitMs(message(), 1_000), 0);
    assert.equal(turns.waitMs(message(), 9_000), 0);
  });

  test("lets a message far back in the line come back after five minutes", () => {
    const turns = open();
    const waits = [1, 2, 3, 4, 5].map(() => turns.waitMs(message({ sender: "slow" }), 0));
    assert.deepEqual(waits, [0, 100_000, 200_000, 300_000, 300_000]);
  });
});

test("senders do not wait for each other, and those without a rate do not wait", () => {
  const turns = open();
  assert.equal(turns.waitMs(message(), 0), 0);
  assert.equal(turns.waitMs(message({ sender: "+2" }), 0), 0);
  for (const sender of ["free", null]) for (let index = 0; index < 3; index += 1) assert.equal(turns.waitMs(message({ sender }), 0), 0);
});
