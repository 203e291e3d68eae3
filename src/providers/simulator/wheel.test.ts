import assert from "node:assert/strict";
import { setImmediate as turn } from "node:timers/promises";
import { test } from "node:test";
import { poll } from "../../lib/wait.ts";
import { Wheel } from "./wheel.ts";

/** A wheel that takes down what came, call by call. */
function start() {
  const calls: string[][] = [];
  const wheel = new Wheel<string>((items) => calls.push([...items]));
  const until = async (count: number): Promise<string[]> => {
    const all = await poll(async () => (calls.flat().length >= count ? calls.flat() : undefined), { timeoutMs: 10_000, everyMs: 1 });
    assert.ok(all !== undefined, `only ${calls.flat().length} of ${count} came`);
    return all;
  };
  return { wheel, calls, until };
}

test("what is due at once comes together in the next turn of the event loop, not in this one", async () => {
  const { wheel, calls } = start();
  for (const item of ["a", "b", "c"]) wheel.add(item, 0);
  assert.deepEqual(calls, []);
  await turn();
  assert.deepEqual(calls.flat(), ["a", "b", "c"]);
});

test("items come in the order of their times, not of their adding", async () => {
  const { wheel, until } = start();
  wheel.add("late", 60);
  wheel.add("early", 10);
  wheel.add("middle", 30);
  assert.deepEqual(await until(3), ["early", "middle", "late"]);
});

test("an item waits for its time, give or take a tick", async () => {
  const { wheel, until } = start();
  const startedAt = performance.now();
  wheel.add("a", 50);
  await until(1);
  assert.ok(performance.now() - startedAt >= 45);
});

test("an item that is added while others come, comes after them", async () => {
  const seen: string[] = [];
  const wheel: Wheel<string> = new Wheel((items) => {
    seen.push(...items);
    if (items.includes("a")) wheel.add("b", 0);
    assert.ok(!(items.includes("a") && items.includes("b")));
  });
  wheel.add("a", 0);
  assert.ok(await poll(async () => (seen.length === 2 ? true : undefined), { timeoutMs: 10_000, everyMs: 1 }));
  assert.deepEqual(seen, ["a", "b"]);
});

test("draining gives everything, the farthest future included, and nothing comes after it", async () => {
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

test("a time beyond what a timer can wait for is not now", async () => {
  const { wheel, calls } = start();
  wheel.add("in a year", 31_536_000_000);
  wheel.add("soon", 20);
  assert.ok(await poll(async () => (calls.length > 0 ? true : undefined), { timeoutMs: 10_000, everyMs: 1 }));
  assert.deepEqual(calls, [["soon"]]);
  wheel.drain();
});

test("a wheel that was drained turns again", async () => {
  const { wheel, until } = start();
  wheel.add("a", 1_000);
  wheel.drain();
  wheel.add("b", 1);
  assert.deepEqual(await until(1), ["b"]);
});
