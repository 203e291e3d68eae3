/** Contents of messages beside a text: their records and events, and everything that refuses them before they are stored. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { afterSeconds, clientOf, typesOf, type Client, type Event, type Json } from "../support/client.ts";
import { assertProblem, faultsOf, pointersOf, until } from "../support/expect.ts";
import { startGodwit, type Godwit } from "../support/harness.ts";
import { samplesOf } from "../support/doc-samples.ts";
import { picture, upload } from "../support/media.ts";
import { RECIPIENT, recipientNo } from "../support/recipient.ts";

let godwit: Godwit;
let client: Client;
before(async () => {
  godwit = await startGodwit({ roles: "api,dispatch", simulatorSpeed: 50 });
  await godwit.unlimited();
  client = clientOf(godwit, await godwit.key());
});
after(() => godwit.stop());

const buttons = {
  type: "buttons",
  text: "Is this right?",
  buttons: [
    { type: "reply", id: "yes", title: "Yes" },
    { type: "reply", id: "no", title: "No" },
  ],
} as const;
const list = {
  type: "list",
  text: "When?",
  button: "Times",
  sections: [
    {
      rows: [
        { id: "1", title: "9:00" },
        { id: "2", title: "10:00", description: "with Ana" },
      ],
    },
  ],
} as const;
const place = { type: "location", latitude: 47.37, longitude: 8.54, name: "Shop" } as const;
const people = { type: "contacts", contacts: [{ name: { formatted_name: "Ana Roth" }, phones: [{ phone: "+4915112345678" }] }] } as const;

const whatsapp = (fields: object) => ({ channel: "whatsapp", body: undefined, ...fields });

/** Sends a message on WhatsApp with a content. */
const send = (content: object, fields: object = {}): Promise<Json> => client.messages.send(whatsapp({ content, ...fields }));

/** Waits for an event. */
const eventsOf = (query: Record<string, string>): Promise<Event[]> =>
  until(`an event ${JSON.stringify(query)}`, async () => {
    const { data } = await client.events.list(query);
    return data.length === 0 ? undefined : data;
  });

const refused = async (fields: object): Promise<string[]> => {
  const reply = await client.messages.post(whatsapp(fields));
  assertProblem(reply, "invalid_request_payload");
  return faultsOf(reply).map(({ pointer, code }) => `${String(pointer)} ${code}`);
};

