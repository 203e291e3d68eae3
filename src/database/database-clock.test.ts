import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { ClockEstimate, stepAtStart, type ClockSample, type StoredTime } from "./database-clock.ts";

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

const storedAt = (timeMs: number): StoredTime => ({ nodeMs: timeMs, databaseMs: timeMs, machineMs: null });

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
      assert.deepEqual(estimate.add(sample(0, { database: step }), storedAt(START_MS - 10 * SECOND)), {
        kind: "unconfirmed",
        stepMs: step,
      });
      assert.equal(estimate.at(500), START_MS + 500);
      assert.deepEqual(estimate.add(sample(SECOND, { database: step })), { kind: "unconfirmed", stepMs: step });
      assert.equal(estimate.add(sample(2 * SECOND, { database: 100 })).kind, "followed");
      assert.equal(estimate.at(3 * SECOND), START_MS + 3 * SECOND + 100);
    });
  }

  test("begins with the time of the database where this machine is wrong", () => {
    const estimate = new ClockEstimate();
    assert.equal(estimate.add(sample(0, { wall: 4 * HOUR }), storedAt(START_MS - 10 * SECOND)).kind, "followed");
    assert.equal(estimate.at(500), START_MS + 500);
  });

  test("follows the database once a machine that was wrong at the start is corrected", () => {
    const estimate = new ClockEstimate();
    // The service was stopped for a day, so that the stored time is nearer to the wrong clock.
    assert.equal(estimate.add(sample(0, { wall: -4 * HOUR }), storedAt(START_MS - DAY)).kind, "unconfirmed");
    assert.equal(estimate.add(sample(10 * SECOND)).kind, "followed");
    assert.equal(estimate.at(10 * SECOND), START_MS + 10 * SECOND);
  });

  test("does not take an earlier step of this machine for the confirmation of a step", () => {
    const estimate = started();
    assert.equal(estimate.add(sample(10 * SECOND, { wall: 2 * HOUR })).kind, "followed");
    assert.equal(estimate.add(sample(20 * SECOND, { database: 3 * HOUR, wall: 2 * HOUR })).kind, "unconfirmed");
    assert.equal(estimate.add(sample(30 * SECOND, { wall: 5 * HOUR, database: HOUR })).kind, "unconfirmed");
  });

  test("does not change by a sample that took much longer than the others", () => {
    const estimate = started();
    for (const [at, roundTripMs, kind] of [
      [10 * SECOND, 400, "followed"],
      [20 * SECOND, 4_500, "discarded"],
    ] as const)
      assert.equal(estimate.add({ ...sample(at, { roundTripMs }), databaseMs: START_MS + at }).kind, kind);
    assert.equal(estimate.at(20 * SECOND), START_MS + 20 * SECOND);
  });

  test("follows slow samples where all are slow", () => {
    const estimate = started({ roundTripMs: 300 });
    for (let at = 10 * SECOND; at < 200 * SECOND; at += 10 * SECOND)
      assert.equal(estimate.add(sample(at, { roundTripMs: 400 })).kind, "followed");
  });
});

describe("at a start", () => {
  type Errors = { database?: number; machine?: number };
  /** `stored`: how long ago a node stored its time, and by how much the database, and this machine, were ahead of the node then. */
  type Stored = { agoMs: number; step?: number; machine?: number } | null;
  const cases: readonly (readonly [what: string, errors: Errors, stored: Stored, step: number])[] = [
    ["the database is followed the first time", { machine: -2 * HOUR }, null, 0],
    ["the database is followed where both agree after a long stop", { machine: 300 }, { agoMs: 90 * DAY }, 0],
    ["the database is followed where the machine is behind by seconds", { machine: -40 * SECOND }, { agoMs: HOUR }, 0],
    ["the database is followed where other nodes do, whatever the machine says", { machine: -4 * HOUR }, { agoMs: 5 * SECOND }, 0],
    [
      "the database is followed where the machine is ahead, whenever the service was stopped",
      { machine: 4 * HOUR },
      { agoMs: 30 * DAY },
      0,
    ],
    ["a step is not followed where the database is ahead by hours", { database: 4 * HOUR }, { agoMs: HOUR }, 4 * HOUR],
    ["a step is not followed where the database is behind the stored time", { database: -4 * HOUR }, { agoMs: 10 * SECOND }, -4 * HOUR],
    [
      "a step that other nodes do not follow is not followed, however small",
      { database: 40 * SECOND },
      { agoMs: 5 * SECOND, step: 40 * SECOND },
      40 * SECOND,
    ],
    [
      "a step that other nodes do not follow is not followed, whatever the machine says",
      { database: 40 * SECOND, machine: -HOUR },
      { agoMs: 5 * SECOND, step: 40 * SECOND },
      40 * SECOND,
    ],
    ["a step of seconds is not followed at a quick restart", { database: 10 * SECOND }, { agoMs: 2 * SECOND, machine: 0 }, 10 * SECOND],
    ["a small step is not followed on the same machine", { database: 30 * SECOND }, { agoMs: 25 * SECOND, machine: 0 }, 30 * SECOND],
    [
      "the database is followed where the machine differs from it as before",
      { machine: -5 * SECOND },
      { agoMs: HOUR, machine: -5 * SECOND },
      0,
    ],
    [
      "a small step is not followed where the machine differs as before",
      { database: 30 * SECOND, machine: -5 * SECOND },
      { agoMs: HOUR, machine: -5 * SECOND },
      30 * SECOND,
    ],
    ["the database is followed where the machine was corrected meanwhile", {}, { agoMs: HOUR, machine: -5 * SECOND }, 0],
    ["a step that was undone is not made again", {}, { agoMs: 5 * SECOND, step: 4 * HOUR }, 0],
  ];
  for (const [what, { database = 0, machine = 0 }, stored, step] of cases) {
    test(what, () => {
      const nodeMs = START_MS - (stored?.agoMs ?? 0);
      const times = { databaseMs: START_MS + database, machineMs: START_MS + machine };
      const machineMs = stored?.machine === undefined ? null : nodeMs + stored.machine;
      assert.equal(stepAtStart({ ...times, stored: stored && { nodeMs, databaseMs: nodeMs + (stored.step ?? 0), machineMs } }), step);
    });
  }
});
