import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import type { Message } from "godwit-sdk";
import { partsOf } from "../src/messages/content-draft.ts";
import {
  changedPointers,
  EMPTY,
  forgetKeptDraft,
  keepDraft,
  takeKeptDraft,
  toDraft,
  toRequest,
  type Draft,
} from "../src/messages/draft.ts";
import { toCurl, toPython, toTypeScript } from "../src/send/code-samples.ts";

test("a request contains only the filled fields", () => {
  assert.deepEqual(toRequest({ ...EMPTY, recipient: " +15005550006 ", body: "Hi" }), {
    recipient: "+15005550006",
    channel: "sms",
    body: "Hi",
  });
  assert.equal(toRequest({ ...EMPTY, recipient: "+1 (415) 555-0123", sender: "+1 415.555.0199" }).recipient, "+14155550123");
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

const contentOf = (draft: Partial<Draft>): unknown => toRequest({ ...EMPTY, ...draft }).content;

test("a content has only the filled fields, and a missing position is not zero", () => {
  const file = { ...EMPTY.file, mediaId: "media_1", kind: "image", name: "a.png" };
  assert.deepEqual(contentOf({ kind: "media", file }), { type: "media", kind: "image", media_id: "media_1" });
  assert.deepEqual(contentOf({ kind: "media", file: { ...file, kind: "document" }, caption: "C" }), {
    type: "media",
    kind: "document",
    media_id: "media_1",
    file_name: "a.png",
    caption: "C",
  });
  assert.deepEqual(contentOf({ kind: "media", file: { ...file, source: "url", url: " https://a.example/b " } }), {
    type: "media",
    kind: "image",
    url: "https://a.example/b",
  });
  assert.deepEqual(contentOf({ kind: "location", longitude: "13.5", address: "Berlin" }), {
    type: "location",
    longitude: 13.5,
    address: "Berlin",
  });
});

test("a template with a file and an open URL is sent as content, and one without them in its short form", () => {
  const url = { type: "url", text: "Track", url: "https://a.example/{{1}}", phone_number: null };
  const reply = { type: "quick_reply", text: "Stop", url: null, phone_number: null };
  const parts = partsOf({ header_media: "image", buttons: [reply, url] } as Parameters<typeof partsOf>[0]);
  assert.deepEqual(contentOf({ kind: "template", template: "parcel", variables: { name: "Ada" }, parts }), {
    type: "template",
    template_id: "parcel",
    template_variables: { name: "Ada" },
    header: { kind: "image" },
    buttons: [{ index: 1, url_suffix: "" }],
  });
  assert.equal(partsOf({ header_media: null, buttons: [reply] } as Parameters<typeof partsOf>[0]), null);
});

/** The contents of outbound messages, as their records have them. */
const RECORDS: readonly ({ type: string } & Record<string, unknown>)[] = [
  { type: "media", kind: "document", media_id: "media_1", file_name: "a.pdf", caption: "C", is_voice: false },
  {
    type: "buttons",
    text: "T",
    header: { type: "text", text: "H" },
    footer: null,
    buttons: [
      { type: "reply", id: "a", title: "A" },
      { type: "url", title: "B", url: "https://a.example" },
    ],
  },
  {
    type: "buttons",
    text: "T",
    header: { type: "media", kind: "image", media_id: "media_1", file_name: "a.png" },
    footer: "F",
    buttons: [{ type: "reply", id: "a", title: "A" }],
  },
  {
    type: "list",
    text: "T",
    header: null,
    footer: "F",
    button: "Open",
    sections: [{ title: null, rows: [{ id: "1", title: "A", description: null }] }],
  },
  { type: "location", latitude: 0, longitude: -1.5, name: null, address: "B" },
  { type: "contacts", contacts: [{ name: { formatted_name: "Ada", prefix: null }, phones: [{ phone: "+1", type: null }], org: null }] },
  { type: "reaction", message_id: "msg_1", emoji: null },
  { type: "template", header: null, buttons: [{ index: 0, payload: "stop" }] },
];

const withoutNulls = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value, (_, each: unknown) => (each === null ? undefined : each)));

for (const [number, record] of RECORDS.entries())
  test(`a message with the content ${record.type} can be sent again (record ${number + 1})`, () => {
    const message = {
      recipient: "+1",
      priority: "normal",
      template_id: null,
      body: null,
      metadata: {},
      in_reply_to: "msg_2",
      channel: "whatsapp",
      content: record,
    };
    const templated = "buttons" in record && !("text" in record) ? { template_id: "tmpl_1", template_variables: { a: "1" } } : {};
    const request = toRequest(toDraft({ ...message, ...templated } as unknown as Message));
    const { is_voice: _voice, ...sent } = withoutNulls(record) as { is_voice?: boolean; header?: { kind?: string; file_name?: string } };
    // Only documents have names.
    if (sent.header?.kind === "image") delete sent.header.file_name;
    const template = "template_id" in templated ? { template_id: "tmpl_1", template_variables: { a: "1" } } : {};
    assert.deepEqual(request.content, { ...sent, ...template });
    assert.equal(request.reply_to, "message_id" in record ? undefined : "msg_2");
    assert.equal(request.body ?? request.template_id, undefined);
  });

test("a change touches the values that differ, and no value that is still empty", () => {
  const before = { recipient: "+1", content: { type: "buttons", buttons: [{ title: "A" }] } };
  assert.deepEqual(changedPointers(before, { recipient: "+1", content: { type: "buttons", buttons: [{ title: "B" }, { title: "" }] } }), [
    "/content/buttons/0/title",
  ]);
  assert.deepEqual(changedPointers({ body: "x" }, { metadata: { "a/b": "1" } }), ["/body", "/metadata/a~1b"]);
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
