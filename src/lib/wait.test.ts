import assert from "node:assert/strict";
import { test } from "node:test";
import { poll, within } from "./wait.ts";

const never = new Promise<string>(() => undefined);

test("polling checks until there is a value, and not again", async () => {
  let calls = 0;
  const check = async (): Promise<string | undefined> => {
    calls += 1;
    return calls === 3 ? "here" : undefined;
  };
  assert.equal(await poll(check, { timeoutMs: 10_000, everyMs: 1 }), "here");
  assert.equal(calls, 3);
});

test("polling returns null, false and zero as values", async () => {
  for (const value of [null, false, 0, ""]) assert.equal(await poll(async () => value, { timeoutMs: 0, everyMs: 1 }), value);
});

test("polling checks once without any time", async () => {
  let calls = 0;
  const check = async (): Promise<undefined> => void (calls += 1);
  assert.equal(await poll(check, { timeoutMs: 0, everyMs: 1 }), undefined);
  assert.equal(calls, 1);
});

test("polling ends at its time limit", async () => {
  const startedAt = performance.now();
  assert.equal(await poll(async () => undefined, { timeoutMs: 20, everyMs: 1 }), undefined);
  assert.ok(performance.now() - startedAt >= 20);
});

test("polling rejects with the error of the check", async () => {
  const check = async (): Promise<undefined> => {
    throw new Error("unavailable");
  };
  await assert.rejects(poll(check, { timeoutMs: 10_000, everyMs: 1 }), /unavailable/);
});

test("a promise that settles in time keeps its value", async () => {
  assert.equal(await within(Promise.resolve("value"), 10_000), "value");
});

test("a promise that takes too long becomes undefined", async () => {
  assert.equal(await within(never, 5), undefined);
});

test("a promise that rejects in time rejects", async () => {
  await assert.rejects(within(Promise.reject(new Error("broken")), 10_000), /broken/);
});
