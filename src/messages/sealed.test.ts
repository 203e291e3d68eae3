import assert from "node:assert/strict";
import { test } from "node:test";
import { newId } from "../model/id.ts";
import { SecretBox } from "../lib/secret-box.ts";
import type { FallbackStep } from "./fallbacks.ts";
import { openContent, readSteps, sealContent, sealSteps } from "./sealed.ts";
import type { Content } from "./message.ts";

const box = new SecretBox(Buffer.alloc(32, 1));
const [id, other] = [newId("msg", Date.now()), newId("msg", Date.now())];
const CONTENT: Content = {
  body: "1234567890 is your code",
  template: { id: "tmpl_1", name: "code", language: "en", version: 3, variables: { code: "1234567890" } },
};
const STEPS: FallbackStep[] = [{ channel: "sms", content: CONTENT, shown: { body: "**", template: null }, afterSeconds: 30 }];

test("sealed content cannot be read, and is unchanged when it is opened", () => {
  for (const sealed of [sealContent(box, id, CONTENT), sealSteps(box, id, STEPS)]) {
    assert.match(sealed, /^sealed:/);
    assert.ok(!sealed.includes("1234567890"));
    assert.ok(!Buffer.from(sealed.slice("sealed:".length), "base64").includes("1234567890"));
  }
  assert.deepEqual(openContent(box, id, sealContent(box, id, CONTENT)), CONTENT);
  assert.deepEqual(readSteps(box, id, sealSteps(box, id, STEPS)), STEPS);
});

test("the same text is sealed differently each time", () => {
  assert.notEqual(sealContent(box, id, CONTENT), sealContent(box, id, CONTENT));
});

test("steps without a secret are stored as plain JSON", () => {
  assert.deepEqual(readSteps(box, id, JSON.stringify(STEPS)), STEPS);
});

test("sealed content opens only for its own message and purpose, with a known key", () => {
  const [content, steps] = [sealContent(box, id, CONTENT), sealSteps(box, id, STEPS)];
  const stranger = new SecretBox(Buffer.alloc(32, 2));
  assert.throws(() => openContent(box, other, content));
  assert.throws(() => readSteps(box, other, steps));
  assert.throws(() => openContent(box, id, steps));
  assert.throws(() => readSteps(box, id, content));
  assert.throws(() => openContent(stranger, id, content));
  assert.throws(() => readSteps(stranger, id, steps));
  const changed = new SecretBox(Buffer.alloc(32, 2), Buffer.alloc(32, 1));
  assert.deepEqual(openContent(changed, id, content), CONTENT);
  assert.deepEqual(readSteps(changed, id, steps), STEPS);
});
