import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { GIVE_UP_AFTER_MS, MAX_DELIVERY_ATTEMPTS, retryDelayMs } from "./schedule.ts";

const [SECOND, MINUTE, HOUR] = [1_000, 60_000, 3_600_000];
const DAY = 24 * HOUR;

const DELAYS: readonly (readonly [attempts: number, ms: number])[] = [
  [1, 5 * SECOND],
  [2, 30 * SECOND],
  [3, 2 * MINUTE],
  [4, 10 * MINUTE],
  [5, 30 * MINUTE],
  [6, 2 * HOUR],
  [7, 5 * HOUR],
  [8, 10 * HOUR],
  [9, 14 * HOUR],
  [10, 20 * HOUR],
  [11, 24 * HOUR],
];

for (const [attempts, ms] of DELAYS) {
  test(`after attempt ${attempts} the wait is ${ms / SECOND} s, a fifth more or less`, () => {
    assert.equal(
      retryDelayMs(attempts, null, () => 0),
      0.8 * ms,
    );
    assert.equal(
      retryDelayMs(attempts, null, () => 0.5),
      ms,
    );
    assert.equal(
      retryDelayMs(attempts, null, () => 1),
      1.2 * ms,
    );
    for (let time = 0; time < 50; time += 1) {
      const wait = retryDelayMs(attempts, null) ?? NaN;
      assert.ok(Number.isInteger(wait) && wait >= 0.8 * ms && wait <= 1.2 * ms, String(wait));
    }
  });
}

test("there are twelve attempts in all", () => {
  assert.equal(MAX_DELIVERY_ATTEMPTS, 12);
  for (const attempts of [12, 13, 1_000]) {
    assert.equal(retryDelayMs(attempts, null), undefined);
    assert.equal(retryDelayMs(attempts, DAY), undefined, "whatever the endpoint asks for");
  }
});

test("the last attempt is made before the endpoint is disabled", () => {
  assert.equal(GIVE_UP_AFTER_MS, 5 * DAY);
  const longest = DELAYS.reduce((sum, [attempts]) => sum + (retryDelayMs(attempts, null, () => 1) ?? NaN), 0);
  assert.ok(longest < GIVE_UP_AFTER_MS, `${longest / HOUR} hours`);
});

test("deliveries that failed together are not retried together", () => {
  const waits = new Set(Array.from({ length: 50 }, () => retryDelayMs(5, null)));
  assert.ok(waits.size > 40, `only ${waits.size} different waits of 50`);
});

describe("an endpoint that requests a wait", () => {
  const ASKED: readonly (readonly [sentence: string, attempts: number, asked: number, waits: number])[] = [
    ["longer than ours gets it", 1, 90 * SECOND, 90 * SECOND],
    ["shorter than ours does not", 3, SECOND, 2 * MINUTE],
    ["of nothing does not", 1, 0, 5 * SECOND],
    ["of a day gets it", 1, DAY, DAY],
    ["of more than a day gets a day", 1, DAY + SECOND, DAY],
    ["of years gets a day", 6, 999_999_999 * SECOND, DAY],
  ];
  for (const [sentence, attempts, asked, waits] of ASKED) {
    test(sentence, () =>
      assert.equal(
        retryDelayMs(attempts, asked, () => 0.5),
        waits,
      ),
    );
  }
});
