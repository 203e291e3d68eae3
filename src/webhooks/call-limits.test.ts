import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { CallLimits, type Slot } from "./call-limits.ts";

const PROVEN_ROOM = 192;
const UNPROVEN_ROOM = 96;
const FAILING_ROOM = 64;

/** Begins as many calls as it may. */
function fill(load: CallLimits, name: string): Slot[] {
  const slots: Slot[] = [];
  for (let slot = load.begin(name); slot !== undefined; slot = load.begin(name)) slots.push(slot);
  return slots;
}

/** One call after the other, each with its end. */
function calls(load: CallLimits, name: string, ...ends: readonly boolean[]): void {
  for (const isSuccess of ends) {
    const slot = load.begin(name);
    assert.ok(slot !== undefined);
    load.end(slot, isSuccess);
  }
}

/** How many may be under way at once; they are ended again as if nothing had become of them. */
function capOf(load: CallLimits, name: string): number {
  const slots = fill(load, name);
  for (const slot of slots) load.end(slot);
  return slots.length;
}

const prove = (load: CallLimits, name: string): void => calls(load, name, true, true, true, true, true);

const allot = (load: CallLimits, names: readonly string[], waiting = 0): number[] =>
  load.allot(names.map((name) => ({ name, isFailing: false, waiting })));

const named = (kind: string, count: number): string[] => Array.from({ length: count }, (_, index) => `${kind} ${index}`);

describe("one endpoint", () => {
  const ROWS: readonly (readonly [sentence: string, ends: readonly boolean[], cap: number])[] = [
    ["nothing is known of", [], 2],
    ["answered once", [true], 4],
    ["answered three times", [true, true, true], 16],
    ["answered five times", [true, true, true, true, true], 64],
    ["answered seven times", Array<boolean>(7).fill(true), 64],
    ["failed at first", [false], 2],
    ["failed after many answers", [true, true, true, true, false], 2],
    ["answered once after a failure", [true, true, true, false, true], 2],
    ["answered three times after a failure", [true, true, true, false, true, true, true], 8],
    ["fails every other time", [true, false, true, false, true, false], 2],
  ];
  for (const [sentence, ends, cap] of ROWS) {
    test(`that ${sentence} gets ${cap} calls at a time`, () => {
      const load = new CallLimits();
      calls(load, "it", ...ends);
      assert.equal(capOf(load, "it"), cap);
    });
  }

  test("that keeps a call waiting gets two calls at a time, whatever its cap", () => {
    const load = new CallLimits();
    prove(load, "it");
    const [first, second, third] = [load.begin("it"), load.begin("it"), load.begin("it")];
    assert.ok(first !== undefined && second !== undefined && third !== undefined);
    load.slow(first);
    load.slow(first);
    assert.equal(load.begin("it"), undefined);
    assert.deepEqual(allot(load, ["it"]), [0]);
    load.end(second, true);
    load.end(third, true);
    assert.equal(fill(load, "it").length, 1, "two at a time, with the slow one");
  });

  test("whose slow call succeeds gets its former cap again", () => {
    const load = new CallLimits();
    prove(load, "it");
    const slot = load.begin("it");
    assert.ok(slot !== undefined);
    load.slow(slot);
    load.end(slot, true);
    assert.equal(capOf(load, "it"), 64);
  });

  test("whose call was not made keeps its health", () => {
    const load = new CallLimits();
    for (const [name, ends, cap] of [
      ["new", [], 2],
      ["failing", [true, true, false], 2],
      ["proven", [true, true], 8],
    ] as const) {
      calls(load, name, ...ends);
      for (let time = 0; time < 3; time += 1) {
        const slot = load.begin(name);
        assert.ok(slot !== undefined);
        load.end(slot);
      }
      assert.equal(capOf(load, name), cap, name);
    }
    // Ahead is claimed only for those that answer.
    assert.deepEqual(allot(load, ["failing"]), [2]);
    assert.equal(load.underWay, 0);
  });
});

