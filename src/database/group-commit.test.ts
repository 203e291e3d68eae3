import assert from "node:assert/strict";
import { setImmediate as turn } from "node:timers/promises";
import { test } from "node:test";
import fc from "fast-check";
import { LIMIT_MS } from "../../test/support/expect.ts";
import { poll } from "../lib/wait.ts";
import { GroupCommit, Overloaded, type GroupCommitOptions } from "./group-commit.ts";

type Run = { items: readonly string[]; finish: () => void; fail: (error: Error) => void };

class ItemFault extends Error {}

/** A group commit whose database responds when the test lets it. */
function start(options: Partial<GroupCommitOptions<string, string>> = {}) {
  const runs: Run[] = [];
  const commits = new GroupCommit<string, string>({
    run: (items) =>
      new Promise((resolve, reject) => {
        runs.push({ items, finish: () => resolve(items.map((item) => `${item} done`)), fail: reject });
      }),
    isItemFault: (error) => error instanceof ItemFault,
    maxBatch: 4,
    maxWaiting: 10,
    maxConcurrent: 1,
    minConcurrentBatch: 2,
    maxWaitMs: 1_000,
    ...options,
  });
  const run = async (index: number): Promise<Run> => {
    // Two turns: one in which a batch ends, one in which the next begins.
    await turn();
    await turn();
    assert.ok(runs.length > index, `batch ${index} was not run`);
    return runs[index] as Run;
  };
  return { commits, runs, run };
}

test("a single item runs at once in its own batch", async () => {
  const { commits, run } = start();
  const outcome = commits.submit("a");
  const { items, finish } = await run(0);
  assert.deepEqual(items, ["a"]);
  finish();
  assert.equal(await outcome, "a done");
});

test("items of one turn of the event loop share a batch", async () => {
  const { commits, run, runs } = start();
  const outcomes = Promise.all(["a", "b", "c"].map((item) => commits.submit(item)));
  const { items, finish } = await run(0);
  assert.deepEqual(items, ["a", "b", "c"]);
  finish();
  assert.deepEqual(await outcomes, ["a done", "b done", "c done"]);
  assert.equal(runs.length, 1);
});

test("one of several workers waits for a batch as large as the last one, and not for long", async () => {
  const { commits, run, runs } = start({ restMs: 100 });
  const submit = (...items: string[]): Promise<string[]> => Promise.all(items.map((item) => commits.submit(item)));
  const first = submit("a", "b");
  (await run(0)).finish();
  await first;
  const second = submit("c");
  await turn();
  await turn();
  assert.equal(runs.length, 1, "it waits for another item");
  const third = submit("d");
  const { items, finish } = await run(1);
  assert.deepEqual(items, ["c", "d"]);
  finish();
  await Promise.all([second, third]);
  const alone = submit("e");
  await poll(async () => runs[2], { timeoutMs: LIMIT_MS, everyMs: 5 });
  runs[2]?.finish();
  assert.deepEqual(await alone, ["e done"]);
  // The only client never waits.
  const next = submit("f");
  (await run(3)).finish();
  assert.deepEqual(await next, ["f done"]);
});

test("items without a client that waits rest for company after a batch", async () => {
  const { commits, run, runs } = start({ restMs: 1_000, restUpTo: 3 });
  const first = commits.submit("a");
  (await run(0)).finish();
  await first;
  const second = [commits.submit("b")];
  for (const item of ["c", "d"]) {
    await turn();
    await turn();
    assert.equal(runs.length, 1, "it waits for more items");
    second.push(commits.submit(item));
  }
  const { items, finish } = await run(1);
  assert.deepEqual(items, ["b", "c", "d"]);
  finish();
  await Promise.all(second);
});

test("a client that waits for each outcome rests before one in 64 batches", async () => {
  const { commits, runs } = start({ restMs: 100, restUpTo: 3 });
  const rests: number[] = [];
  for (let index = 0; index < 200; index += 1) {
    const outcome = commits.submit("a");
    await turn();
    await turn();
    if (runs.length <= index) {
      rests.push(index);
      await poll(async () => runs[index], { timeoutMs: LIMIT_MS, everyMs: 5 });
    }
    runs[index]?.finish();
    await outcome;
  }
  // On a slow machine a rest may end unseen.
  const expected = new Set([1, 3, 7, 15, 31, 63, 127, 191]);
  assert.deepEqual(
    rests.filter((index) => !expected.has(index)),
    [],
  );
});

test("clients that wait for their outcomes rest only until all of them wait", async () => {
  const { commits, runs } = start({ restMs: 100, restUpTo: 4 });
  let longRests = 0;
  for (let index = 0; index < 70; index += 1) {
    const outcomes = ["a", "b"].map((item) => commits.submit(item));
    await turn();
    await turn();
    if (runs.length <= index) {
      longRests += 1;
      await poll(async () => runs[index], { timeoutMs: LIMIT_MS, everyMs: 5 });
    }
    assert.deepEqual(runs[index]?.items, ["a", "b"]);
    runs[index]?.finish();
    await Promise.all(outcomes);
  }
  assert.ok(longRests <= 7, `${longRests} long rests`);
});

