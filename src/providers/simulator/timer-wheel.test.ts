import assert from "node:assert/strict";
import { setImmediate as turn } from "node:timers/promises";
import { test } from "node:test";
import { ManualTimers } from "../../../test/support/manual-timers.ts";
import { poll } from "../../lib/wait.ts";
import { TimerWheel } from "./timer-wheel.ts";

/** A wheel that records the items of each call. */
function start() {
  const calls: string[][] = [];
  const timers = new ManualTimers();
  const wheel = new TimerWheel<string>((items) => calls.push([...items]), timers);
  /** Lets time pass until the wheel has passed on this number of items. */
  const until = async (count: number): Promise<string[]> => {
    await timers.until(poll(async () => (calls.flat().length >= count ? true : undefined), { timeoutMs: 10_000, everyMs: 1 }));
    assert.ok(calls.flat().length >= count, `only ${calls.flat().length} of ${count} came`);
    return calls.flat();
  };
  return { wheel, calls, until, timers };
}

test("items that are due at once come together in the next turn of the event loop", async () => {
  const calls: string[][] = [];
  const wheel = new TimerWheel<string>((items) => calls.push([...items]));
  for (const item of ["a", "b", "c"]) wheel.add(item, 0);
  assert.deepEqual(calls, []);
  await turn();
  assert.deepEqual(calls.flat(), ["a", "b", "c"]);
});

test("items come in the order of their times, whatever the order of their adding", async () => {
  const { wheel, until } = start();
  wheel.add("late", 60);
  wheel.add("early", 10);
  wheel.add("middle", 30);
  assert.deepEqual(await until(3), ["early", "middle", "late"]);
});

test("an item comes at its time, at most one tick early", async () => {
  const { wheel, until, timers } = start();
  wheel.add("a", 50);
  await until(1);
  assert.ok(timers.now() >= 45 && timers.now() <= 50, `${timers.now()} ms`);
});

test("an item that is added in the callback comes after the items of that callback", async () => {
  const seen: string[] = [];
  const wheel: TimerWheel<string> = new TimerWheel((items) => {
    seen.push(...items);
    if (items.includes("a")) wheel.add("b", 0);
    assert.ok(!(items.includes("a") && items.includes("b")));
  });
  wheel.add("a", 0);
  assert.ok(await poll(async () => (seen.length === 2 ? true : undefined), { timeoutMs: 10_000, everyMs: 1 }));
  assert.deepEqual(seen, ["a", "b"]);
});

test("draining returns all items, also those of the far future, and no item comes later", async () => {
  const { wheel, calls } = start();
  wheel.add("never", Infinity);
  wheel.add("in a year", 31_536_000_000);
  wheel.add("now", 0);
  assert.deepEqual(wheel.drain(), ["now", "in a year", "never"]);
  assert.deepEqual(wheel.drain(), []);
  await turn();
  await turn();
  assert.deepEqual(calls, []);
});

test("an item beyond the range of a timer does not come at once", async () => {
  const calls: string[][] = [];
  const wheel = new TimerWheel<string>((items) => calls.push([...items]));
  wheel.add("in a year", 31_536_000_000);
  wheel.add("soon", 20);
  assert.ok(await poll(async () => (calls.length > 0 ? true : undefined), { timeoutMs: 10_000, everyMs: 1 }));
  assert.deepEqual(calls, [["soon"]]);
  wheel.drain();
});

test("a drained wheel accepts items again", async () => {
  const { wheel, until } = start();
  wheel.add("a", 1_000);
  wheel.drain();
  wheel.add("b", 1);
  assert.deepEqual(await until(1), ["b"]);
});
