import assert from "node:assert/strict";
import { test } from "node:test";
import { recipientOf } from "../../test/support/recipient.ts";
import { limitProblem, prefixOf, type Limits, type Recent } from "./limits.ts";

const NOW = 1_800_000_000_000;
const LIMITS: Limits = { cooldownSeconds: 30, perRecipientHour: 5, perPrefixHour: 100 };
const NONE: Recent = { ofRecipient: 0, ofPrefix: 0, lastAtMs: null };

type Row = readonly [what: string, recent: Partial<Recent>, code: string | undefined, detail?: string];

const ROWS: readonly Row[] = [
  ["nothing was sent", {}, undefined],
  ["one was sent this moment", { lastAtMs: NOW }, "verification_too_soon", "the next code can be sent in 30 seconds"],
  [
    "one was sent by a node whose clock is ahead",
    { lastAtMs: NOW + 500 },
    "verification_too_soon",
    "the next code can be sent in 31 seconds",
  ],
  ["a millisecond of the wait is left", { lastAtMs: NOW - 29_999 }, "verification_too_soon", "the next code can be sent in 1 second"],
  ["the wait has ended", { lastAtMs: NOW - 30_000 }, undefined],
  ["the recipient had one less than may be", { ofRecipient: 4, ofPrefix: 4, lastAtMs: NOW - 60_000 }, undefined],
  [
    "the recipient had as many as may be",
    { ofRecipient: 5, ofPrefix: 5, lastAtMs: NOW - 60_000 },
    "verification_limit_reached",
    "at most 5 codes per hour are sent to one recipient",
  ],
  ["its neighbors had one less than may be", { ofPrefix: 99 }, undefined],
  [
    "its neighbors had as many as may be",
    { ofPrefix: 100 },
    "verification_limit_reached",
    "at most 100 codes per hour are sent to numbers with the same beginning",
  ],
  ["both: the wait is reported", { ofRecipient: 5, ofPrefix: 100, lastAtMs: NOW }, "verification_too_soon"],
];

for (const [what, recent, code, detail] of ROWS) {
  test(`${what}: ${code ?? "one may be sent"}`, () => {
    const problem = limitProblem({ ...NONE, ...recent }, LIMITS, NOW);
    assert.equal(problem?.code, code);
    if (problem === undefined) return;
    assert.equal(problem.status, 422);
    assert.deepEqual(
      problem.errors?.map((fault) => ("pointer" in fault ? [fault.pointer, fault.code] : [])),
      [["/recipient", code]],
    );
    if (detail !== undefined) assert.equal(problem.detail, detail);
  });
}

test("without a cooldown the next code may follow at once", () => {
  for (const lastAtMs of [NOW, NOW + 5])
    assert.equal(limitProblem({ ...NONE, lastAtMs }, { ...LIMITS, cooldownSeconds: 0 }, NOW), undefined);
});

test("only adjacent numbers have the same prefix", () => {
  assert.equal(prefixOf(recipientOf("+14155550123")), "+1415555");
  assert.equal(prefixOf(recipientOf("+14155559999")), prefixOf(recipientOf("+14155550000")));
  assert.notEqual(prefixOf(recipientOf("+14155560000")), prefixOf(recipientOf("+14155550000")));
});