describe("a content", () => {
  const shown: readonly (readonly [name: string, content: object, record: object, body: string | null])[] = [
    ["buttons", buttons, { ...buttons, header: null, footer: null }, "Is this right?"],
    [
      "a list",
      list,
      {
        ...list,
        header: null,
        footer: null,
        sections: [
          {
            title: null,
            rows: [
              { id: "1", title: "9:00", description: null },
              { id: "2", title: "10:00", description: "with Ana" },
            ],
          },
        ],
      },
      "When?",
    ],
    ["a place", place, { ...place, address: null }, null],
    [
      "people",
      people,
      {
        type: "contacts",
        contacts: [
          {
            name: { formatted_name: "Ana Roth", first_name: null, last_name: null, middle_name: null, prefix: null, suffix: null },
            phones: [{ phone: "+4915112345678", type: null, wa_id: null }],
            emails: [],
            urls: [],
            addresses: [],
            org: null,
            birthday: null,
          },
        ],
      },
      null,
    ],
  ];
  for (const [name, content, record, body] of shown)
    test(`${name}: is in the record, in the list and in each event, and is delivered`, async () => {
      const sent = await send(content);
      assert.deepEqual(sent["content"], record);
      assert.equal(sent["body"], body);
      const read = await client.messages.reached(sent["id"], "read");
      assert.deepEqual(read["content"], record);
      const { data } = await client.events.list({ message_id: String(sent["id"]) });
      assert.deepEqual(typesOf(data).toReversed(), [
        "message.queued",
        "message.sending",
        "message.sent",
        "message.delivered",
        "message.read",
      ]);
      for (const { data: changed } of data) assert.partialDeepStrictEqual(changed["message"], { content: record });
    });

  test("text: is the body, and the record has no content", async () => {
    const sent = await send({ type: "text", text: "Hello" });
    assert.deepEqual([sent["body"], sent["content"]], ["Hello", null]);
    const onSms = await client.messages.send({ body: undefined, content: { type: "text", text: "Hello" } });
    assert.deepEqual([onSms["body"], onSms["content"], (onSms["segments"] as Json)["count"]], ["Hello", null, 1]);
  });

  test("template: is the template of the message", async () => {
    const template = await client.templates.create({ channels: ["sms", "whatsapp"], body: "Hello {{name}}" });
    const sent = await send({ type: "template", template_id: template["id"], template_variables: { name: "Ana" } });
    assert.deepEqual([sent["body"], sent["template_id"], sent["content"]], ["Hello Ana", template["id"], null]);
    const { status } = await client.messages.post({
      body: undefined,
      content: { type: "template", template_id: template["id"], template_variables: { name: "Ana" }, buttons: [] },
    });
    assert.equal(status, 202);
    const unknown = await client.messages.post(whatsapp({ content: { type: "template", template_id: "unknown" } }));
    assertProblem(unknown, "template_not_found");
    assert.deepEqual(pointersOf(unknown), ["/content/template_id"]);
  });

  test("template: gives the file and the parts of buttons that the template asks for, and no others", async () => {
    const { id } = await client.templates.create({
      channels: ["whatsapp"],
      body: "Hello {{name}}",
      header_media: "document",
      buttons: [
        { type: "url", text: "Track", url: "https://example.com/t/{{1}}" },
        { type: "quick_reply", text: "Later" },
      ],
    });
    const variables = { template_variables: { name: "Ana" } };
    const faults = async (content: object): Promise<string[]> => {
      const reply = await client.messages.post(whatsapp({ content: { type: "template", template_id: id, ...variables, ...content } }));
      assertProblem(reply, "template_variables_mismatch");
      return faultsOf(reply).map(({ pointer, code }) => `${String(pointer)} ${code}`);
    };
    assert.deepEqual(await faults({}), ["/content/header missing_header", "/content/buttons missing_button"]);
    assert.deepEqual(
      await faults({
        buttons: [
          { index: 0, url_suffix: "a" },
          { index: 0, payload: "b" },
        ],
      }).catch(() => "400"),
      "400",
    );
    assert.deepEqual(
      await faults({
        buttons: [
          { index: 0, url_suffix: "a" },
          { index: 2, payload: "b" },
        ],
      }),
      ["/content/header missing_header", "/content/buttons/1 extra_button"],
    );
    const short = await client.messages.post(whatsapp({ template_id: id, ...variables }));
    assert.deepEqual(pointersOf(short), ["/content/header", "/content/buttons"]);
    const plain = await client.templates.create({ channels: ["whatsapp"], buttons: [{ type: "quick_reply", text: "Later" }] });
    const sent = await send({ type: "template", template_id: plain["id"], ...variables, buttons: [{ index: 0, payload: "later" }] });
    assert.deepEqual(sent["content"], { type: "template", header: null, buttons: [{ index: 0, payload: "later" }] });
  });

  test("is part of a batch and of its defaults", async () => {
    const batch = await client.batches.send([{ recipient: recipientNo(1) }, { recipient: recipientNo(2), content: place }], {
      channel: "whatsapp",
      content: buttons,
    });
    assert.equal(batch.accepted, 2);
    const messages = await client.batches.messages(batch.id);
    assert.deepEqual(new Set(messages.map(({ content }) => (content as Json)["type"])), new Set(["buttons", "location"]));
  });

  test("can differ in the steps of a fallback", async () => {
    const message = await send(buttons, {
      recipient: "+15005550015",
      fallback: [{ channel: "sms", body: "Is this right? Reply YES or NO.", after_seconds: 60 }],
    });
    const [fallback] = await eventsOf({ type: "message.fallback_started", message_id: String(message["id"]) });
    const next = await client.messages.read(fallback?.data["fallback_message_id"]);
    assert.deepEqual([next["channel"], next["content"], next["body"]], ["sms", null, "Is this right? Reply YES or NO."]);
    const other = await client.messages.send({
      recipient: "+15005550005",
      fallback: [{ channel: "whatsapp", content: place, after_seconds: 60 }],
    });
    const [started] = await eventsOf({ type: "message.fallback_started", message_id: String(other["id"]) });
    assert.partialDeepStrictEqual(await client.messages.read(started?.data["fallback_message_id"]), {
      channel: "whatsapp",
      content: place,
    });
  });

  test("is removed by a redaction, from the events as well", async () => {
    const { id } = await send(buttons);
    await client.messages.reached(id, "read");
    assert.equal((await client.messages.redact(id)).json["content"], null);
    const { data } = await client.events.list({ message_id: String(id) });
    for (const { data: changed } of data) assert.partialDeepStrictEqual(changed["message"], { content: null });
  });

  test("keeps its text until it is sent, whatever else of a scheduled message is edited", async () => {
    const edit = (id: unknown, body: object) => client.request("PATCH", `/v1/messages/${String(id)}`, { body });
    const { json: file } = await upload(godwit, picture(), { key: client.key });
    const mms = { type: "media", kind: "image", media_id: file["id"] };
    for (const fields of [whatsapp({ content: buttons }), { body: undefined, content: mms }]) {
      const { id, body, content, segments } = await client.messages.send({ ...fields, send_at: afterSeconds(3_600) });
      const reply = await edit(id, { body: "Other" });
      assertProblem(reply, "invalid_request_payload");
      assert.deepEqual(pointersOf(reply), ["/body"]);
      assert.partialDeepStrictEqual((await edit(id, { priority: "high" })).json, { body, content, segments });
    }
  });

  test("keeps its files until it and its fallback can no longer be sent, also at a later time", async () => {
    const DAY_MS = 86_400_000;
    const daysLeft = async (media: unknown): Promise<number> => {
      const { json } = await client.request("GET", `/v1/media/${String(media)}`);
      return Math.round((Date.parse(String(json["expires_at"])) - Date.now()) / DAY_MS);
    };
    const files = await Promise.all([upload(godwit, picture(), { key: client.key }), upload(godwit, picture(), { key: client.key })]);
    const [own, later] = files.map(({ json }) => json["id"]);
    const file = (id: unknown) => ({ type: "media", kind: "image", media_id: id });
    const { id } = await send(file(own), {
      send_at: new Date(Date.now() + DAY_MS).toISOString(),
      ttl_seconds: 86_400,
      fallback: [{ channel: "sms", content: file(later), after_seconds: 172_800 }],
    });
    assert.deepEqual([await daysLeft(own), await daysLeft(later)], [35, 35]);
    const moved = await client.request("PATCH", `/v1/messages/${String(id)}`, {
      body: { send_at: new Date(Date.now() + 10 * DAY_MS).toISOString() },
    });
    assert.equal(moved.status, 200, moved.text);
    assert.deepEqual([await daysLeft(own), await daysLeft(later)], [44, 44]);
  });

  test("is replayed byte for byte", async () => {
    const idempotencyKey = crypto.randomUUID();
    const first = await client.messages.post(whatsapp({ content: buttons }), { idempotencyKey });
    const second = await client.messages.post(whatsapp({ content: buttons }), { idempotencyKey });
    assert.equal(second.headers.get("idempotent-replayed"), "true");
    assert.equal(second.text, first.text);
  });

  test("is replayed after its file was deleted, also in a batch", async () => {
    const media = (await upload(godwit, picture(), { key: client.key })).json["id"];
    const content = { type: "media", kind: "image", media_id: media };
    const message = whatsapp({ content, recipient: RECIPIENT });
    const idempotencyKey = randomUUID();
    const first = await client.messages.post(message, { idempotencyKey });
    const batch = {
      key: client.key,
      body: { items: [{ recipient: RECIPIENT, channel: "whatsapp", content }] },
      idempotencyKey: randomUUID(),
    };
    const whole = await godwit.request("POST", "/v1/batches", batch);
    assert.deepEqual([first.status, whole.status, whole.json["accepted"]], [202, 202, 1]);
    assert.equal((await client.request("DELETE", `/v1/media/${String(media)}`)).status, 200);
    assert.equal((await client.messages.post(message, { idempotencyKey })).text, first.text);
    assert.equal((await godwit.request("POST", "/v1/batches", batch)).text, whole.text);
    assertProblem(await client.messages.post(message, { idempotencyKey: randomUUID() }), "invalid_request_payload");
  });

  test("is validated without a trace, and keeps its file until its last step can be sent", async () => {
    const media = (await upload(godwit, picture(), { key: client.key })).json["id"];
    const read = async (): Promise<Json> => (await client.request("GET", `/v1/media/${String(media)}`)).json;
    const earlier = await read();
    const request = whatsapp({
      recipient: RECIPIENT,
      content: { type: "media", kind: "image", media_id: media },
      ttl_seconds: 172_800,
      send_at: new Date(Date.now() + 20 * 86_400_000).toISOString(),
      fallback: [{ channel: "sms", body: "Hello", after_seconds: 172_800 }],
    });
    assert.equal((await godwit.request("POST", "/v1/messages/validate", { key: client.key, body: request })).json["valid"], true);
    assert.deepEqual(await read(), earlier);
    await client.messages.send(request);
    const days = (Date.parse(String((await read())["expires_at"])) - Date.now()) / 86_400_000;
    assert.ok(days > 53.9 && days < 56, `kept for ${days} days`);
  });
});

