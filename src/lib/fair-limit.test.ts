import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { until } from "../../test/support/expect.ts";
import { FairLimit, type FairLimits } from "./fair-limit.ts";

/** A limit for which no time passes, so that no piece counts as stuck on a slow machine. */
const limitOf = (limits: FairLimits): FairLimit => new FairLimit(limits, () => 0);

/** Starts pieces of work that end when the test says so, and records the order in which they start. */
class Bench {
  readonly started: string[] = [];
  readonly #ends = new Map<string, () => void>();
  readonly #limit: FairLimit;

  constructor(limit: FairLimit) {
    this.#limit = limit;
  }

  add(owner: string, name: string): void {
    this.#limit.note(owner);
    void this.#limit.run(owner, () => {
      this.started.push(name);
      return new Promise<void>((resolve) => this.#ends.set(name, resolve));
    });
  }

  async end(name: string): Promise<void> {
    this.#ends.get(name)?.();
    // Two turns: one in which the piece ends, one in which the next begins.
    await nextTurn();
    await nextTurn();
  }
}

test("one owner runs no more than its part, and another owner starts at once", async () => {
  const bench = new Bench(limitOf({ total: 4, alone: 2, shared: 2, maxWaiting: 10 }));
  for (const name of ["a1", "a2", "a3"]) bench.add("a", name);
  bench.add("b", "b1");
  await nextTurn();
  assert.deepEqual(bench.started, ["a1", "a2", "b1"]);
  await bench.end("b1");
  assert.deepEqual(bench.started, ["a1", "a2", "b1"], "the slot of another owner is not used");
  await bench.end("a1");
  assert.deepEqual(bench.started, ["a1", "a2", "b1", "a3"]);
});

test("owners that wait take turns", async () => {
  const bench = new Bench(limitOf({ total: 1, alone: 1, shared: 1, maxWaiting: 10 }));
  for (const name of ["a1", "a2", "a3"]) bench.add("a", name);
  for (const name of ["b1", "b2"]) bench.add("b", name);
  for (const name of ["a1", "b1", "a2", "b2"]) await bench.end(name);
  assert.deepEqual(bench.started, ["a1", "b1", "a2", "b2", "a3"]);
});

test("an owner is full when so many of its pieces wait, and others are not", async () => {
  const limit = limitOf({ total: 1, alone: 1, shared: 1, maxWaiting: 2 });
  const bench = new Bench(limit);
  for (const name of ["a1", "a2"]) bench.add("a", name);
  assert.equal(limit.isFull("a"), false);
  bench.add("a", "a3");
  assert.deepEqual([limit.isFull("a"), limit.isFull("b")], [true, false]);
  await bench.end("a1");
  assert.equal(limit.isFull("a"), false);
});

test("work that fails frees its slot", async () => {
  const limit = limitOf({ total: 1, alone: 1, shared: 1, maxWaiting: 2 });
  await assert.rejects(
    limit.run("a", () => Promise.reject(new Error("failed"))),
    /failed/,
  );
  assert.equal(await limit.run("a", () => Promise.resolve("done")), "done");
});

test("an owner runs more while no other owner has work", async () => {
  const limit = limitOf({ total: 10, alone: 3, shared: 1, maxWaiting: 10 });
  const bench = new Bench(limit);
  for (const name of ["a1", "a2", "a3", "a4"]) bench.add("a", name);
  await nextTurn();
  assert.deepEqual(bench.started, ["a1", "a2", "a3"]);
  bench.add("b", "b1");
  await bench.end("b1");
  for (const name of ["a1", "a2"]) await bench.end(name);
  assert.deepEqual(bench.started, ["a1", "a2", "a3", "b1"], "a still has its part running");
  await bench.end("a3");
  assert.deepEqual(bench.started, ["a1", "a2", "a3", "b1", "a4"]);
});

test("an owner of other work counts as one that has work", async () => {
  const limit = limitOf({ total: 10, alone: 2, shared: 1, maxWaiting: 10 });
  const bench = new Bench(limit);
  limit.note("b");
  for (const name of ["a1", "a2"]) bench.add("a", name);
  await nextTurn();
  assert.deepEqual(bench.started, ["a1"]);
});

test("one more piece runs beside one that is stuck", async () => {
  let nowMs = 0;
  const bench = new Bench(new FairLimit({ total: 10, alone: 1, shared: 1, maxWaiting: 10 }, () => nowMs));
  for (const name of ["a1", "a2", "a3"]) bench.add("a", name);
  nowMs = 10_000;
  await until("another piece starts", () => bench.started.length === 2);
  await bench.end("a2");
  assert.deepEqual(bench.started, ["a1", "a2", "a3"]);
});

test("the only owner starts all pieces at once for which room has come", async () => {
  let room = 1;
  const limit = new FairLimit({ total: Infinity, alone: 10, shared: 10, maxWaiting: 10 }, () => 0, {
    roomFor: () => room,
    heldBack: () => undefined,
  });
  const bench = new Bench(limit);
  for (const name of ["a1", "a2", "a3", "a4"]) bench.add("a", name);
  await nextTurn();
  assert.deepEqual(bench.started, ["a1"]);
  room = 3;
  await bench.end("a1");
  assert.deepEqual(bench.started, ["a1", "a2", "a3", "a4"]);
});

test("an owner with little room runs so many pieces, and continues when there is more room", async () => {
  let room = 2;
  let heldBack = 0;
  const limit = new FairLimit({ total: Infinity, alone: 10, shared: 10, maxWaiting: 10 }, () => 0, {
    roomFor: (owner) => (owner === "a" ? room : Infinity),
    heldBack: () => (heldBack += 1),
  });
  const bench = new Bench(limit);
  for (const name of ["a1", "a2", "a3", "a4", "a5"]) bench.add("a", name);
  for (const name of ["b1", "b2", "b3"]) bench.add("b", name);
  await nextTurn();
  assert.deepEqual(bench.started, ["a1", "a2", "b1", "b2", "b3"]);
  assert.equal(heldBack, 3);
  await bench.end("a1");
  assert.deepEqual(bench.started.slice(5), ["a3"]);
  room = 4;
  await bench.end("a2");
  assert.deepEqual(bench.started.slice(5), ["a3", "a4", "a5"]);
});
