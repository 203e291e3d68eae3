import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { toId } from "../model/id.ts";
import { firstUuidAt } from "../lib/uuid.ts";
import {
  bucketUpperMs,
  deliveryBucket,
  MINUTE_MS,
  quantileMs,
  usageBucket,
  usageError,
  usageMinute,
  usageSegments,
  type Countable,
} from "./usage.ts";

const AT = Date.UTC(2026, 2, 31, 13, 59, 59, 999);

const message = (fields: Partial<Countable> = {}): Countable => ({
  id: toId("msg", firstUuidAt(AT)),
  error: null,
  segments: { count: 2 },
  deliveredAtMs: null,
  ...fields,
});

describe("a message is counted", () => {
  test("in the minute of its creation", () => assert.equal(usageMinute(message()) * MINUTE_MS, Date.UTC(2026, 2, 31, 13, 59)));

  test("in the minute that begins at its creation", () =>
    assert.equal(usageMinute(message({ id: toId("msg", firstUuidAt(AT + 1)) })) * MINUTE_MS, Date.UTC(2026, 2, 31, 14)));

  test("with its error, or an empty text", () => {
    assert.equal(usageError(message({ error: { code: "invalid_destination" } })), "invalid_destination");
    assert.equal(usageError(message()), "");
  });

  test("with its segments, or none where the channel has none", () => {
    assert.equal(usageSegments(message()), 2);
    assert.equal(usageSegments(message({ segments: null })), 0);
  });

  test("in a bucket of its own before it is delivered", () => assert.equal(usageBucket(message()), -1));

  const DELAYS: readonly (readonly [what: string, fields: Partial<Countable>, ms: number])[] = [
    ["from its creation", { deliveredAtMs: AT + 5_000 }, 5_000],
    ["from its creation, without a time to wait for", { deliveredAtMs: AT + 5_000, sendAtMs: null }, 5_000],
    ["from the time it was to wait for", { deliveredAtMs: AT + 905_000, sendAtMs: AT + 900_000 }, 5_000],
    ["from its creation where that time was over", { deliveredAtMs: AT + 5_000, sendAtMs: AT - 900_000 }, 5_000],
    ["as nothing where clocks disagree", { deliveredAtMs: AT - 5_000 }, 0],
  ];
  for (const [what, fields, ms] of DELAYS) {
    test(`with its delivery time, ${what}`, () => assert.equal(usageBucket(message(fields)), deliveryBucket(ms)));
  }
});

describe("the buckets of delivery times", () => {
  const STEPS: readonly (readonly [ms: number, bucket: number])[] = [
    [-1, 0],
    [0, 0],
    [100, 0],
    [101, 1],
    [141, 1],
    [142, 2],
    [200, 2],
    [201, 3],
    [400, 4],
    [1_000, 7],
    [102_400, 20],
    [102_401, 21],
    [172_800_000, 42],
    [1e15, 60],
    [Number.MAX_SAFE_INTEGER, 60],
  ];
  for (const [ms, bucket] of STEPS) test(`has ${ms} ms on step ${bucket}`, () => assert.equal(deliveryBucket(ms), bucket));

  test("put every time into the first bucket that covers it", () => {
    for (let bucket = 1; bucket <= 60; bucket += 1) {
      for (const ms of [Math.floor(bucketUpperMs(bucket)), Math.floor(bucketUpperMs(bucket - 1)) + 1]) {
        assert.equal(deliveryBucket(ms), bucket, `${ms} ms`);
        assert.ok(ms <= bucketUpperMs(bucket) && ms > bucketUpperMs(bucket - 1));
      }
    }
  });
});

describe("a quantile", () => {
  test("of no messages is null", () => {
    assert.equal(quantileMs(new Map(), 0.5), null);
    assert.equal(quantileMs(new Map([[3, 0]]), 0.5), null);
  });

  const CASES: readonly (readonly [what: string, histogram: readonly (readonly [number, number])[], q: number, ms: number])[] = [
    ["half of one step", [[0, 10]], 0.5, 50],
    ["all of one step", [[2, 7]], 1, 200],
    [
      "half of two steps",
      [
        [0, 5],
        [2, 5],
      ],
      0.5,
      100,
    ],
    [
      "the tail in the last step",
      [
        [0, 90],
        [20, 10],
      ],
      0.95,
      Math.round((bucketUpperMs(19) + bucketUpperMs(20)) / 2),
    ],
    [
      "steps in any order",
      [
        [20, 10],
        [0, 90],
      ],
      0.5,
      Math.round((100 * 50) / 90),
    ],
    ["a single message", [[4, 1]], 0.95, Math.round(bucketUpperMs(3) + (400 - bucketUpperMs(3)) * 0.95)],
  ];
  for (const [what, histogram, q, ms] of CASES) test(`is right: ${what}`, () => assert.equal(quantileMs(new Map(histogram), q), ms));

  test("is within a bucket of the true value", () => {
    const times = Array.from({ length: 1_000 }, (_, index) => 150 + index * index);
    const histogram = new Map<number, number>();
    for (const ms of times) histogram.set(deliveryBucket(ms), (histogram.get(deliveryBucket(ms)) ?? 0) + 1);
    for (const q of [0.01, 0.5, 0.95, 0.99]) {
      const truth = times[Math.ceil(q * times.length) - 1] ?? 0;
      const read = quantileMs(histogram, q) ?? 0;
      assert.ok(read > truth / Math.SQRT2 && read < truth * Math.SQRT2, `${q}: ${read} for ${truth}`);
    }
  });
});
