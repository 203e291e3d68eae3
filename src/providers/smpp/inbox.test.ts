import assert from "node:assert/strict";
import { test } from "node:test";
import type { InboundMessage } from "../provider.ts";
import { Repeats } from "./inbox.ts";

const inbound = (text: string, fields: Partial<InboundMessage> = {}): InboundMessage => ({
  providerMessageId: null,
  channel: "sms",
  from: "+4915112345678",
  to: "+14155550100",
  text,
  inReplyTo: null,
  ...fields,
});
const stored = Promise.resolve(true);

test("an expected message is recognized once, and no other message is", async () => {
  const repeats = new Repeats();
  repeats.expect(inbound("YES"), stored, 0);
  for (const other of [inbound("NO"), inbound("YES", { from: "+4915112345679" }), inbound("YES", { to: "+14155550101" })])
    assert.equal(repeats.take(other, 1), undefined);
  assert.equal(await repeats.take(inbound("YES"), 1), true);
  assert.equal(repeats.take(inbound("YES"), 1), undefined, "a person may write the same text twice");
});

test("a message is expected for ten minutes, and at most 1,000 are", () => {
  const repeats = new Repeats();
  repeats.expect(inbound("old"), stored, 0);
  assert.equal(repeats.take(inbound("old"), 600_000), undefined);
  for (let count = 0; count < 1_001; count += 1) repeats.expect(inbound(`text ${count}`), stored, 0);
  assert.equal(repeats.take(inbound("text 0"), 1), undefined, "the oldest is dropped");
  assert.ok(repeats.take(inbound("text 1"), 1));
});
