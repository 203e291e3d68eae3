import assert from "node:assert/strict";
import { test } from "node:test";
import { FailedAuthentications } from "./failed-authentications.ts";

function failuresAt(): { failures: FailedAuthentications; clock: { nowMs: number } } {
  const clock = { nowMs: 0 };
  return { failures: new FailedAuthentications(50, () => clock.nowMs), clock };
}

const fail = (failures: FailedAuthentications, peer: string, times: number): number =>
  Array.from({ length: times }, () => failures.delayMs(peer)).at(-1) ?? 0;

test("the first twenty failures of a peer are not delayed, and later ones wait longer and longer up to two seconds", () => {
  const { failures } = failuresAt();
  assert.equal(fail(failures, "192.0.2.1", 20), 0);
  assert.equal(fail(failures, "192.0.2.1", 1), 50);
  assert.equal(fail(failures, "192.0.2.1", 1), 100);
  assert.equal(fail(failures, "192.0.2.1", 1_000), 2_000);
});

test("a peer does not wait for the failures of another peer", () => {
  const { failures } = failuresAt();
  fail(failures, "192.0.2.1", 1_000);
  assert.equal(failures.delayMs("192.0.2.2"), 0);
});

test("failures are forgiven with time", () => {
  const { failures, clock } = failuresAt();
  fail(failures, "192.0.2.1", 30);
  clock.nowMs += 30_000;
  assert.equal(failures.delayMs("192.0.2.1"), 0);
});

test("ten thousand peers are remembered, and a further one replaces the one whose last failure is the oldest", () => {
  const { failures } = failuresAt();
  fail(failures, "oldest", 100);
  fail(failures, "kept", 100);
  for (let peer = 0; peer < 9_999; peer += 1) failures.delayMs(String(peer));
  assert.ok(failures.delayMs("kept") > 0);
  assert.equal(failures.delayMs("oldest"), 0);
});
