import assert from "node:assert/strict";
import { test } from "node:test";
import { newId } from "../model/id.ts";
import { recipientNo } from "../../test/support/recipient.ts";
import { messageOfValues, valuesOf } from "./message-text.ts";
import { newMessage, type Message } from "./message.ts";

const NOW = Date.UTC(2026, 10, 18);
const owner = { accountId: newId("acct", NOW), environment: "live" } as const;

/** Every field that an accepted message may have. The type names all fields, so that a new one is not forgotten. */
const whole: Message = {
  ...owner,
  id: newId("msg", NOW),
  direction: "outbound",
  channel: "whatsapp",
  recipient: recipientNo(1),
  sender: "+15005550000",
  senderReason: "named",
  linkReason: "route",
  body: 'Ваш код \u{1f511} "123456"\n',
  content: { type: "location", latitude: 47.5, longitude: 8.25, name: null, address: null },
  template: {
    id: "tmpl_1",
    name: "code",
    language: "uk",
    version: 3,
    variables: { code: "123456" },
    parts: { header: [], body: ["123456"] },
  },
  status: "queued",
  sequence: 1,
  error: null,
  segments: { count: 2, encoding: "ucs2", characters: 80 },
  priority: "high",
  clientReference: "order 7",
  metadata: { order: "7" },
  maxSegments: 3,
  carrierOptions: { smpp: { tlvs: { "0x1400": "beef" } } },
  sendAtMs: NOW - 5,
  expiresAtMs: NOW + 60_000,
  provider: null,
  attempts: 0,
  refusals: 0,
  hasUnknown: false,
  hasFallback: true,
  fallbackOf: newId("msg", NOW),
  inReplyTo: newId("msg", NOW),
  isOptOutReply: true,
  batchId: newId("batch", NOW),
  source: "twilio",
  updatedAtMs: NOW + 3,
  sentAtMs: null,
  deliveredAtMs: null,
  readAtMs: null,
  failedAtMs: null,
  canceledAtMs: null,
  isRedacted: false,
  trace: { traceId: "0af7651916cd43dd8448eb211c80319c", spanId: "b7ad6b7169203331", flags: 1 } as never,
};

const carried = (message: Message): Message =>
  messageOfValues(JSON.parse(JSON.stringify(valuesOf(message))) as ReturnType<typeof valuesOf>);

test("an accepted message is the same after its way through text", () => {
  assert.deepEqual(carried(whole), whole);
});

test("a message with nothing but a text is the same after its way through text", () => {
  const least = newMessage(owner, newId("msg", NOW), {
    direction: "outbound",
    channel: "sms",
    recipient: recipientNo(2),
    sender: null,
    body: "Hi",
    status: "queued",
  });
  assert.deepEqual(carried(least), least);
});
