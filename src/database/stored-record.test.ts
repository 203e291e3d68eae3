/** Which events store a compact record, and which the whole one. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { newId, toId, type EventId } from "../model/id.ts";
import { isCompact } from "../model/message-record.ts";
import { newUuid } from "../lib/uuid.ts";
import { messageRecord, newMessage, type Message } from "../messages/message.ts";
import type { Recipient } from "../model/phone-number.ts";
import { recordText, recordToStore, writeCompactRecords, type RecordRow } from "./stored-record.ts";

const SUNDAY_MS = Date.UTC(2026, 10, 22, 23, 59, 59, 900);
const MONDAY_MS = SUNDAY_MS + 200;

const owner = { accountId: newId("acct", SUNDAY_MS), environment: "test" } as const;
const eventAt = (timeMs: number): EventId => toId("evt", newUuid(timeMs));
const message = (fields: Partial<Message> = {}): Message => ({
  ...newMessage(owner, toId("msg", newUuid(SUNDAY_MS)), {
    direction: "outbound",
    channel: "sms",
    recipient: "+14155550123" as Recipient,
    sender: "Godwit",
    body: "text",
    status: "queued",
  }),
  ...fields,
});

describe("the record of an event", () => {
  test("is compact in the week of its message", () => {
    writeCompactRecords();
    assert.ok(isCompact(recordToStore(message(), eventAt(SUNDAY_MS))));
  });

  for (const [what, event, fields] of [
    ["of another week than its message", MONDAY_MS, {}],
    ["of a message that can be edited", SUNDAY_MS, { status: "scheduled" }],
    ["of an inbound message", SUNDAY_MS, { direction: "inbound", status: "received" }],
  ] as const)
    test(`is whole in an event ${what}`, () => {
      writeCompactRecords();
      const one = message(fields);
      assert.equal(recordToStore(one, eventAt(event)), JSON.stringify(messageRecord(one)));
    });

  test("cannot be read without its message", () => {
    const row = { environment: "test", type: "message.queued", sequence: 1, record: "[0]", message_id: null } as unknown as RecordRow;
    assert.throws(() => recordText(row), /the message of a compact record is missing/);
  });
});
