import assert from "node:assert/strict";
import { test } from "node:test";
import { messageOf } from "../../test/support/message.ts";
import type { Message } from "../messages/message.ts";
import { RecentMessages } from "./match-receipts.ts";

const named = (link: string, messageId: string, fields: Partial<Message> = {}): Message =>
  messageOf({ status: "sent", provider: { name: "carrier", link, messageId }, ...fields });

const name = (link: string, providerMessageId: string) => ({ link, providerMessageId });

test("the same carrier id on two links belongs to two messages", () => {
  const recent = new RecentMessages();
  const [one, two] = [named("a", "7"), named("b", "7")];
  recent.remember(name("a", "7"), one);
  recent.remember(name("b", "7"), two);
  assert.equal(recent.find(name("a", "7")), one);
  assert.equal(recent.find(name("b", "7")), two);
  assert.equal(recent.find(name("c", "7")), undefined);
  assert.equal(recent.find(name("a", "8")), undefined);
});

test("a reused carrier id belongs to the newest message", () => {
  const recent = new RecentMessages();
  recent.remember(name("a", "7"), named("a", "7"));
  const newest = named("a", "7");
  recent.remember(name("a", "7"), newest);
  assert.equal(recent.find(name("a", "7")), newest);
});

test("a changed message is found in its new version", () => {
  const recent = new RecentMessages();
  const sent = named("a", "7", { channel: "whatsapp" });
  recent.remember(name("a", "7"), sent);
  const delivered: Message = { ...sent, status: "delivered" };
  recent.update(delivered);
  assert.equal(recent.find(name("a", "7")), delivered);
});

test("a message is removed when its status is the last of its channel", () => {
  for (const [channel, status, isForgotten] of [
    ["sms", "delivered", true],
    ["sms", "undelivered", false],
    ["sms", "expired", false],
    ["whatsapp", "delivered", false],
    ["whatsapp", "read", true],
  ] as const) {
    const recent = new RecentMessages();
    recent.remember(name("a", "7"), named("a", "7", { channel }));
    recent.update(named("a", "7", { channel, status }));
    assert.equal(recent.find(name("a", "7")) === undefined, isForgotten, `${channel} ${status}`);
  }
});

test("an update does not add a message", () => {
  const recent = new RecentMessages();
  recent.update(named("a", "7"));
  recent.update({ ...named("a", "7"), provider: null });
  assert.equal(recent.find(name("a", "7")), undefined);
});

test("the oldest messages are removed beyond the limit", () => {
  const recent = new RecentMessages();
  const message = named("a", "0");
  for (let index = 0; index < 8_193; index += 1) recent.remember(name("a", String(index)), message);
  assert.equal(recent.find(name("a", "0")), undefined);
  assert.equal(recent.find(name("a", "1")), message);
  assert.equal(recent.find(name("a", "8192")), message);
});
