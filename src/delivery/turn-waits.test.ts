import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { newMessage } from "../messages/message.ts";
import { newId } from "../model/id.ts";
import { recipientOf } from "../../test/support/recipient.ts";
import type { Claimed } from "./queue.ts";
import { TurnWaits } from "./sender-turns.ts";

const accountId = newId("acct", 1);
const claimed = (): Claimed => ({
  message: newMessage({ accountId, environment: "live" }, newId("msg", 1), {
    direction: "outbound",
    channel: "sms",
    recipient: recipientOf("+14155550123"),
    sender: "+1",
    body: "x",
    status: "queued",
  }),
  state: "waiting",
  sealedContent: null,
  dueAtMs: 0,
});

function open(context: TestContext) {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  const log: (string | number)[] = [];
  const waits = new TurnWaits({
    resume: () => log.push("resume"),
    putBack: (_, afterMs) => log.push(afterMs),
    due: () => log.push("due"),
  });
  return { log, waits, tick: (ms: number) => context.mock.timers.tick(ms) };
}

test("a message with a turn soon waits in memory until its turn", (context) => {
  const { log, waits, tick } = open(context);
  waits.wait(claimed(), 150, 1);
  tick(149);
  assert.deepEqual(log, []);
  tick(1);
  assert.deepEqual(log, ["resume"]);
});

test("messages that wait longer in memory fill at most half of the window, and the others go back to the queue", (context) => {
  const { log, waits } = open(context);
  for (let index = 0; index < 5; index += 1) waits.wait(claimed(), 900, 6);
  assert.equal(log.length, 2);
  for (const afterMs of log) assert.ok(typeof afterMs === "number" && afterMs >= 600 && afterMs <= 700, String(afterMs));
});

test("messages that go back are due in groups before their turns, and a group is announced once", (context) => {
  const { log, waits, tick } = open(context);
  waits.wait(claimed(), 5_000, 1);
  waits.wait(claimed(), 5_000, 1);
  tick(4_600);
  assert.ok(!log.includes("due"), "not before the group is due");
  tick(210);
  const groups = log.filter((each) => each === "due").length;
  assert.ok(groups >= 1 && groups <= 2, `${groups} groups, which may differ by the moment of the wait`);
  assert.equal(log.length, 2 + groups);
});

test("a message with a turn far away goes back until shortly before it, and is found by a scan", (context) => {
  const { log, waits, tick } = open(context);
  waits.wait(claimed(), 60_000, 1);
  tick(60_000);
  assert.deepEqual(log, [58_000]);
});

test("nothing is called after a stop", (context) => {
  const { log, waits, tick } = open(context);
  waits.wait(claimed(), 100, 1);
  waits.wait(claimed(), 5_000, 1);
  waits.stop();
  tick(10_000);
  assert.equal(log.length, 1, "only the message that went back before");
});
