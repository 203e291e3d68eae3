import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { clockAtStart, ClockEstimate, type ClockSample } from "./database-clock.ts";

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

  for (const [what, step] of [
    ["four hours ahead", 4 * HOUR],
    ["two days behind", -2 * DAY],
  ] as const) {
    test(`begins with the time of this machine where the database is ${what} of the stored time`, () => {
      const estimate = new ClockEstimate();
      assert.deepEqual(estimate.add(sample(0, { database: step }), START_MS - 10 * SECOND), { kind: "unconfirmed", stepMs: step });
      assert.equal(estimate.at(500), START_MS + 500);
      assert.deepEqual(estimate.add(sample(SECOND, { database: step })), { kind: "unconfirmed", stepMs: step });
      assert.equal(estimate.add(sample(2 * SECOND, { database: 100 })).kind, "followed");
      assert.equal(estimate.at(3 * SECOND), START_MS + 3 * SECOND + 100);
    });
  }

  test("begins with the time of the database where this machine is wrong", () => {
    const estimate = new ClockEstimate();
    assert.equal(estimate.add(sample(0, { wall: 4 * HOUR }), START_MS - 10 * SECOND).kind, "followed");
    assert.equal(estimate.at(500), START_MS + 500);
  });

  test("follows the database once a machine that was wrong at the start is corrected", () => {
    const estimate = new ClockEstimate();
    // The service was stopped for a day, so that the stored time is nearer to the wrong clock.
    assert.equal(estimate.add(sample(0, { wall: -4 * HOUR }), START_MS - DAY).kind, "unconfirmed");
    assert.equal(estimate.add(sample(10 * SECOND)).kind, "followed");
    assert.equal(estimate.at(10 * SECOND), START_MS + 10 * SECOND);
  });

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

describe("the clock at a start", () => {
  const cases: readonly (readonly [
    what: string,
    errors: { database?: number; machine?: number },
    stoppedMs: number | null,
    expected: string,
  ])[] = [
    ["is the database's on the first start", { machine: -2 * HOUR }, null, "database"],
    ["is the database's where both agree after a long stop", { machine: 300 }, 90 * DAY, "database"],
    ["is the database's where the machine is behind by seconds", { machine: -40 * SECOND }, HOUR, "database"],
    ["is the database's where the machine is behind by hours, during a restart", { machine: -4 * HOUR }, 10 * SECOND, "database"],
    ["is the database's where the machine is ahead, whenever the service was stopped", { machine: 4 * HOUR }, 30 * DAY, "database"],
    ["is the machine's where the database is ahead by hours", { database: 4 * HOUR }, HOUR, "machine"],
    ["is the machine's where the database is behind the stored time", { database: -4 * HOUR }, 10 * SECOND, "machine"],
  ];
  for (const [what, { database = 0, machine = 0 }, stoppedMs, expected] of cases) {
    test(what, () => {
      const storedMs = stoppedMs === null ? null : START_MS - stoppedMs;
      assert.equal(clockAtStart({ databaseMs: START_MS + database, machineMs: START_MS + machine, storedMs }), expected);
    });
  }
});
