import assert from "node:assert/strict";
import { test } from "node:test";
import { poll, within } from "./wait.ts";

const never = new Promise<string>(() => undefined);

test("polling asks until there is an answer, and not once more", async () => {
  let asked = 0;
  const ask = async (): Promise<string | undefined> => {
    asked += 1;
    return asked === 3 ? "here" : undefined;
  };
  assert.equal(await poll(ask, { timeoutMs: 10_000, everyMs: 1 }), "here");
  assert.equal(asked, 3);
});

test("polling takes null, false and zero for answers", async () => {
  for (const answer of [null, false, 0, ""]) assert.equal(await poll(async () => answer, { timeoutMs: 0, everyMs: 1 }), answer);
});

test("polling asks once even when there is no time", async () => {
  let asked = 0;
  const ask = async (): Promise<undefined> => void (asked += 1);
  assert.equal(await poll(ask, { timeoutMs: 0, everyMs: 1 }), undefined);
  assert.equal(asked, 1);
});

test("polling ends when the time is over", async () => {
  const startedAt = performance.now();
  assert.equal(await poll(async () => undefined, { timeoutMs: 20, everyMs: 1 }), undefined);
  assert.ok(performance.now() - startedAt >= 20);
});

test("polling passes on what the question throws", async () => {
  const ask = async (): Promise<undefined> => {
    throw new Error("away");
  };
  await assert.rejects(poll(ask, { timeoutMs: 10_000, everyMs: 1 }), /away/);
});

test("a promise that is in time keeps its value", async () => {
  assert.equal(await within(Promise.resolve("value"), 10_000), "value");
});

test("a promise that takes too long is undefined", async () => {
  assert.equal(await within(never, 5), undefined);
});

test("a promise that fails in time fails", async () => {
  await assert.rejects(within(Promise.reject(new Error("broken")), 10_000), /broken/);
});
