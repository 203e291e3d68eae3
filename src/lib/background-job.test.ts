import assert from "node:assert/strict";
import { test } from "node:test";
import { poll, within } from "./wait.ts";
import { RepeatingJob } from "./background-job.ts";

const until = async (condition: () => boolean): Promise<void> => {
  assert.ok(await poll(async () => condition() || undefined, { timeoutMs: 5_000, everyMs: 2 }));
};

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
  await until(() => count >= 10);
  await job.stop();
  assert.equal(most, 1);
});

test("a turn that returns a long pause gets it", async () => {
  const job = new RepeatingJob({ onError: () => assert.fail("no error is expected") });
  let [quick, slow] = [0, 0];
  job.repeat(async () => {
    slow += 1;
    return 60_000;
  });
  job.repeat(async () => {
    quick += 1;
    return 1;
  });
  await until(() => quick >= 20);
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
    return 60_000;
  });
  await until(() => count === 2);
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
  assert.equal(await within(stopped, 5_000), true);
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
    return 60_000;
  });
  await until(() => count === 1);
  assert.equal(
    await within(
      job.stop().then(() => true),
      1_000,
    ),
    true,
  );
});

test("the first turns begin one after the other, and a slow one delays the next by a tenth of a second at most", async () => {
  const job = new RepeatingJob({ onError: () => assert.fail("no error is expected") });
  const events: string[] = [];
  const end = Promise.withResolvers<void>();
  job.repeat(async () => {
    events.push("first begins");
    await new Promise(setImmediate);
    events.push("first ends");
    return 60_000;
  });
  job.repeat(async () => {
    events.push("slow begins");
    await end.promise;
    return 60_000;
  });
  job.repeat(async () => {
    events.push("third begins");
    return 60_000;
  });
  await until(() => events.includes("third begins"));
  assert.deepEqual(events, ["first begins", "first ends", "slow begins", "third begins"]);
  end.resolve();
  await job.stop();
});
