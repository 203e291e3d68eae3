/** The outcomes on links: what several processes store, and the scores that each of them reads. */
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import type { Database } from "../../src/database/database.ts";
import { LinkMeter } from "../../src/quality/meter.ts";
import { deleteOldCounts, readCounts, readDecayed, storeCounts } from "../../src/quality/queries.ts";
import type { OutcomeCount } from "../../src/quality/outcomes.ts";
import { windowsOf } from "../../src/quality/windows.ts";
import { startGodwit, type Godwit } from "../support/harness.ts";
import { until } from "../support/expect.ts";

const WINDOWS = windowsOf(60_000);
const NOW = 1_800_000_000_000;
const TO = "+4917112345678";

let godwit: Godwit;
let db: Database;
before(async () => {
  godwit = await startGodwit();
  db = godwit.db as Database;
});
after(() => godwit.stop());
beforeEach(() => godwit.rows("delete from link_outcomes"));

const count = (fields: Partial<OutcomeCount>): OutcomeCount => ({
  link: "a",
  country: "DE",
  prefix: "+49171",
  cohortMs: NOW,
  outcome: "sent",
  code: "",
  messages: 1,
  waitMs: 0,
  ...fields,
});

test("the counts of processes that store at the same time add up", async () => {
  const counts = Array.from({ length: 50 }, (_, index) =>
    count({ prefix: `+49${100 + index}`, outcome: "delivered", waitMs: 2_000_000_000 }),
  );
  await Promise.all(Array.from({ length: 8 }, (_, index) => storeCounts(db, index % 2 === 0 ? counts : counts.toReversed())));
  assert.deepEqual(await readCounts(db, ["a"], WINDOWS, NOW), [
    { link: "a", country: "DE", outcome: "delivered", code: "", messages: 400, wait_ms: 800_000_000_000 },
  ]);
});

test("an outcome counts half after a minute, and a message without a report is overdue after twice the time to the receipts of its link", async () => {
  await storeCounts(db, [
    count({ messages: 100 }),
    count({ outcome: "delivered", messages: 60, waitMs: 60 * 15_000 }),
    count({ outcome: "failed", code: "unreachable", messages: 10 }),
    count({ outcome: "refused", code: "invalid_sender", messages: 4 }),
    count({ link: "b", messages: 7 }),
  ]);
  const sumsAt = async (nowMs: number) => (await readDecayed(db, ["a"], WINDOWS, nowMs))[0];
  const sums = { link: "a", country: "DE", prefix: "+49171", delivered: 60, failed: 14, overdue: 0, reports: 70 };
  assert.deepEqual(await sumsAt(NOW), sums);
  // The messages were sent within ten seconds.
  assert.equal((await sumsAt(NOW + 39_999))?.overdue, 0);
  assert.ok(((await sumsAt(NOW + 40_000))?.overdue ?? 0) > 0);
  assert.deepEqual(await sumsAt(NOW + 60_000), { ...sums, delivered: 30, failed: 7, overdue: 15 });
  assert.deepEqual(await sumsAt(NOW + 120_000), { ...sums, delivered: 15, failed: 3.5, overdue: 7.5 });
  assert.equal(await sumsAt(NOW + 900_000), undefined);
});

for (const [receipts, waitMs, overdueMs] of [
  ["come at once", 0, 20_000],
  ["take minutes", 300_000, 60_000],
] as const)
  test(`on a link whose receipts ${receipts}, a message is overdue after ${overdueMs / 1_000} s`, async () => {
    await storeCounts(db, [count({ messages: 3 }), count({ outcome: "delivered", waitMs })]);
    const overdueAt = async (nowMs: number) => (await readDecayed(db, ["a"], WINDOWS, nowMs))[0]?.overdue;
    assert.equal(await overdueAt(NOW + WINDOWS.cohortMs + overdueMs - 1), 0);
    assert.notEqual(await overdueAt(NOW + WINDOWS.cohortMs + overdueMs), 0);
  });

test("counts of messages that were sent before the window are deleted", async () => {
  await storeCounts(db, [count({}), count({ cohortMs: NOW - 910_000 })]);
  await deleteOldCounts(db, WINDOWS, NOW);
  assert.equal((await godwit.rows("select from link_outcomes")).length, 1);
});

test("a process reads the outcomes that another one has counted", async () => {
  const windows = windowsOf(1_200);
  const meterOf = (measuredLinks: readonly string[]) =>
    new LinkMeter({
      db,
      clock: { now: () => Date.now() },
      windows,
      measuredLinks: () => measuredLinks,
      onError: (error) => assert.fail(String(error)),
    });
  const [counting, reading, idle] = [meterOf([]), meterOf(["a"]), meterOf([])];
  for (const meter of [counting, reading, idle]) meter.start();
  try {
    await until("the outcomes are read", async () => {
      const nowMs = Date.now();
      counting.counts.count({
        environment: "live",
        status: "failed",
        provider: { link: "a" },
        recipient: TO,
        error: { code: "unreachable" },
        updatedAtMs: nowMs,
        sentAtMs: null,
        deliveredAtMs: null,
        failedAtMs: nowMs,
      });
      return reading.scores.of("a", TO).rate < 0.6;
    });
    assert.equal(idle.scores.of("a", TO).rate, 0.9);
  } finally {
    await Promise.all([counting, reading, idle].map((meter) => meter.stop()));
  }
});
