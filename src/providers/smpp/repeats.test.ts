import assert from "node:assert/strict";
import { test } from "node:test";
import type { InboundMessage } from "../provider.ts";
import { Repeats } from "./repeats.ts";

const written = (text: string, fields: Partial<InboundMessage> = {}): InboundMessage => ({
  providerMessageId: null,
  channel: "sms",
  from: "+4915112345678",
  to: "+14155550100",
  text,
  inReplyTo: null,
  ...fields,
});
const stored = Promise.resolve(true);

test("what is awaited is known when it comes, once, and nothing else is", async () => {
  const repeats = new Repeats();
  repeats.expect(written("YES"), stored, 0);
  for (const other of [written("NO"), written("YES", { from: "+4915112345679" }), written("YES", { to: "+14155550101" })])
    assert.equal(repeats.take(other, 1), undefined);
  assert.equal(await repeats.take(written("YES"), 1), true);
  assert.equal(repeats.take(written("YES"), 1), undefined, "people write the same thing twice");
});

test("it is awaited for ten minutes, and only so many are", () => {
  const repeats = new Repeats();
  repeats.expect(written("old"), stored, 0);
  assert.equal(repeats.take(written("old"), 600_000), undefined);
  for (let count = 0; count < 1_001; count += 1) repeats.expect(written(`text ${count}`), stored, 0);
  assert.equal(repeats.take(written("text 0"), 1), undefined, "the oldest is forgotten");
  assert.ok(repeats.take(written("text 1"), 1));
});