describe("the number of deliveries to claim", () => {
  test("exceeds the cap only for an endpoint that responds", () => {
    const load = new CallLimits();
    calls(load, "proven", true);
    calls(load, "failing", false);
    assert.deepEqual(allot(load, ["proven", "failing", "new"]), [12, 2, 2]);
  });

  test("is reduced by waiting deliveries and running calls", () => {
    const load = new CallLimits();
    calls(load, "it", true);
    assert.deepEqual(allot(load, ["it"], 5), [7]);
    fill(load, "it");
    assert.deepEqual(allot(load, ["it"], 5), [3]);
    assert.deepEqual(allot(load, ["it"], 20), [0]);
    assert.deepEqual([load.hasRoom("it", 5), load.hasRoom("it", 20)], [true, false]);
  });

  test("is small for an endpoint that failed before this process started", () => {
    const load = new CallLimits();
    const failing = named("failing", FAILING_ROOM / 2);
    load.allot(failing.map((name) => ({ name, isFailing: true, waiting: 0 })));
    for (const name of failing) fill(load, name);
    assert.equal(load.hasRoom("another", 0), true, "it is not known to be failing");
    assert.deepEqual(load.allot([{ name: "another", isFailing: true, waiting: 0 }]), [0], "they have a room of their own");
    assert.equal(load.hasRoom("another", 0), false);
    assert.deepEqual(allot(load, ["new"]), [2]);
  });

  test("is an equal share of the room for each of many endpoints that respond", () => {
    const load = new CallLimits();
    const names = named("proven", 12);
    for (const name of names) prove(load, name);
    const shares = allot(load, names);
    assert.deepEqual(new Set(shares), new Set([(3 * PROVEN_ROOM) / 12]));
  });

  test("is one for each of more endpoints than room, and zero without room", () => {
    const load = new CallLimits();
    const names = named("new", 2 * UNPROVEN_ROOM);
    assert.deepEqual(new Set(allot(load, names)), new Set([1]));
    for (const name of names) fill(load, name);
    assert.deepEqual(new Set(allot(load, [...names, "another"])), new Set([0]));
    assert.deepEqual([load.hasRoom("another", 0), load.hasRoom("unknown", 0)], [false, false]);
  });

  test("of new endpoints does not depend on the number of failing ones", () => {
    const load = new CallLimits();
    const failing = named("failing", 50);
    for (const name of failing) calls(load, name, false);
    assert.deepEqual(allot(load, [...failing, "new"]).at(-1), 2);
  });
});

describe("rooms", () => {
  /** Makes as many endpoints of a kind as it takes to fill their room, and fills it. */
  const KINDS: readonly (readonly [kind: string, room: number, make: (load: CallLimits, name: string) => void])[] = [
    ["proven", PROVEN_ROOM, prove],
    ["new", UNPROVEN_ROOM, () => undefined],
    ["failing", FAILING_ROOM, (load, name) => calls(load, name, false)],
  ];
  for (const [kind, room, make] of KINDS) {
    test(`at most ${room} calls to ${kind} endpoints run, and other endpoints still have room`, () => {
      const load = new CallLimits();
      const others = KINDS.filter(([other]) => other !== kind);
      for (const [other, , makeOther] of others) makeOther(load, `other ${other}`);
      const names = named(kind, room);
      for (const name of names) make(load, name);
      assert.equal(names.flatMap((name) => fill(load, name)).length, room);
      assert.equal(load.underWay, room);
      for (const [other] of others) assert.ok(fill(load, `other ${other}`).length >= 2, `no room for the ${other} one`);
    });
  }

  test("slow calls leave the room of endpoints that respond", () => {
    const load = new CallLimits();
    const slow = named("slow", 3);
    for (const name of [...slow, "prompt"]) prove(load, name);
    const slots = slow.flatMap((name) => fill(load, name));
    assert.equal(slots.length, PROVEN_ROOM);
    assert.equal(load.begin("prompt"), undefined);
    for (const slot of slots) load.slow(slot);
    assert.equal(capOf(load, "prompt"), 64);
    assert.equal(load.underWay, PROVEN_ROOM);
    for (const slot of slots) load.end(slot, false);
    assert.equal(load.underWay, 0);
  });

  test("slow calls use the room of failing endpoints", () => {
    const load = new CallLimits();
    prove(load, "slow");
    calls(load, "failing", false);
    const slots = fill(load, "slow");
    for (const slot of slots) load.slow(slot);
    assert.equal(load.begin("failing"), undefined);
    for (const slot of slots) load.end(slot, true);
    assert.equal(capOf(load, "failing"), 2);
  });
});

describe("the memory", () => {
  test("of more than ten thousand endpoints forgets idle ones and keeps those with a call", () => {
    const load = new CallLimits();
    prove(load, "idle");
    prove(load, "busy");
    const slot = load.begin("busy");
    assert.ok(slot !== undefined);
    allot(load, named("new", 9_998));
    assert.equal(capOf(load, "idle"), 64);
    allot(load, ["one more"]);
    assert.equal(capOf(load, "idle"), 2);
    load.end(slot, true);
    assert.equal(capOf(load, "busy"), 64);
    assert.equal(load.underWay, 0);
  });
});
