import assert from "node:assert/strict";
import { test } from "node:test";
import { LIMIT_MS, NEVER_MS, until } from "../../test/support/expect.ts";
import { RepeatingJob } from "./background-job.ts";
import { within } from "./wait.ts";

test("a turn runs again after the pause that it returns, and never twice at a time", async () => {
  const job = new RepeatingJob({ onError: () => assert.fail("no error is expected") });
  let count = 0;
  let running = 0;
  let most = 0;
  job.repeat(async () => {
    running += 1;
    most = Math.max(most, running);
    await new Promise(setImmediate);
    running -= 1;
    count += 1;
    return 0;
  });
  await until("ten turns", () => count >= 10);
  await job.stop();
  assert.equal(most, 1);
});

test("a turn that returns a long pause gets it", async () => {
  const job = new RepeatingJob({ onError: () => assert.fail("no error is expected") });
  let [quick, slow] = [0, 0];
  job.repeat(async () => {
    slow += 1;
    return NEVER_MS;
  });
  job.repeat(async () => {
    quick += 1;
    return 1;
  });
  await until("twenty quick turns", () => quick >= 20);
  await job.stop();
  assert.equal(slow, 1);
});

test("an error is reported, and the turn runs again a second later", async () => {
  const reported: unknown[] = [];
  const job = new RepeatingJob({ onError: (error) => reported.push(error) });
  const startedAt = performance.now();
  let count = 0;
  job.repeat(async () => {
    count += 1;
    if (count === 1) throw new Error("the database is unavailable");
    return NEVER_MS;
  });
  await until("the second turn", () => count === 2);
  assert.ok(performance.now() - startedAt >= 990);
  assert.deepEqual(reported.map(String), ["Error: the database is unavailable"]);
  await job.stop();
});

test("a stop waits for the running turn, and no other turn begins", async () => {
  const job = new RepeatingJob({ onError: () => assert.fail("no error is expected") });
  const { promise, resolve } = Promise.withResolvers<number>();
  let count = 0;
  job.repeat(() => {
    count += 1;
    return promise;
  });
  const stopped = job.stop().then(() => true);
  assert.equal(await within(stopped, 20), undefined, "it did not wait");
  resolve(0);
  assert.equal(await within(stopped, LIMIT_MS), true);
  job.repeat(async () => {
    count += 1;
    return 0;
  });
  await new Promise(setImmediate);
  assert.equal(count, 1);
});

test("a stop does not wait for a pause", async () => {
  const job = new RepeatingJob({ onError: () => assert.fail("no error is expected") });
  let count = 0;
  job.repeat(async () => {
    count += 1;
    return NEVER_MS;
  });
  await until("the first turn", () => count === 1);
  assert.equal(
    await within(
      job.stop().then(() => true),
      LIMIT_MS,
    ),
    true,
  );
});

test("the first turns begin one after the other", async () => {
  const job = new RepeatingJob({ onError: () => assert.fail("no error is expected"), firstTurnMs: NEVER_MS });
  const events: string[] = [];
  for (const name of ["first", "second", "third"])
    job.repeat(async () => {
      events.push(`${name} begins`);
      await new Promise(setImmediate);
      events.push(`${name} ends`);
      return NEVER_MS;
    });
  await until("the third turn to end", () => events.includes("third ends"));
  assert.deepEqual(events, ["first begins", "first ends", "second begins", "second ends", "third begins", "third ends"]);
  await job.stop();
});

test("a first turn that does not end delays the next one only for the limit, which starts when the turn begins", async () => {
  const firstTurnMs = 50;
  const job = new RepeatingJob({ onError: () => assert.fail("no error is expected"), firstTurnMs });
  const begunAt: number[] = [];
  const { promise, resolve } = Promise.withResolvers<number>();
  for (let count = 0; count < 3; count += 1)
    job.repeat(() => {
      begunAt.push(performance.now());
      return promise;
    });
  await until("the third turn to begin", () => begunAt.length === 3);
  resolve(NEVER_MS);
  await job.stop();
  const [first = 0, second = 0, third = 0] = begunAt;
  for (const delayMs of [second - first, third - second]) assert.ok(delayMs >= firstTurnMs - 10, `${delayMs} ms`);
});
