import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import fc from "fast-check";
import { poll, within } from "../../lib/wait.ts";
import { Reassembly, type MessagePart, type ReassembledMessage } from "./reassembly.ts";

const part = (text: string, dataCoding = 0): MessagePart => ({
  addresses: { from: "+1", to: "+2" },
  dataCoding,
  text: Buffer.from(text),
});
const textOf = ({ runs }: ReassembledMessage): string => runs.map((run) => (run === "missing" ? "…" : run.text.toString())).join("|");

// Runs also after a failed test: timers would keep the process alive.
const started: Reassembly[] = [];
afterEach(() => started.splice(0).forEach((reassembly) => reassembly.abandon()));

function start(waitMs = 60_000) {
  const stored: string[] = [];
  const behavior = { isStored: true };
  const reassembly = new Reassembly({
    waitMs,
    async store(message) {
      if (behavior.isStored) stored.push(textOf(message));
      return behavior.isStored;
    },
  });
  started.push(reassembly);
  const add = (number: number, total: number, text: string, reference = "8:1"): Promise<boolean> =>
    reassembly.add({ reference, total, number }, part(text));
  return { reassembly, stored, add, behavior };
}

test("parts in any order make one message, with any repetitions", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc
        .integer({ min: 2, max: 12 })
        .chain((total) => fc.tuple(fc.constant(total), fc.array(fc.integer({ min: 1, max: total }), { maxLength: 30 }))),
      async ([total, repeated]) => {
        const { reassembly, stored, add } = start();
        const numbers = [...repeated, ...Array.from({ length: total }, (_, index) => index + 1)];
        assert.ok((await Promise.all(numbers.map((number) => add(number, total, `<${number}>`)))).every(Boolean));
        assert.deepEqual(stored, [Array.from({ length: total }, (_, index) => `<${index + 1}>`).join("")]);
        assert.equal(reassembly.size, 0);
      },
    ),
    { numRuns: 100 },
  );
});

test("messages with different senders, references and lengths are kept apart", async () => {
  const { reassembly, stored, add } = start();
  const waiting = [add(1, 2, "a"), add(1, 2, "b", "8:2"), add(1, 3, "c"), add(1, 2, "d", "16:1")];
  assert.equal(await within(Promise.race(waiting), 20), undefined);
  assert.equal(reassembly.size, 4);
  assert.deepEqual(stored, []);
  reassembly.abandon();
  assert.equal(reassembly.size, 0);
});

test("a message that was not committed is stored again with the next part", async () => {
  const { stored, add, behavior } = start();
  behavior.isStored = false;
  const first = add(1, 2, "a");
  assert.equal(await add(2, 2, "b"), false);
  behavior.isStored = true;
  assert.equal(await add(2, 2, "b"), true);
  assert.equal(await first, true);
  assert.deepEqual(stored, ["ab"]);
});

test("a reused reference starts a new message", async () => {
  const { stored, add } = start();
  await Promise.all([add(1, 2, "a"), add(2, 2, "b")]);
  await Promise.all([add(1, 2, "c"), add(2, 2, "d")]);
  assert.deepEqual(stored, ["ab", "cd"]);
});

test("a part with another text begins a new message, and the parts before it are stored", async () => {
  const { stored, add } = start();
  const first = add(1, 2, "A1");
  assert.deepEqual(await Promise.all([add(1, 2, "B1"), add(2, 2, "B2"), first]), [true, true, true]);
  assert.deepEqual(stored.toSorted(), ["A1|…", "B1B2"]);
});

test("an incomplete message is stored after the time limit, with marks for its missing parts", async () => {
  const { reassembly, stored, add } = start(20);
  void add(2, 6, "two ");
  void add(3, 6, "three");
  void add(5, 6, "five");
  assert.ok(await poll(async () => (stored.length > 0 ? true : undefined), { timeoutMs: 5_000, everyMs: 2 }));
  assert.deepEqual(stored, ["…|two three|…|five|…"]);
  assert.equal(reassembly.size, 0);
});

test("the number of incomplete messages is limited, and the oldest are stored first", async () => {
  const { reassembly, stored, add } = start();
  for (let count = 0; count < 3_000; count += 1) void add(1, 2, `m${count}`, `16:${count}`);
  await new Promise(setImmediate);
  assert.ok(reassembly.size <= 1_100, `${reassembly.size} are held`);
  assert.equal(stored.length, 2_000);
  assert.equal(stored[0], "m0|…");
  reassembly.abandon();
});

test("the number of incomplete messages is limited when none can be stored", async () => {
  const { reassembly, add, behavior } = start();
  behavior.isStored = false;
  for (let count = 0; count < 3_000; count += 1) void add(1, 2, `m${count}`, `16:${count}`);
  await new Promise(setImmediate);
  assert.ok(reassembly.size <= 1_100, `${reassembly.size} are held`);
  reassembly.abandon();
});
