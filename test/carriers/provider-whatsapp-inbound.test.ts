/** The content of inbound messages of WhatsApp, by type, and any other JSON in their place. The examples follow the published description of the
 *  Cloud API, where it is at hand. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { InboundMessage } from "../../src/providers/provider.ts";
import { whatsapp, WHATSAPP_DEFAULTS, type WhatsAppSettings } from "../../src/providers/whatsapp/whatsapp.ts";
import { GRAPH_SECRETS, graphCall, graphSignature, PHONE_NUMBER_ID } from "../support/fakes/graph.ts";
import { publishedSchemas, PUBLISHED_WHATSAPP } from "../support/published.ts";
import { RecordingHost } from "../support/recording-host.ts";

const SETTINGS: WhatsAppSettings = { ...WHATSAPP_DEFAULTS, ...GRAPH_SECRETS, phoneNumberId: PHONE_NUMBER_ID, wabaId: null };
const FROM = "15551234567";

async function receive(message: object): Promise<InboundMessage[]> {
  const body = graphCall({ contacts: [{ wa_id: FROM, profile: { name: "A" } }], messages: [message] });
  const request = {
    method: "POST",
    url: "https://godwit.example/providers/whatsapp/main",
    query: {},
    headers: { "x-hub-signature-256": graphSignature(body) },
    body: Buffer.from(body),
  };
  const host = new RecordingHost();
  const response = await whatsapp.handleRequest?.(SETTINGS, request, host);
  assert.equal(response?.status, 200);
  return host.messages;
}

const written = (type: string, fields: object): object => ({ from: FROM, id: "wamid.in", timestamp: "1749416383", type, ...fields });
const file = (fields: object = {}): object => ({ id: "2621233374848975", mime_type: "image/jpeg", sha256: "aGFzaA==", ...fields });
const context = { from: "14155550100", id: "wamid.out" };

const mediaOf = (kind: string, fields: object = {}, name: string | null = null): object => ({
  type: "media",
  caption: null,
  is_voice: false,
  files: [{ kind, carrierFile: "2621233374848975", fileName: name }],
  ...fields,
});

type Example = readonly [schema: string, type: string, fields: object, content: object | undefined];

const EXAMPLES: readonly Example[] = [
  ["TextMessage_2", "text", { text: { body: "Hello" } }, undefined],
  ["ImageMessage_1", "image", { image: file({ caption: "My cat" }) }, mediaOf("image", { caption: "My cat" })],
  ["AudioMessage_1", "audio", { audio: file({ mime_type: "audio/ogg; codecs=opus", voice: true }) }, mediaOf("audio", { is_voice: true })],
  ["AudioMessage_1", "audio", { audio: file({ voice: false }) }, mediaOf("audio")],
  ["VideoMessage_1", "video", { video: file({ caption: "STOP" }) }, mediaOf("video", { caption: "STOP" })],
  ["DocumentMessage_1", "document", { document: file({ filename: "c.pdf" }) }, mediaOf("document", {}, "c.pdf")],
  ["StickerMessage_1", "sticker", { sticker: file({ animated: false }) }, mediaOf("sticker")],
  [
    "LocationMessage_1",
    "location",
    { location: { latitude: 52.5, longitude: 13.4, name: "Alex", address: "Berlin" } },
    { type: "location", latitude: 52.5, longitude: 13.4, name: "Alex", address: "Berlin" },
  ],
  [
    "ContactSharingMessage",
    "contacts",
    {
      contacts: [
        {
          name: { formatted_name: "Ada Lovelace", first_name: "Ada" },
          phones: [{ phone: "+15551234567", wa_id: "15551234567", type: "WORK" }],
          emails: [{ email: "ada@example.com", type: "HOME" }],
          org: { company: "Engines" },
          birthday: "1815-12-10",
        },
      ],
    },
    {
      type: "contacts",
      contacts: [
        {
          name: { formatted_name: "Ada Lovelace", first_name: "Ada", last_name: null, middle_name: null, prefix: null, suffix: null },
          phones: [{ phone: "+15551234567", type: "WORK", wa_id: "15551234567" }],
          emails: [{ email: "ada@example.com", type: "HOME" }],
          urls: [],
          addresses: [],
          org: { company: "Engines", department: null, title: null },
          birthday: "1815-12-10",
        },
      ],
    },
  ],
  [
    "ButtonMessage",
    "button",
    { context, button: { text: "Yes", payload: "p-1" } },
    { type: "reply", kind: "template_button", id: "p-1", title: "Yes", description: null },
  ],
  [
    "InteractiveMessageReply",
    "interactive",
    { context, interactive: { type: "button_reply", button_reply: { id: "b-1", title: "Confirm" } } },
    { type: "reply", kind: "button", id: "b-1", title: "Confirm", description: null },
  ],
  [
    "InteractiveMessageReply",
    "interactive",
    { context, interactive: { type: "list_reply", list_reply: { id: "r-2", title: "Tuesday", description: "at noon" } } },
    { type: "reply", kind: "list", id: "r-2", title: "Tuesday", description: "at noon" },
  ],
  [
    "OrderMessage",
    "order",
    {
      order: {
        catalog_id: "c-1",
        text: "Please",
        product_items: [{ product_retailer_id: "sku-1", quantity: 2, item_price: 9.5, currency: "EUR" }],
      },
    },
    { type: "order", catalog_id: "c-1", text: "Please", items: [{ product_id: "sku-1", quantity: 2, price: "9.5", currency: "EUR" }] },
  ],
  ["ReactionMessage_1", "reaction", { reaction: { message_id: "wamid.out", emoji: "👍" } }, { type: "reaction", emoji: "👍" }],
  [
    "SystemMessage",
    "system",
    { system: { body: "A changed from 1 to 2", wa_id: "15551234568", type: "user_changed_number" } },
    { type: "system", text: "A changed from 1 to 2" },
  ],
];

for (const [, type, fields, content] of EXAMPLES)
  test(`an inbound message of type ${type} (${JSON.stringify(fields).slice(0, 80)}) has its content`, async () => {
    const [message] = await receive(written(type, fields));
    assert.deepEqual(message?.content, content);
    assert.equal(message?.details, undefined);
  });

test("the answers in a form are its content", async () => {
  const reply = { name: "flow", body: "Sent", response_json: '{"size":"L"}' };
  const [message] = await receive(written("interactive", { interactive: { type: "nfm_reply", nfm_reply: reply } }));
  assert.deepEqual([message?.text, message?.content], ["Sent", { type: "form", name: "flow", response: '{"size":"L"}' }]);
});

test("answers that are too long are left out, and the message says so", async () => {
  const reply = { name: "flow", response_json: JSON.stringify("x".repeat(5_000)) };
  const [message] = await receive(written("interactive", { interactive: { type: "nfm_reply", nfm_reply: reply } }));
  assert.deepEqual([message?.content, message?.details], [{ type: "form", name: "flow", response: null }, { truncated: "true" }]);
});

test("a caption of which nothing can be stored is none", async () => {
  const [message] = await receive(written("document", { document: { id: "1", caption: "\0" } }));
  assert.equal(message?.text, "[document]");
});

test("a reaction that is removed has no emoji", async () => {
  const [message] = await receive(written("reaction", { reaction: { message_id: "wamid.out" } }));
  assert.deepEqual([message?.text, message?.content, message?.inReplyTo], ["[reaction]", { type: "reaction", emoji: null }, "wamid.out"]);
});

for (const [type, fields] of [
  ["edit", { edit: { original_message_id: "wamid.1", message: { type: "text", text: { body: "STOP" } } } }],
  ["revoke", { revoke: { original_message_id: "wamid.1" } }],
  ["unsupported", { errors: [{ code: 131051, title: "Unknown" }], unsupported: { type: "poll" } }],
  ["something_new", { something_new: { a: 1 } }],
  ["interactive", { interactive: { type: "something_new" } }],
  ["video", { video: {} }],
  ["image", { image: { id: "../me" } }],
  ["location", { location: { latitude: 91, longitude: 0 } }],
] as const)
  test(`an inbound message of type ${type} (${JSON.stringify(fields)}) is kept as WhatsApp wrote it`, async () => {
    const message = written(type, fields);
    assert.deepEqual((await receive(message))[0]?.content, { type: "unsupported", kind: type, original: JSON.stringify(message) });
  });

test("the original of a message that is too large is not kept", async () => {
  const [message] = await receive(written("something_new", { something_new: "x".repeat(5_000) }));
  assert.deepEqual(message?.content, { type: "unsupported", kind: "something_new", original: null });
  assert.deepEqual(message?.details, { truncated: "true" });
});

test("the examples follow the published description", { skip: PUBLISHED_WHATSAPP.skip }, () => {
  const fits = publishedSchemas(PUBLISHED_WHATSAPP);
  for (const [name, type, fields] of EXAMPLES) {
    const message = written(type, fields);
    fits("BaseMessageProperties_1", message);
    // Each description begins with the properties of sent messages by mistake.
    fits(`${name}/allOf/1`, message);
  }
});

const TYPES = [...new Set(EXAMPLES.map(([, type]) => type)), "edit", "revoke", "unsupported", "constructor", "__proto__", "toString"];
// More than the largest original, or all contacts with the longest texts that one request can have.
const MAX_CONTENT_BYTES = 1_100_000;

test("no JSON in place of a content throws, and no content is larger than its request", async () => {
  const anyMessage = fc.record({ type: fc.constantFrom(...TYPES), value: fc.jsonValue({ maxDepth: 6 }), likely: fc.jsonValue() });
  const check = async ({ type, value, likely }: { type: string; value: unknown; likely: unknown }): Promise<void> => {
    const inner = {
      id: value,
      caption: likely,
      filename: value,
      message: likely,
      button_reply: value,
      list_reply: likely,
      nfm_reply: value,
    };
    for (const content of [value, likely, inner, [value], [inner], { product_items: [value, likely, inner], ...inner }]) {
      const [message] = await receive(JSON.parse(JSON.stringify({ ...written(type, {}), [type]: content })) as object);
      assert.ok(message !== undefined);
      assert.ok(JSON.stringify(message).length < MAX_CONTENT_BYTES);
    }
  };
  await fc.assert(fc.asyncProperty(anyMessage, check), { numRuns: 300 });
});

test("long texts and long lists of a content are cut", async () => {
  const long = "\u{1f600}".repeat(3_000);
  const contact = { name: { formatted_name: long }, phones: Array.from({ length: 50 }, () => ({ phone: long })) };
  const [message] = await receive(written("contacts", { contacts: Array.from({ length: 3 }, () => contact) }));
  assert.ok(message?.content?.type === "contacts");
  const [first = assert.fail()] = message.content.contacts;
  assert.deepEqual([first.name.formatted_name.length, first.phones.length], [1_024, 20]);
});
