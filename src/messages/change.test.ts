import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { messageOf } from "../../test/support/message.ts";
import { completeRecord, isCompact } from "../model/message-record.ts";
import { toId } from "../model/id.ts";
import { firstUuidAt, uuidTimeMs } from "../lib/uuid.ts";
import { changeBy, noteOn, type Signal } from "./change.ts";
import type { Message, MessageError } from "./message.ts";
import { OUTCOME_UNKNOWN, type Status } from "./states.ts";

const CREATED_MS = Date.UTC(2030, 0, 1);
const LATER_MS = CREATED_MS + 5_000;

const message = (fields: Partial<Message> = {}): Message =>
  messageOf({
    id: toId("msg", firstUuidAt(CREATED_MS)),
    sequence: 4,
    segments: { count: 2, encoding: "gsm7", characters: 19 },
    expiresAtMs: CREATED_MS + 60_000,
    provider: { name: "carrier", link: "first", messageId: "7" },
    attempts: 1,
    ...fields,
  });

const signal = (status: Status, fields: Partial<Signal> = {}): Signal => ({
  status,
  detail: { reason: "said the test" },
  move: { kind: "leave" },
  ...fields,
});

const change = (before: Message, said: Signal, nowMs = LATER_MS) => {
  const made = changeBy(before, said, nowMs);
  assert.ok(made !== undefined, `${before.status} → ${said.status}`);
  return made;
};

const STAMPS = ["sentAtMs", "deliveredAtMs", "readAtMs", "failedAtMs", "canceledAtMs"] as const;
const stampsOf = (of: Message) => Object.fromEntries(STAMPS.map((name) => [name, of[name]]).filter(([, at]) => at !== null));

const FIRST_STAMPS: readonly (readonly [from: Status, to: Status, stamped: readonly (typeof STAMPS)[number][]])[] = [
  ["scheduled", "scheduled", []],
  ["scheduled", "queued", []],
  ["scheduled", "canceled", ["canceledAtMs"]],
  ["queued", "canceled", ["canceledAtMs"]],
  ["queued", "sending", []],
  ["queued", "failed", ["failedAtMs"]],
  ["queued", "expired", ["failedAtMs"]],
  ["sending", "queued", []],
  ["sending", "sent", ["sentAtMs"]],
  ["sending", "failed", ["failedAtMs"]],
  ["sending", "undelivered", ["failedAtMs"]],
  ["sending", "delivered", ["sentAtMs", "deliveredAtMs"]],
  ["sending", "read", ["sentAtMs", "deliveredAtMs", "readAtMs"]],
];

describe("the times that a status sets", () => {
  for (const [from, to, stamped] of FIRST_STAMPS) {
    test(`${from} → ${to} sets ${stamped.join(", ") || "nothing"}`, () => {
      const { after } = change(message({ status: from }), signal(to));
      assert.deepEqual(stampsOf(after), Object.fromEntries(stamped.map((name) => [name, LATER_MS])));
    });
  }

  test("a time is not changed once it is set", () => {
    const sent = change(message({ status: "sending" }), signal("sent"), CREATED_MS + 1_000).after;
    const undelivered = change(sent, signal("undelivered"), CREATED_MS + 2_000).after;
    const delivered = change(undelivered, signal("delivered"), CREATED_MS + 3_000).after;
    const read = change(delivered, signal("read"), CREATED_MS + 4_000).after;
    assert.deepEqual(stampsOf(read), {
      sentAtMs: CREATED_MS + 1_000,
      failedAtMs: CREATED_MS + 2_000,
      deliveredAtMs: CREATED_MS + 3_000,
      readAtMs: CREATED_MS + 4_000,
    });
  });
});