test("each example of docs/content.md can be sent", async () => {
  const recipient = "+15005550008";
  const first = await send(buttons, { recipient });
  const [received] = await eventsOf({ type: "message.received" });
  const inbound = received?.data["message"]?.["id"];
  const { json: file } = await upload(godwit, picture(), { key: client.key });
  await client.templates.create({
    name: "parcel_update",
    channels: ["whatsapp"],
    body: "Hello {{name}}",
    header_media: "document",
    buttons: [
      { type: "url", text: "Track it", url: "https://example.com/t/{{1}}" },
      { type: "quick_reply", text: "Later" },
    ],
  });
  const examples = samplesOf("docs/content.md").filter(({ language }) => language === "json");
  assert.ok(examples.length >= 9 && first["id"] !== inbound);
  for (const { text, line } of examples) {
    const sample = text.replaceAll(/"media_\w{26}"/g, JSON.stringify(file["id"])).replaceAll(/"msg_\w{26}"/g, JSON.stringify(inbound));
    const example = JSON.parse(sample) as Json;
    const fields = "recipient" in example ? { ...example, recipient } : { content: example, recipient };
    const reply = await client.messages.post(whatsapp(fields));
    assert.equal(reply.status, 202, `docs/content.md:${line}\n${reply.text}`);
  }
});

