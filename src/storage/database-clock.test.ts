import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { ClockEstimate, type ClockSample } from "./database-clock.ts";

const START_MS = Date.UTC(2026, 10, 16);
const SECOND = 1_000;
const HOUR = 3_600_000;
const DAY = 24 * HOUR;

/** A sample at a time of the monotonic clock. `database` and `wall` are the errors of the two clocks. */
const sample = (
  monotonicMs: number,
  { database = 0, wall = 0, roundTripMs = 1 }: { database?: number; wall?: number; roundTripMs?: number } = {},
): ClockSample => ({
  databaseMs: START_MS + monotonicMs - roundTripMs / 2 + database,
  sentAtMs: monotonicMs - roundTripMs,
  receivedAtMs: monotonicMs,
  wallMs: START_MS + monotonicMs + wall,
});

/** An estimate that has followed a sample at zero. */
function started(errors: Parameters<typeof sample>[1] = {}): ClockEstimate {
  const estimate = new ClockEstimate();
  assert.deepEqual(estimate.add(sample(0, errors)), { kind: "followed" });
  return estimate;
}

describe("the estimate of the database's clock", () => {
  test("is that of the first sample, also where this machine has another time", () => {
    const estimate = started({ wall: -2 * HOUR });
    assert.equal(estimate.at(500), START_MS + 500);
  });

  test("follows small corrections", () => {
    const estimate = started();
    assert.equal(estimate.add(sample(10 * SECOND, { database: 300 })).kind, "followed");
    assert.equal(estimate.at(11 * SECOND), START_MS + 11 * SECOND + 300);
  });

  for (const [what, step] of [
    ["three seconds forward", 3 * SECOND],
    ["two hours forward", 2 * HOUR],
    ["36 days forward", 36 * DAY],
    ["three seconds back", -3 * SECOND],
    ["two hours back", -2 * HOUR],
  ] as const) {
    test(`does not follow a step of ${what} that this machine does not confirm, however long it lasts`, () => {
      const estimate = started();
      for (let at = SECOND; at < HOUR; at += 10 * SECOND)
        assert.deepEqual(estimate.add(sample(at, { database: step })), { kind: "unconfirmed", stepMs: step });
      assert.equal(estimate.at(HOUR), START_MS + HOUR);
      assert.equal(estimate.add(sample(HOUR)).kind, "followed");
      assert.equal(estimate.at(HOUR + SECOND), START_MS + HOUR + SECOND);
    });

    test(`follows a step of ${what} that this machine makes, too`, () => {
      const estimate = started({ wall: 40 * SECOND });
      assert.equal(estimate.add(sample(10 * SECOND, { database: step, wall: step + 40 * SECOND })).kind, "followed");
      assert.equal(estimate.at(10 * SECOND), START_MS + 10 * SECOND + step);
    });

    test(`follows the correction of a clock that was wrong by ${what}: afterwards both machines agree`, () => {
      const estimate = started({ database: step });
      assert.equal(estimate.add(sample(10 * SECOND)).kind, "followed");
      assert.equal(estimate.at(10 * SECOND), START_MS + 10 * SECOND);
    });
  }

  test("does not change by a sample that took much longer than the others", () => {
    const estimate = started();
    for (const [at, roundTripMs] of [
      [10 * SECOND, 400],
      [20 * SECOND, 4_500],
    ] as const)
      assert.equal(estimate.add({ ...sample(at, { roundTripMs }), databaseMs: START_MS + at }).kind, "discarded");
    assert.equal(estimate.at(20 * SECOND), START_MS + 20 * SECOND);
  });

  test("follows slow samples where all are slow", () => {
    const estimate = started({ roundTripMs: 300 });
    for (let at = 10 * SECOND; at < 200 * SECOND; at += 10 * SECOND)
      assert.equal(estimate.add(sample(at, { roundTripMs: 400 })).kind, "followed");
  });
});
