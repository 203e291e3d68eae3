import assert from "node:assert/strict";
import { test } from "node:test";
import { Gate } from "./gate.ts";

test("so many are inside at a time, and the others follow in the order they came", async () => {
  const gate = new Gate(2, 100);
  const order: number[] = [];
  let inside = 0;
  let most = 0;
  const work = async (index: number): Promise<void> => {
    inside += 1;
    most = Math.max(most, inside);
    order.push(index);
    await new Promise((resolve) => setImmediate(resolve));
    inside -= 1;
  };
  await Promise.all(Array.from({ length: 20 }, (_, index) => gate.through(() => work(index))));
  assert.equal(most, 2);
  assert.deepEqual(
    order,
    Array.from({ length: 20 }, (_, index) => index),
  );
});

test("who fails leaves like any other, and is told", async () => {
  const gate = new Gate(1, 100);
  const failing = gate.through(() => Promise.reject(new Error("no")));
  const next = gate.through(async () => "yes");
  await assert.rejects(failing, /no/);
  assert.equal(await next, "yes");
  assert.equal(await gate.through(async () => "again"), "again");
});

test("it is full when as many wait as may, and not any more when one has gone in", async () => {
  const gate = new Gate(1, 2);
  const doors = Array.from({ length: 3 }, () => Promise.withResolvers<void>());
  const all = doors.map(({ promise }) => gate.through(() => promise));
  assert.equal(gate.isFull, true);
  doors[0]?.resolve();
  await all[0];
  assert.equal(gate.isFull, false);
  for (const { resolve } of doors) resolve();
  await Promise.all(all);
  assert.equal(gate.isFull, false);
});