describe("a content that cannot be sent", () => {
  const media = { type: "media", kind: "image", media_id: "media_01k9zs3v8mf4tb2xg1qj6n0d5c" };
  const button = (id: string, title: string) => ({ type: "reply", id, title });
  const row = (id: string) => ({ id, title: `Row ${id}` });
  const rows = (count: number, from = 0) => Array.from({ length: count }, (_, index) => row(String(index + from)));
  const cases: readonly (readonly [name: string, fields: object, faults: readonly string[]])[] = [
    ["beside a body", { body: "Hello", content: place }, ["/content conflict"]],
    ["beside a template", { template_id: "welcome", content: place }, ["/content conflict"]],
    ["of no type", { content: { text: "Hello" } }, ["/content/type required"]],
    ["of an unknown type", { content: { type: "video", url: "https://example.com" } }, ["/content/type invalid_value"]],
    ["that is a text", { content: "Hello" }, ["/content invalid_type"]],
    ["with an unknown field", { content: { ...place, zoom: 3 } }, ["/content/zoom unknown_field"]],
    ["with a place that is not on earth", { content: { ...place, latitude: 91 } }, ["/content/latitude out_of_range"]],
    [
      "with four buttons",
      { content: { ...buttons, buttons: ["1", "2", "3", "4"].map((id) => button(id, id)) } },
      ["/content/buttons too_many"],
    ],
    [
      "with two buttons of one id",
      { content: { ...buttons, buttons: [button("1", "A"), button("1", "B")] } },
      ["/content/buttons conflict"],
    ],
    ["with a long label", { content: { ...buttons, buttons: [button("1", "x".repeat(21))] } }, ["/content/buttons/0/title too_long"]],
    [
      "with a button of another type",
      { content: { ...buttons, buttons: [{ type: "copy", title: "Copy" }] } },
      ["/content/buttons/0/type invalid_value"],
    ],
    [
      "with a page and a reply",
      { content: { ...buttons, buttons: [button("1", "A"), { type: "url", title: "B", url: "https://example.com" }] } },
      ["/content/buttons not_supported"],
    ],
    [
      "with a phone button",
      { content: { ...buttons, buttons: [{ type: "phone", title: "Call", phone_number: "+14155550123" }] } },
      ["/content/buttons not_supported"],
    ],
    [
      "with eleven rows",
      {
        content: {
          ...list,
          sections: [
            { title: "A", rows: rows(6) },
            { title: "B", rows: rows(5, 6) },
          ],
        },
      },
      ["/content/sections too_many"],
    ],
    [
      "with sections without titles",
      { content: { ...list, sections: [{ rows: rows(1) }, { rows: rows(1, 1) }] } },
      ["/content/sections/0/title required", "/content/sections/1/title required"],
    ],
    ["with a file without a source", { content: { type: "media", kind: "image" } }, ["/content/media_id required"]],
    ["with two sources", { content: { ...media, url: "https://example.com/a.png" } }, ["/content/media_id conflict"]],
    ["with an unknown file", { content: media }, ["/content/media_id not_found"]],
    ["with a file that is no id", { content: { ...media, media_id: "picture" } }, ["/content/media_id not_found"]],
    ["with a sound above a text", { content: { ...buttons, header: { ...media, kind: "audio" } } }, ["/content/header/kind not_supported"]],
    ["with the name of a picture", { content: { ...media, file_name: "a.png" } }, ["/content/file_name conflict"]],
    [
      "with a path as the name",
      { content: { ...media, kind: "document", file_name: "../a\r\nB: c.pdf" } },
      ["/content/file_name invalid_format"],
    ],
    [
      "with a URL without TLS",
      { content: { type: "media", kind: "image", url: "http://192.0.2.1/a.png" } },
      ["/content/url media_fetch_failed"],
    ],
    ["with a URL without a host", { content: { type: "media", kind: "image", url: "https://" } }, ["/content/url invalid_format"]],
    [
      "with a page that has a space",
      { content: { ...buttons, buttons: [{ type: "url", title: "A", url: "https://example.com/a b" }] } },
      ["/content/buttons/0/url invalid_format"],
    ],
    [
      "with a birthday on February 30",
      { content: { type: "contacts", contacts: [{ name: { formatted_name: "Ana" }, birthday: "2026-02-30" }] } },
      ["/content/contacts/0/birthday invalid_format"],
    ],
    ["on sms", { channel: "sms", content: buttons }, ["/content not_supported"]],
    [
      "on sms in a step",
      { body: "Hello", fallback: [{ channel: "sms", content: list, after_seconds: 5 }] },
      ["/fallback/0/content not_supported"],
    ],
    ["as a quotation on sms", { channel: "sms", body: "Hello", reply_to: "msg_01k9zs3v8mf4tb2xg1qj6n0d5c" }, ["/reply_to not_supported"]],
    ["as a quotation of nothing", { body: "Hello", reply_to: "msg_01k9zs3v8mf4tb2xg1qj6n0d5c" }, ["/reply_to not_found"]],
    ["as a reaction to nothing", { content: { type: "reaction", message_id: "x", emoji: "\u{1f44d}" } }, ["/content/message_id not_found"]],
    ["that is too long for sms", { channel: "sms", content: { type: "text", text: "x".repeat(1_601) } }, ["/content/text too_long"]],
  ];
  for (const [name, fields, faults] of cases)
    test(`${name} is refused`, async () => {
      assert.deepEqual(await refused(fields), faults);
      const { json } = await client.request("POST", "/v1/messages/validate", { body: { recipient: RECIPIENT, ...whatsapp(fields) } });
      assert.equal(json["valid"], false);
      assert.deepEqual(
        (json["errors"] as Json[]).map(({ pointer, code }) => `${String(pointer)} ${String(code)}`),
        faults,
      );
    });

  test("is refused with the reason of its channel", async () => {
    const reply = await client.messages.post(whatsapp({ channel: "sms", content: buttons }));
    assert.match(reply.text, /cannot be sent on sms: it has no buttons/);
  });
});