describe("a change", () => {
  test("increases the sequence by one, and contains the previous status", () => {
    const before = message({ status: "sending" });
    const { after, entry, before: decidedOn } = change(before, signal("sent"));
    assert.equal(after.sequence, 5);
    assert.equal(after.status, "sent");
    assert.equal(decidedOn, before);
    assert.equal(entry.type, "message.sent");
    assert.equal(entry.previousStatus, "sending");
    assert.equal(entry.isIgnored, false);
    assert.deepEqual(JSON.parse(entry.detail ?? ""), { reason: "said the test" });
  });

  test("contains the record of the message after the change", () => {
    const { entry, after } = change(message({ status: "sending" }), signal("sent"));
    // Another test of this process may have switched to compact records.
    const stored = entry.record ?? "";
    const text = isCompact(stored) ? completeRecord({ type: entry.type, sequence: after.sequence, record: stored }, after) : stored;
    const record = JSON.parse(text) as Record<string, unknown>;
    assert.equal(record["status"], "sent");
    assert.equal(record["sequence"], 5);
    assert.equal(record["updated_at"], new Date(LATER_MS).toISOString());
    assert.equal(record["sent_at"], new Date(LATER_MS).toISOString());
    assert.equal(uuidTimeMs(entry.id), after.updatedAtMs);
  });

  test("is later than the previous change, even on a clock that is behind", () => {
    const before = message({ status: "sending", updatedAtMs: LATER_MS });
    for (const nowMs of [LATER_MS - 60_000, LATER_MS - 1, LATER_MS]) {
      assert.equal(change(before, signal("sent"), nowMs).after.updatedAtMs, LATER_MS + 1);
    }
    assert.equal(change(before, signal("sent"), LATER_MS + 9).after.updatedAtMs, LATER_MS + 9);
  });

  test("keeps all other fields, and does not modify the message before it", () => {
    const before = message({ status: "sending", metadata: { order: "1" }, clientReference: "x" });
    const untouched = structuredClone({ ...before, id: null, accountId: null });
    const { after } = change(before, signal("sent"));
    assert.deepEqual(
      { ...after, status: 0, sequence: 0, updatedAtMs: 0, sentAtMs: 0 },
      { ...before, status: 0, sequence: 0, updatedAtMs: 0, sentAtMs: 0 },
    );
    assert.deepEqual({ ...before, id: null, accountId: null }, untouched);
  });

  test("keeps the carrier id and the attempts unless its signal has others", () => {
    const before = message({ status: "sending" });
    assert.deepEqual(change(before, signal("sent")).after.provider, before.provider);
    assert.equal(change(before, signal("sent")).after.attempts, 1);
    const other = { name: "carrier", link: "second", messageId: "8" };
    const { after } = change(before, signal("sent", { provider: other, attempts: 2 }));
    assert.deepEqual(after.provider, other);
    assert.equal(after.attempts, 2);
  });

  test("is undefined where the table of states permits no transition", () => {
    for (const [from, to] of [
      ["canceled", "sending"],
      ["delivered", "undelivered"],
      ["read", "delivered"],
      ["sent", "sent"],
      ["sending", "canceled"],
      ["failed", "delivered"],
    ] as const) {
      assert.equal(changeBy(message({ status: from }), signal(to), LATER_MS), undefined, `${from} → ${to}`);
    }
    assert.equal(changeBy(message({ attempts: 0 }), signal("delivered"), LATER_MS), undefined);
  });
});

describe("an error", () => {
  const BLOCKED: MessageError = { code: "blocked_by_carrier", message: "Blocked", permanent: true, provider_code: "8" };
  const UNKNOWN: MessageError = { code: OUTCOME_UNKNOWN, message: "Nobody knows", permanent: false, provider_code: null };

  test("is not removed by a later signal", () => {
    const undelivered = change(message({ status: "sent" }), signal("undelivered", { error: BLOCKED })).after;
    const delivered = change(undelivered, signal("delivered")).after;
    assert.deepEqual(delivered.error, BLOCKED);
    assert.deepEqual(change(delivered, signal("read", { error: null })).after.error, BLOCKED);
  });

  test("is the error of the last signal that has one", () => {
    const queued = change(message({ status: "sending", error: UNKNOWN }), signal("failed", { error: BLOCKED })).after;
    assert.deepEqual(queued.error, BLOCKED);
  });

  test("of unknown outcome stays on a message that a receipt has delivered", () => {
    const { after } = change(message({ status: "failed", error: UNKNOWN, failedAtMs: LATER_MS - 1 }), signal("delivered"));
    assert.equal(after.status, "delivered");
    assert.deepEqual(after.error, UNKNOWN);
    assert.equal(after.failedAtMs, LATER_MS - 1);
  });
});

describe("a note", () => {
  const note = (of: Message, isIgnored = true) =>
    noteOn(of, LATER_MS, { type: "message.sent", isIgnored, detail: { reason: "late" }, move: { kind: "stay" } });

  test("changes no status, no sequence and no time except that of the last change", () => {
    const before = message({ status: "delivered", sentAtMs: 1, deliveredAtMs: 2 });
    const { after } = note(before);
    assert.deepEqual(after, { ...before, updatedAtMs: LATER_MS });
  });

  test("is no event and has no record", () => {
    const { entry, reference } = note(message());
    assert.equal(entry.record, null);
    assert.equal(entry.isIgnored, true);
    assert.equal(entry.previousStatus, "queued");
    assert.equal(reference, null);
    assert.equal(note(message(), false).entry.isIgnored, false);
  });

  test("does not change the message but for its time", () => {
    const { before, after } = note(message());
    assert.deepEqual({ ...after, updatedAtMs: 0 }, { ...before, updatedAtMs: 0 });
  });

  test("is later than the last change", () => {
    assert.equal(note(message({ updatedAtMs: LATER_MS + 7 })).after.updatedAtMs, LATER_MS + 8);
  });
});
