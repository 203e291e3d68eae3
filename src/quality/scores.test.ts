import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { orderLinks } from "../links/strategy.ts";
import { simulatorLink } from "../links/link.ts";
import type { DecayedRow } from "./queries.ts";
import { LinkScores, scoreOf } from "./scores.ts";
import { windowsOf } from "./windows.ts";

const row = (fields: Partial<DecayedRow>): DecayedRow => ({
  link: "a",
  country: "DE",
  prefix: "+49171",
  delivered: 0,
  failed: 0,
  overdue: 0,
  reports: 1,
  ...fields,
});
const TO = "+4917112345678";
const rateOf = (rows: readonly Partial<DecayedRow>[], link = "a"): number => new LinkScores(rows.map(row)).of(link, TO).rate;

describe("the score of a link", () => {
  test("is 0.9 without results", () => assert.deepEqual(new LinkScores([]).of("a", TO), { rate: 0.9, results: 0 }));
  test("is the share that was delivered, with nine of ten assumed", () =>
    assert.equal(rateOf([{ delivered: 81, failed: 6, overdue: 3 }]), 0.9));
  test("is that of the prefix if it has twenty results", () =>
    assert.equal(
      rateOf([
        { delivered: 11, failed: 9 },
        { prefix: "+49160", delivered: 500 },
      ]),
      20 / 30,
    ));
  test("is that of the country if the prefix has fewer", () =>
    assert.equal(
      rateOf([
        { delivered: 10, failed: 9 },
        { prefix: "", delivered: 11 },
        { country: "US", prefix: "", failed: 99 },
      ]),
      30 / 40,
    ));
  test("is that of the link if the country has fewer", () =>
    assert.equal(rateOf([{ failed: 9 }, { country: "US", prefix: "", delivered: 1 }]), 10 / 20));
  test("is not affected by other links", () => assert.equal(rateOf([{ link: "b", failed: 99 }]), 0.9));
  test("does not count missing reports of a carrier that reports nothing", () => assert.equal(rateOf([{ overdue: 100, reports: 0 }]), 0.9));
  test("counts missing reports if the carrier has reported something about another network", () =>
    assert.equal(
      rateOf([
        { overdue: 90, reports: 0 },
        { country: "US", prefix: "", reports: 1 },
      ]),
      0.09,
    ));
});

/** The sums of messages at one a second, `sinceMs` of which fail: the newest has just been reported. */
function sumsAfter(badMs: number, { halfLifeMs, windowMs }: ReturnType<typeof windowsOf>) {
  const sums = { delivered: 0, failed: 0, overdue: 0 };
  for (let ageMs = 0; ageMs < windowMs; ageMs += 1_000) sums[ageMs < badMs ? "failed" : "delivered"] += 0.5 ** (ageMs / halfLifeMs);
  return sums;
}

test("a carrier whose receipts begin to fail is not the first within a minute, with the times of storing and reading", () => {
  const windows = windowsOf(60_000);
  // The cohort of a message begins up to 10 s before it, and counts wait for a turn of storing and one of reading.
  const lateMs = windows.cohortMs + 2 * windows.turnMs;
  const [good, bad] = [sumsAfter(0, windows), sumsAfter(60_000 - lateMs, windows)];
  const [first, second] = ["first", "second"].map((name) => ({ ...simulatorLink(1), name }));
  const weighed = [
    { link: first, ...scoreOf(bad), price: 1 },
    { link: second, ...scoreOf(good), price: 2 },
  ] as Parameters<typeof orderLinks>[1];
  for (const strategy of ["quality", "price"] as const)
    assert.deepEqual(
      orderLinks(strategy, weighed).map(({ link }) => link.name),
      ["second", "first"],
    );
});
