import assert from "node:assert/strict";
import { test } from "node:test";
import { OutcomeCounts, type SettledMessage } from "./outcomes.ts";
import { windowsOf } from "./windows.ts";

const WINDOWS = windowsOf(60_000);
const NOW = 1_800_000_000_000;

const message = (fields: Partial<SettledMessage>): SettledMessage => ({
  environment: "live",
  status: "sent",
  provider: { link: "a" },
  recipient: "+4917112345678",
  error: null,
  updatedAtMs: NOW,
  sentAtMs: NOW,
  deliveredAtMs: null,
  failedAtMs: null,
  ...fields,
});

const delivered = { status: "delivered", deliveredAtMs: NOW } as const;
const failed = (status: string, code: string) => ({ status, failedAtMs: NOW, error: { code } });

function countsOf(...messages: Partial<SettledMessage>[]): string[] {
  const counts = new OutcomeCounts(WINDOWS);
  for (const fields of messages) counts.count(message(fields));
  return counts
    .take()
    .map(({ link, country, prefix, cohortMs, outcome, code, messages: count, waitMs }) =>
      [link, country, prefix, (cohortMs - NOW) / 1_000, outcome, code, count, waitMs].join(" "),
    );
}

test("outcomes belong to the ten seconds in which their message was sent", () => {
  const sentAtMs = NOW - 25_000;
  assert.deepEqual(
    countsOf(
      {},
      { sentAtMs: NOW + 9_999 },
      { ...delivered, sentAtMs },
      { ...delivered, sentAtMs: sentAtMs + 1 },
      { ...failed("undelivered", "unreachable"), sentAtMs },
    ),
    ["a DE +49171 0 sent  2 0", "a DE +49171 -30 delivered  2 49999", "a DE +49171 -30 failed unreachable 1 0"],
  );
});

test("a message that its carrier refuses counts at the time of the refusal", () => {
  assert.deepEqual(countsOf({ ...failed("failed", "invalid_sender"), sentAtMs: null }), ["a DE +49171 0 refused invalid_sender 1 0"]);
});

test("a receipt that comes before the response counts as sent and delivered", () => {
  assert.deepEqual(countsOf({ ...delivered }), ["a DE +49171 0 sent  1 0", "a DE +49171 0 delivered  1 0"]);
});

for (const [name, fields] of [
  ["a message of test", { environment: "test" }],
  ["a message without an attempt", { provider: null }],
  ["a canceled message", { status: "canceled" }],
  ["a message that waited too long for its turn", { ...failed("expired", "ttl_expired"), sentAtMs: null }],
  ["a message that consent refuses", { ...failed("failed", "recipient_opted_out"), sentAtMs: null }],
  ["a read receipt after a delivery receipt", { status: "read", sentAtMs: NOW - 9, deliveredAtMs: NOW - 5 }],
  ["a late receipt after a failure", { ...delivered, sentAtMs: NOW - 9, failedAtMs: NOW - 5 }],
  ["a message that was sent before the window", { ...delivered, sentAtMs: NOW - 900_001 }],
] as const)
  test(`${name} is not counted`, () => assert.deepEqual(countsOf(fields), []));

test("numbers beyond the limit of prefixes count for their country", () => {
  const numbers = Array.from({ length: 600 }, (_, index) => ({ recipient: `+49${200 + index}1234567` }));
  const counts = countsOf(...numbers);
  assert.equal(counts.length, 501);
  assert.equal(counts.at(-1), "a DE  0 sent  100 0");
});
