import assert from "node:assert/strict";
import { test } from "node:test";
import { Rate } from "./rate.ts";

/** The number of parts that get a token within a time, with an attempt in each millisecond. */
function through(rate: Rate, fromMs: number, forMs: number): number {
  let count = 0;
  for (let now = fromMs; now < fromMs + forMs; now += 1) while (rate.take(now) === 0 && count < 1_000_000) count += 1;
  return count;
}

test("a rate is kept over seconds, and no second exceeds it by much", () => {
  const rate = new Rate(40, 0);
  for (let second = 0; second < 10; second += 1) {
    const count = through(rate, second * 1_000, 1_000);
    assert.ok(count >= 39 && count <= 44, `${count} in second ${second}`);
  }
});

test("a rate below one a second is kept too", () => assert.equal(through(new Rate(0.5, 0), 0, 10_000), 5));

test("a part without a token gets its waiting time", () => {
  const rate = new Rate(10, 0);
  assert.equal(rate.take(0), 0);
  assert.equal(rate.take(0), 100);
  assert.ok([1, 2].includes(rate.take(99)));
  assert.equal(rate.take(101), 0);
});

test("a cut halves the rate, another cut halves it again, and the rate grows to its full value step by step", () => {
  const rate = new Rate(100, 0);
  rate.cut(0);
  assert.equal(rate.perSecond, 50);
  rate.cut(0);
  assert.equal(rate.perSecond, 25);
  rate.take(1_000);
  assert.equal(rate.perSecond, 30);
  rate.take(2_000);
  assert.equal(rate.perSecond, 35);
  rate.take(60_000);
  assert.equal(rate.perSecond, 100);
});

test("the rate stays at one part a second, however often it is cut", () => {
  const rate = new Rate(100, 0);
  for (let count = 0; count < 50; count += 1) rate.cut(0);
  assert.equal(rate.perSecond, 1);
});

test("without a limit no part waits, a cut halves the actual rate, and the limit disappears in time", () => {
  const rate = new Rate(null, 0);
  for (let count = 0; count < 200; count += 1) assert.equal(rate.take(500), 0);
  rate.cut(600);
  assert.equal(rate.perSecond, 100);
  rate.take(5_600);
  assert.equal(rate.perSecond, 200);
  rate.take(20_600);
  assert.equal(rate.perSecond, null);
});