test("an item that may not rest takes those that rest with it", async () => {
  const { commits, run, runs } = start({ restMs: 2_000, restUpTo: 10, mayRest: (item) => item !== "urgent" });
  const first = commits.submit("a");
  (await run(0)).finish();
  await first;
  const outcomes = [commits.submit("b")];
  await turn();
  await turn();
  assert.equal(runs.length, 1, "it rests");
  outcomes.push(commits.submit("urgent"));
  const { items, finish } = await run(1);
  assert.deepEqual(items, ["b", "urgent"]);
  finish();
  await Promise.all(outcomes);
  // One that waits while a batch is at the database follows it at once.
  const running = commits.submit("urgent");
  await run(2);
  const next = [commits.submit("urgent"), commits.submit("c")];
  runs[2]?.finish();
  assert.deepEqual((await run(3)).items, ["urgent", "c"]);
  runs[3]?.finish();
  await Promise.all([running, ...next]);
});

test("items that arrive during a run share the next batch", async () => {
  const { commits, run, runs } = start();
  const first = commits.submit("a");
  const running = await run(0);
  const second = commits.submit("b");
  await turn();
  const third = commits.submit("c");
  await turn();
  assert.equal(runs.length, 1);
  assert.equal(commits.waiting, 2);
  running.finish();
  const next = await run(1);
  assert.deepEqual(next.items, ["b", "c"]);
  next.finish();
  assert.deepEqual(await Promise.all([first, second, third]), ["a done", "b done", "c done"]);
});

test("a batch takes at most its limit, and the rest follows in order", async () => {
  const { commits, run } = start();
  const outcomes = Promise.all(["a", "b", "c", "d", "e", "f"].map((item) => commits.submit(item)));
  const first = await run(0);
  assert.deepEqual(first.items, ["a", "b", "c", "d"]);
  first.finish();
  const second = await run(1);
  assert.deepEqual(second.items, ["e", "f"]);
  second.finish();
  assert.deepEqual(
    await outcomes,
    ["a", "b", "c", "d", "e", "f"].map((item) => `${item} done`),
  );
});

test("no more batches run at the same time than allowed", async () => {
  const { commits, run, runs } = start({ maxConcurrent: 2, maxBatch: 2 });
  const outcomes = Promise.all(["a", "b", "c", "d", "e", "f"].map((item) => commits.submit(item)));
  await run(1);
  assert.deepEqual(
    runs.map(({ items }) => items),
    [
      ["a", "b"],
      ["c", "d"],
    ],
  );
  runs[1]?.finish();
  const third = await run(2);
  assert.deepEqual(third.items, ["e", "f"]);
  runs[0]?.finish();
  third.finish();
  await outcomes;
});

test("a few items wait for the running batch", async () => {
  const { commits, run, runs } = start({ maxConcurrent: 2, minConcurrentBatch: 3 });
  const first = commits.submit("a");
  await run(0);
  const second = [commits.submit("b"), commits.submit("c")];
  await turn();
  await turn();
  assert.equal(runs.length, 1);
  second.push(commits.submit("d"));
  const beside = await run(1);
  assert.deepEqual(beside.items, ["b", "c", "d"]);
  beside.finish();
  runs[0]?.finish();
  await Promise.all([first, ...second]);
});

test("a few items run beside a batch that is stuck", async () => {
  const { commits, run, runs } = start({ maxConcurrent: 2, minConcurrentBatch: 3, maxWaitMs: 5 });
  const first = commits.submit("a");
  await run(0);
  const second = commits.submit("b");
  await poll(async () => (runs.length === 2 ? true : undefined), { timeoutMs: LIMIT_MS, everyMs: 1 });
  assert.deepEqual(runs[1]?.items, ["b"]);
  runs[1]?.finish();
  assert.equal(await second, "b done");
  runs[0]?.finish();
  await first;
});

test("a full queue refuses items, and accepts them again once there is room", async () => {
  const { commits, run } = start({ maxWaiting: 2 });
  const first = commits.submit("a");
  const running = await run(0);
  const waiting = [commits.submit("b"), commits.submit("c")];
  await assert.rejects(commits.submit("d"), Overloaded);
  running.finish();
  const next = await run(1);
  assert.deepEqual(next.items, ["b", "c"]);
  const later = commits.submit("e");
  next.finish();
  (await run(2)).finish();
  assert.equal(await later, "e done");
  await Promise.all([first, ...waiting]);
});

test("an error that concerns no single item fails the whole batch, once", async () => {
  const { commits, run, runs } = start();
  const outcomes = Promise.allSettled(["a", "b"].map((item) => commits.submit(item)));
  (await run(0)).fail(new Error("away"));
  assert.deepEqual(
    (await outcomes).map(({ status }) => status),
    ["rejected", "rejected"],
  );
  assert.equal(runs.length, 1);
});

test("after a failed batch the next one runs", async () => {
  const { commits, run } = start();
  const failed = assert.rejects(commits.submit("a"), /away/);
  (await run(0)).fail(new Error("away"));
  await failed;
  const outcome = commits.submit("b");
  (await run(1)).finish();
  assert.equal(await outcome, "b done");
});

