import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import fc from "fast-check";
import { poll, within } from "../../lib/wait.ts";
import { Reassembly, type PartText, type Whole } from "./reassembly.ts";

const part = (text: string, dataCoding = 0): PartText => ({ from: "+1", to: "+2", dataCoding, text: Buffer.from(text) });
const textOf = ({ runs }: Whole): string => runs.map((run) => (run === "missing" ? "…" : run.text.toString())).join("|");

// However a test ends: timers would keep the process alive.
const started: Reassembly[] = [];
afterEach(() => started.splice(0).forEach((reassembly) => reassembly.abandon()));

function start(waitMs = 60_000) {
  const passed: string[] = [];
  const behaviour = { isTaken: true };
  const reassembly = new Reassembly({
    waitMs,
    async pass(whole) {
      if (behaviour.isTaken) passed.push(textOf(whole));
      return behaviour.isTaken;
    },
  });
  started.push(reassembly);
  const add = (number: number, total: number, text: string, reference = "8:1"): Promise<boolean> =>
    reassembly.add({ reference, total, number }, part(text));
  return { reassembly, passed, add, behaviour };
}

test("parts in any order make one message, however they are repeated", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc
        .integer({ min: 2, max: 12 })
        .chain((total) => fc.tuple(fc.constant(total), fc.array(fc.integer({ min: 1, max: total }), { maxLength: 30 }))),
      async ([total, begin]) => {
        const { reassembly, passed, add } = start();
        const numbers = [...begin, ...Array.from({ length: total }, (_, index) => index + 1)];
        assert.ok((await Promise.all(numbers.map((number) => add(number, total, `<${number}>`)))).every(Boolean));
        assert.deepEqual(passed, [Array.from({ length: total }, (_, index) => `<${index + 1}>`).join("")]);
        assert.equal(reassembly.size, 0);
      },
    ),
    { numRuns: 100 },
  );
});

test("messages of other people, references and lengths are kept apart", async () => {
  const { reassembly, passed, add } = start();
  const waiting = [add(1, 2, "a"), add(1, 2, "b", "8:2"), add(1, 3, "c"), add(1, 2, "d", "16:1")];
  assert.equal(await within(Promise.race(waiting), 20), undefined);
  assert.equal(reassembly.size, 4);
  assert.deepEqual(passed, []);
  reassembly.abandon();
  assert.equal(reassembly.size, 0);
});

test("what was not committed is tried again with the next part that comes", async () => {
  const { passed, add, behaviour } = start();
  behaviour.isTaken = false;
  const first = add(1, 2, "a");
  assert.equal(await add(2, 2, "b"), false);
  behaviour.isTaken = true;
  assert.equal(await add(2, 2, "b"), true);
  assert.equal(await first, true);
  assert.deepEqual(passed, ["ab"]);
});

test("a reference that comes round again begins a message of its own", async () => {
  const { passed, add } = start();
  await Promise.all([add(1, 2, "a"), add(2, 2, "b")]);
  await Promise.all([add(1, 2, "c"), add(2, 2, "d")]);
  assert.deepEqual(passed, ["ab", "cd"]);
});

test("what never becomes whole is passed when its time is over, with its gaps", async () => {
  const { reassembly, passed, add } = start(20);
  void add(2, 6, "two ");
  void add(3, 6, "three");
  void add(5, 6, "five");
  assert.ok(await poll(async () => (passed.length > 0 ? true : undefined), { timeoutMs: 5_000, everyMs: 2 }));
  assert.deepEqual(passed, ["…|two three|…|five|…"]);
  assert.equal(reassembly.size, 0);
});

test("beginnings without end are bounded: the oldest are passed as they are", async () => {
  const { reassembly, passed, add } = start();
  for (let count = 0; count < 3_000; count += 1) void add(1, 2, `m${count}`, `16:${count}`);
  await new Promise(setImmediate);
  assert.ok(reassembly.size <= 1_100, `${reassembly.size} are held`);
  assert.equal(passed.length, 2_000);
  assert.equal(passed[0], "m0|…");
  reassembly.abandon();
});

test("they are bounded also when nobody takes them", async () => {
  const { reassembly, add, behaviour } = start();
  behaviour.isTaken = false;
  for (let count = 0; count < 3_000; count += 1) void add(1, 2, `m${count}`, `16:${count}`);
  await new Promise(setImmediate);
  assert.ok(reassembly.size <= 1_100, `${reassembly.size} are held`);
  reassembly.abandon();
});
