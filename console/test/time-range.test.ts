/** The period of a page: its form in the address, and the requests that it becomes. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { ANY, preset, rangeFault, readTimeRange, toBounds, withTimeRange, type TimeRange } from "../src/lib/time-range.ts";
import { toUsagePeriod, type UsagePeriod } from "../src/lib/usage-period.ts";

const NOW = Date.parse("2026-11-15T10:20:30.000Z");
const custom = (after?: string, before?: string): TimeRange => ({ kind: "custom", after, before });

describe("a period", () => {
  test("is a preset, a custom period, or that of the page, by the address", () => {
    const read = (text: string): TimeRange => readTimeRange(new URLSearchParams(text), ANY);
    assert.deepEqual(read(""), ANY);
    assert.deepEqual(read("range=7d&status=failed"), preset("7d"));
    assert.deepEqual(read("range=fortnight"), ANY);
    assert.deepEqual(read("range=custom"), custom());
    assert.deepEqual(read("created_after=2026-11-01T00:00:00Z"), custom("2026-11-01T00:00:00Z"));
  });

  test("replaces the period before it in the address, and keeps the other filters", () => {
    const query = new URLSearchParams("status=failed&range=7d");
    assert.equal(withTimeRange(query, preset("24h")).toString(), "status=failed&range=24h");
    assert.equal(withTimeRange(query, ANY).toString(), "status=failed");
    const chosen = custom("2026-11-01T00:00:00.000Z");
    assert.deepEqual(readTimeRange(withTimeRange(query, chosen), ANY), chosen);
  });

  test("becomes parameters of the API", () => {
    assert.deepEqual(toBounds(ANY, NOW), {});
    assert.deepEqual(toBounds(preset("24h"), NOW), { created_after: "2026-11-14T10:20:30.000Z" });
    assert.deepEqual(toBounds(custom(undefined, "2026-11-01T00:00:00Z"), NOW), { created_before: "2026-11-01T00:00:00Z" });
  });

  test("has a fault if its end is not after its start", () => {
    assert.equal(rangeFault(custom("2026-11-01T00:00:00Z", "2026-11-02T00:00:00Z")), undefined);
    assert.match(rangeFault(custom("2026-11-02T00:00:00Z", "2026-11-01T00:00:00Z")) ?? "", /before the end/);
  });
});

describe("the usage of a period", () => {
  const period = (range: TimeRange, asked?: string): UsagePeriod => toUsagePeriod(range, { asked: asked ?? null, maxIntervals: 60 }, NOW);

  test("begins with a whole interval and ends with the current one", () => {
    const starts = (["1h", "24h", "7d", "30d"] as const).map((name) => {
      const { interval, created_after: after } = period(preset(name));
      return [interval, after];
    });
    assert.deepEqual(starts, [
      ["minute", "2026-11-15T09:21:00.000Z"],
      ["hour", "2026-11-14T11:00:00.000Z"],
      ["day", "2026-11-09T00:00:00.000Z"],
      ["day", "2026-10-17T00:00:00.000Z"],
    ]);
  });

  test("can be counted by the intervals that the API permits", () => {
    assert.deepEqual(period(preset("24h")).intervals, ["minute", "hour", "day"]);
    assert.deepEqual(period(preset("7d")).intervals, ["hour", "day"]);
    assert.equal(period(preset("7d"), "hour").interval, "hour");
    assert.equal(period(preset("7d"), "minute").interval, "day");
    // Minutes are kept for a day.
    assert.deepEqual(period(custom("2026-11-01T00:00:00Z", "2026-11-01T01:00:00Z")).intervals, ["hour", "day"]);
  });

  test("covers 30 days if it has no start, and has a fault beyond 400 days", () => {
    assert.equal(period(custom(undefined, "2026-11-01T00:00:00.000Z")).created_after, "2026-10-02T00:00:00.000Z");
    assert.match(period(custom("2025-01-01T00:00:00Z")).fault ?? "", /400 days/);
  });
});
