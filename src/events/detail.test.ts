/** The short forms in which the database stores the causes of entries. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { compactRecord } from "../model/message-record.ts";
import { newId } from "../model/id.ts";
import { newMessage, type Message } from "../messages/message.ts";
import type { Recipient } from "../model/phone-number.ts";
import { completeDetail, detailToStore, eraseDetail, type Detail, type StoredDetail } from "./detail.ts";

const owner = { accountId: newId("acct", 1_000), environment: "test" } as const;
const message: Message = {
  ...newMessage(owner, newId("msg", 1_000), {
    direction: "outbound",
    channel: "sms",
    recipient: "+14155550123" as Recipient,
    sender: "Godwit",
    body: "text",
    status: "delivered",
  }),
  provider: { name: "smpp", link: "carrier", messageId: "id-1" },
  attempts: 2,
};

const store = (detail: Detail, after = message): string => detailToStore(detail, compactRecord(after), after);
const read = (text: string, after = message): Detail => completeDetail(JSON.parse(text) as StoredDetail, compactRecord(after));

const attempt = { number: 2, link: "carrier", outcome: "accepted", provider_message_id: "id-1" } as const;
const receipt = { link: "carrier", status: "delivered", provider_message_id: "id-1", raw: { stat: "DELIVRD" } };

test("an attempt and a receipt that repeat their record are stored without it", () => {
  assert.equal(store({ attempt }), "2");
  assert.equal(store({ receipt }), '[{"stat":"DELIVRD"}]');
  const sending: Message = { ...message, status: "sending", provider: { name: "smpp", link: "carrier", messageId: null } };
  const written = { number: 2, link: "carrier", outcome: "written" } as const;
  assert.equal(store({ attempt: written }, sending), "1");
  assert.deepEqual(read("1", sending), { attempt: written });
  assert.deepEqual(read("2"), { attempt });
  assert.deepEqual(read('[{"stat":"DELIVRD"}]'), { receipt });
});

for (const [what, detail] of [
  ["an attempt of another number", { attempt: { ...attempt, number: 1 } }],
  ["an attempt on another link", { attempt: { ...attempt, link: "other" } }],
  ["an attempt with another carrier id", { attempt: { ...attempt, provider_message_id: "id-2" } }],
  ["an attempt without its carrier id", { attempt: { number: 2, link: "carrier", outcome: "accepted" } }],
  ["an attempt with the text of the carrier", { attempt: { ...attempt, detail: "fine" } }],
  ["an attempt with a code", { attempt: { ...attempt, provider_code: "0" } }],
  ["an attempt with another outcome", { attempt: { ...attempt, outcome: "refused" } }],
  ["an attempt with a reason", { attempt, reason: "other takes it next" }],
  ["a receipt of another link", { receipt: { ...receipt, link: "other" } }],
  ["a receipt of another status", { receipt: { ...receipt, status: "sent" } }],
  ["a receipt of a part", { receipt: { ...receipt, part: 1 } }],
  ["a receipt with a code", { receipt: { ...receipt, provider_code: "0" } }],
  ["a receipt beside an attempt", { attempt, receipt }],
  ["a receipt with an error", { receipt: { ...receipt, error_code: "unreachable" } }],
  ["a receipt with another carrier id", { receipt: { ...receipt, provider_message_id: "id-2" } }],
  ["a reason", { reason: "canceled by request" }],
] as [string, Detail][])
  test(`${what} is stored whole`, () => {
    assert.deepEqual(JSON.parse(store(detail)), detail);
    assert.deepEqual(read(store(detail)), detail);
  });

test("a cause beside a whole record, or without a record, is stored whole", () => {
  assert.deepEqual(JSON.parse(detailToStore({ attempt }, "{}", message)), { attempt });
  assert.deepEqual(JSON.parse(detailToStore({ attempt }, null, message)), { attempt });
});

test("an erasure leaves no word of the carrier in either form", () => {
  assert.deepEqual(eraseDetail(JSON.parse(store({ receipt })) as StoredDetail), [{}]);
  assert.equal(eraseDetail(2), 2);
  assert.deepEqual(eraseDetail({ receipt }), { receipt: { ...receipt, provider_message_id: null, raw: {} } });
});
