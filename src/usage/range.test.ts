import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Problem } from "../http/problem.ts";
import { rangeOf, type AskedRange } from "./range.ts";

const NOW = "2026-03-31T13:37:42.500Z";

const ranged = (asked: AskedRange): readonly string[] => {
  const { fromMs, toMs } = rangeOf(asked, Date.parse(NOW));
  return [fromMs, toMs].map((timeMs) => new Date(timeMs).toISOString().replace(/:00\.000Z$/, ""));
};

const RANGES: readonly (readonly [what: string, asked: AskedRange, from: string, to: string])[] = [
  ["thirty days and today", {}, "2026-03-01T00:00", "2026-03-31T14:00"],
  ["thirty days and today, by hour", { interval: "hour" }, "2026-03-01T00:00", "2026-03-31T14:00"],
  ["an hour and the minute that has begun", { interval: "minute" }, "2026-03-31T12:37", "2026-03-31T13:38"],
  ["an hour before the end", { interval: "minute", created_before: "2026-03-31T11:00:00Z" }, "2026-03-31T10:00", "2026-03-31T11:00"],
  [
    "the hours it touches",
    { interval: "hour", created_after: "2026-03-31T09:59:59Z", created_before: "2026-03-31T11:00:01Z" },
    "2026-03-31T09:00",
    "2026-03-31T12:00",
  ],
  [
    "the minutes it touches",
    { interval: "minute", created_after: "2026-03-31T09:59:59Z", created_before: "2026-03-31T11:00:01Z" },
    "2026-03-31T09:59",
    "2026-03-31T11:01",
  ],
  [
    "full minutes as they are",
    { interval: "minute", created_after: "2026-03-31T09:59:00Z", created_before: "2026-03-31T10:00:00Z" },
    "2026-03-31T09:59",
    "2026-03-31T10:00",
  ],
  ["a day by minute", { interval: "minute", created_after: "2026-03-30T13:37:42.500Z" }, "2026-03-30T13:37", "2026-03-31T13:38"],
  [
    "a day by minute, asked for some minutes ago",
    { interval: "minute", created_after: "2026-03-30T13:32:42.500Z" },
    "2026-03-30T13:32",
    "2026-03-31T13:38",
  ],
];

describe("a range is", () => {
  for (const [what, asked, from, to] of RANGES) test(what, () => assert.deepEqual(ranged(asked), [from, to]));
});

const REFUSED: readonly (readonly [what: string, asked: AskedRange, detail: RegExp])[] = [
  ["older than a day, by minute", { interval: "minute", created_after: "2026-03-30T13:32:42.499Z" }, /at most 24 hours ago/],
  ["over for more than a day, by minute", { interval: "minute", created_before: "2026-03-30T12:00:00Z" }, /at most 24 hours ago/],
  [
    "longer than a day, by minute",
    { interval: "minute", created_after: "2026-03-31T00:00:00Z", created_before: "2026-04-01T00:05:00.001Z" },
    /at most 24 hours before created_before/,
  ],
  ["longer than 31 days, by hour", { interval: "hour", created_after: "2026-02-28T13:37:42.499Z" }, /at most 31 days before/],
  ["longer than 400 days", { created_after: "2025-02-24T13:37:42.499Z" }, /at most 400 days before/],
  ["of no length", { created_after: NOW, interval: "minute" }, /must be earlier/],
];

describe("a range is refused that is", () => {
  for (const [what, asked, detail] of REFUSED) {
    test(what, () =>
      assert.throws(
        () => rangeOf(asked, Date.parse(NOW)),
        (error: unknown) => {
          assert.ok(error instanceof Problem);
          assert.equal(error.code, "invalid_request_payload");
          const [fault, ...more] = error.errors ?? [];
          assert.deepEqual([fault, more], [{ parameter: "created_after", code: "out_of_range", detail: fault?.detail }, []]);
          assert.match(fault?.detail ?? "", detail);
          return true;
        },
      ),
    );
  }
});
