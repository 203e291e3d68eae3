import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { ClaimLoop } from "./claim-loop.ts";

/** A queue whose claims end when the test says so. */
class Queue {
  isAnyDue = true;
  hasRoom = true;
  readonly begun: boolean[] = [];
  readonly errors: unknown[] = [];
  #end = Promise.withResolvers<void>();

  readonly loop = new ClaimLoop({
    isAnyDue: () => this.isAnyDue,
    begin: (isWoken) => {
      if (!this.hasRoom) return undefined;
      this.begun.push(isWoken);
      this.#end = Promise.withResolvers<void>();
      return this.#end.promise;
    },
    onError: (error) => this.errors.push(error),
  });

  async end(error?: Error): Promise<void> {
    if (error === undefined) this.#end.resolve();
    else this.#end.reject(error);
    await nextTurn();
  }
}

test("a queue without due rows is not claimed from", () => {
  const queue = new Queue();
  queue.isAnyDue = false;
  queue.loop.wake();
  assert.deepEqual([queue.begun, queue.loop.isClaiming], [[], false]);
});

test("one claim runs at a time, and is followed by another while rows are due", async () => {
  const queue = new Queue();
  queue.loop.claim();
  queue.loop.claim();
  assert.deepEqual([queue.begun, queue.loop.isClaiming], [[false], true]);
  await queue.end();
  assert.equal(queue.begun.length, 2);
  queue.isAnyDue = false;
  await queue.end();
  assert.deepEqual([queue.begun.length, queue.loop.isClaiming], [2, false]);
});

test("a wake-up is kept while a claim runs", async () => {
  const queue = new Queue();
  queue.loop.claim();
  queue.loop.wake();
  await queue.end();
  assert.deepEqual(queue.begun, [false, true]);
});

test("a wake-up is kept until there is room, and forgotten if nothing is due", () => {
  const queue = new Queue();
  queue.hasRoom = false;
  queue.loop.wake();
  queue.hasRoom = true;
  queue.loop.claim();
  assert.deepEqual(queue.begun, [true]);

  const empty = new Queue();
  empty.isAnyDue = false;
  empty.loop.wake();
  empty.isAnyDue = true;
  empty.loop.claim();
  assert.deepEqual(empty.begun, [false]);
});

test("a failed claim is reported, and repeated after a pause", async (context) => {
  const queue = new Queue();
  queue.loop.claim();
  const error = new Error("no connection");
  await queue.end(error);
  queue.loop.wake();
  assert.deepEqual([queue.errors, queue.begun.length, queue.loop.isClaiming], [[error], 1, true]);
  await context.waitFor(() => assert.equal(queue.begun.length, 2), { timeout: 30_000 });
});

test("a stop waits for the claim that is running, and none follows", async () => {
  const queue = new Queue();
  queue.loop.claim();
  let isStopped = false;
  const stopped = queue.loop.stop().then(() => (isStopped = true));
  await nextTurn();
  assert.equal(isStopped, false);
  await queue.end();
  await stopped;
  queue.loop.wake();
  assert.equal(queue.begun.length, 1);
});

test("a stop does not wait for the pause after a failed claim", async () => {
  const queue = new Queue();
  queue.loop.claim();
  await queue.end(new Error("no connection"));
  await queue.loop.stop();
  assert.equal(queue.begun.length, 1);
});

test("with a delay, events that come together are followed by one claim", async (context) => {
  let claims = 0;
  const loop = new ClaimLoop({
    isAnyDue: () => claims === 0,
    begin: async () => void (claims += 1),
    onError: assert.ifError,
    delayMs: 1,
  });
  for (let event = 0; event < 5; event += 1) loop.claim();
  assert.equal(claims, 0);
  await context.waitFor(() => assert.equal(claims, 1), { timeout: 30_000 });
  await loop.stop();
});