test("a run that returns too few outcomes fails", async () => {
  const { commits } = start({ run: async () => [] });
  await assert.rejects(commits.submit("a"), /one outcome for each item/);
});

test("each bad item fails by itself, and every other item succeeds exactly once", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.boolean(), { minLength: 1, maxLength: 40 }), async (isBad) => {
      const stored: number[] = [];
      const commits = new GroupCommit<number, string>({
        run: async (items) => {
          const bad = items.find((item) => isBad[item]);
          if (bad !== undefined) throw new ItemFault(`item ${bad}`);
          stored.push(...items);
          return items.map((item) => `done ${item}`);
        },
        isItemFault: (error) => error instanceof ItemFault,
        maxBatch: 16,
        maxWaiting: 100,
        maxConcurrent: 2,
        minConcurrentBatch: 4,
        maxWaitMs: 1_000,
      });
      const outcomes = await Promise.all(isBad.map((_, item) => commits.submit(item).catch((error: unknown) => (error as Error).message)));
      assert.deepEqual(
        outcomes,
        isBad.map((bad, item) => (bad ? `item ${item}` : `done ${item}`)),
      );
      assert.deepEqual(
        stored.toSorted((a, b) => a - b),
        isBad.flatMap((bad, item) => (bad ? [] : [item])),
      );
    }),
  );
});

test("one bad item costs few runs, not one for each other item", async () => {
  let runs = 0;
  const { commits } = start({
    maxBatch: 64,
    maxWaiting: 64,
    run: async (items) => {
      runs += 1;
      if (items.includes("bad")) throw new ItemFault("bad");
      return items;
    },
  });
  const items = Array.from({ length: 64 }, (_, index) => (index === 37 ? "bad" : `item ${index}`));
  await Promise.allSettled(items.map((item) => commits.submit(item)));
  assert.ok(runs <= 1 + 2 * Math.log2(64), `${runs} runs`);
});

test("owners take turns where more items wait than a batch holds", async () => {
  const { commits, run } = start({ maxBatch: 3, ownerOf: (item) => item.charAt(0) });
  const outcomes = ["a1", "a2", "a3", "a4", "a5", "b1"].map((item) => commits.submit(item));
  const first = await run(0);
  assert.deepEqual(first.items, ["a1", "b1", "a2"]);
  first.finish();
  const second = await run(1);
  assert.deepEqual(second.items, ["a3", "a4", "a5"]);
  second.finish();
  assert.deepEqual(
    await Promise.all(outcomes),
    ["a1", "a2", "a3", "a4", "a5", "b1"].map((item) => `${item} done`),
  );
});

test("an item that meets a lock waits by itself, and the items of its batch and later ones go on", async () => {
  const locked = Promise.withResolvers<void>();
  const runs: string[] = [];
  const run = async (items: readonly string[], mayWait: boolean): Promise<string[]> => {
    runs.push(`${items.join("")}${mayWait ? " waits" : ""}`);
    if (items.includes("b") && !mayWait) throw new ItemFault("locked");
    if (items.includes("b")) await locked.promise;
    return items.map((item) => `${item} done`);
  };
  const { commits } = start({ run, isItemFault: () => false, isBlocked: (error) => error instanceof ItemFault });
  const [a, b, c] = ["a", "b", "c"].map((item) => commits.submit(item));
  assert.deepEqual(await Promise.all([a, c, commits.submit("d")]), ["a done", "c done", "d done"]);
  assert.deepEqual(runs.toSorted(), ["a", "abcd", "b", "b waits", "c", "d"]);
  assert.equal(await commits.submit("e"), "e done");
  assert.equal(commits.pending, 1);
  locked.resolve();
  assert.equal(await b, "b done");
  assert.equal(commits.pending, 0);
});

test("batches begin small, grow with each that succeeds, and begin small again after a failure", async () => {
  const { commits, run, runs } = start({ firstBatch: 2, maxBatch: 16, maxWaiting: 1_000 });
  const outcomes = Promise.allSettled(Array.from({ length: 66 }, (_, index) => commits.submit(String(index))));
  for (let index = 0; index < 4; index += 1) (await run(index)).finish();
  (await run(4)).fail(new Error("the database is gone"));
  for (let index = 5; index < 9; index += 1) (await run(index)).finish();
  await outcomes;
  assert.deepEqual(
    runs.map(({ items }) => items.length),
    [2, 4, 8, 16, 16, 2, 4, 8, 6],
  );
});

test("a small batch after large ones does not make the next one small", async () => {
  const { commits, run, runs } = start({ firstBatch: 2, maxBatch: 16, maxWaiting: 1_000 });
  const submit = (count: number) => Promise.all(Array.from({ length: count }, (_, index) => commits.submit(String(index))));
  const first = submit(14);
  for (let index = 0; index < 3; index += 1) (await run(index)).finish();
  await first;
  const small = submit(1);
  (await run(3)).finish();
  await small;
  const next = submit(8);
  (await run(4)).finish();
  await next;
  assert.deepEqual(
    runs.map(({ items }) => items.length),
    [2, 4, 8, 1, 8],
  );
});
