import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { EMPTY, forgetKeptDraft, keepDraft, takeKeptDraft, toRequest } from "../src/messages/draft.ts";
import { toCurl, toPython, toTypeScript } from "../src/send/code-samples.ts";

test("a request contains only the filled fields", () => {
  assert.deepEqual(toRequest({ ...EMPTY, recipient: " +15005550006 ", body: "Hi" }), {
    recipient: "+15005550006",
    channel: "sms",
    body: "Hi",
  });
  const whole = toRequest({
    ...EMPTY,
    recipient: "+15005550006",
    kind: "template",
    template: "code",
    variables: { code: "1" },
    sendAt: "2030-01-31T09:00",
    priority: "high",
    clientReference: "r",
    metadata: "order=1815\n\n note = a=b \nflag",
    ttlSeconds: "60",
    maxSegments: "2",
    sender: "Acme",
  });
  assert.deepEqual(whole, {
    recipient: "+15005550006",
    channel: "sms",
    template_id: "code",
    template_variables: { code: "1" },
    sender: "Acme",
    send_at: new Date("2030-01-31T09:00").toISOString(),
    priority: "high",
    client_reference: "r",
    metadata: { order: "1815", note: "a=b", flag: "" },
    ttl_seconds: 60,
    max_segments: 2,
  });
});

test("an invalid time is passed on for the service to refuse", () => {
  assert.equal(toRequest({ ...EMPTY, sendAt: "20266-01-01T10:00" }).send_at, "20266-01-01T10:00");
});

test("a kept draft is returned once, to the same key, and not after a sign-out", () => {
  keepDraft({ ...EMPTY, body: "again" }, "key_1");
  assert.equal(takeKeptDraft("key_1")?.body, "again");
  assert.equal(takeKeptDraft("key_1"), undefined);
  keepDraft({ ...EMPTY, body: "again" }, "key_1");
  assert.equal(takeKeptDraft("key_2"), undefined, "not by another key");
  keepDraft({ ...EMPTY, body: "again" }, "key_1");
  forgetKeptDraft();
  assert.equal(takeKeptDraft("key_1"), undefined, "not after a sign-out");
});

test("the curl command passes any text through a shell unchanged", () => {
  const body = `It's "quoted" $HOME \`id\` \\ 🐦\n!`;
  const command = toCurl("http://h", { recipient: "+1", channel: "sms", body }, "key").replace(/^curl /, `printf '%s\\n' `);
  const { stdout } = spawnSync("sh", ["-c", command], { encoding: "utf8", env: { GODWIT_KEY: "k" } });
  assert.ok(stdout.includes(JSON.stringify({ recipient: "+1", channel: "sms", body }, null, 2)), stdout);
});

// Stands for the SDK, and prints the arguments of the call.
const PYTHON_SDK = `import json
class Godwit:
    def __init__(self, base_url): self.messages = self
    def send(self, **arguments): print(json.dumps(arguments))
`;

test("the Python code passes any text on unchanged", (context) => {
  const request = {
    recipient: "+1",
    channel: "sms" as const,
    body: `It's "quoted" \\ {x} 🐦\n\u2028`,
    metadata: { order: "1815" },
    ttl_seconds: 60,
  };
  const code = toPython("http://h", request, "key").replace("from godwit import Godwit", PYTHON_SDK);
  const { stdout, stderr, error } = spawnSync("python3", ["-c", code], { encoding: "utf8" });
  if (error !== undefined) return context.skip("there is no Python here");
  assert.equal(stderr, "");
  assert.deepEqual(JSON.parse(stdout), { ...request, idempotency_key: "key" });
});

test("the code for the SDK is valid with any text", () => {
  const code = toTypeScript("http://h", { recipient: "+1", channel: "sms", body: "</script> ${x} `" }, "key");
  const folder = mkdtempSync(join(tmpdir(), "godwit-code-"));
  try {
    writeFileSync(join(folder, "code.mjs"), code);
    const { status, stderr } = spawnSync(process.execPath, ["--check", join(folder, "code.mjs")], { encoding: "utf8" });
    assert.equal(status, 0, stderr);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