describe("a message that quotes or reacts", () => {
  test("names the message, and comes from the number of the conversation", async () => {
    const first = await send(buttons, { recipient: "+15005550008" });
    await client.messages.reached(first["id"], "read");
    const [received] = await eventsOf({ type: "message.received" });
    const inbound = received?.data["message"] as Json;
    const reply = await client.messages.send(whatsapp({ recipient: "+15005550008", body: "Thank you", reply_to: inbound["id"] }));
    assert.partialDeepStrictEqual(reply, { in_reply_to: inbound["id"], sender: inbound["recipient"], sender_reason: "reply" });
    const reaction = await send({ type: "reaction", message_id: inbound["id"], emoji: "\u{1f44d}" }, { recipient: "+15005550008" });
    assert.partialDeepStrictEqual(reaction, { in_reply_to: inbound["id"], body: "\u{1f44d}" });
    await client.messages.reached(reaction["id"], "read");
    const elsewhere = { recipient: "+15005550008", body: "Hello", reply_to: inbound["id"], sender: "+14155550199" };
    assert.deepEqual(await refused(elsewhere), ["/sender conflict"]);
    assert.deepEqual(await refused({ recipient: recipientNo(9), body: "Hello", reply_to: inbound["id"] }), ["/reply_to conflict"]);
  });
});
