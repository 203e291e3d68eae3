/** POST /v1/messages: every field with its limits, and the stored record. Reading is in message-list.test.ts. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { decodeId } from "../../src/model/id.ts";
import { LIMIT_MS, assertProblem, faultsOf, pointersOf } from "../support/expect.ts";
import { eventsOf } from "../support/tables.ts";
import { sms, startGodwit, type Godwit, type Reply } from "../support/harness.ts";

let godwit: Godwit;
let key: string;
before(async () => {
  godwit = await startGodwit();
  await godwit.unlimited();
  key = await godwit.key();
});
after(() => godwit.stop());

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
const inMs = (ms: number): string => new Date(Date.now() + ms).toISOString();

const count = async (table: string): Promise<number> =>
  (await godwit.rows<{ n: number }>(`select count(*) as n from ${table}`))[0]?.n ?? -1;

describe("the record", () => {
  test("of the smallest message has every field with its default", async () => {
    const reply = await godwit.send(key);
    assert.equal(reply.status, 202);
    assert.equal(reply.headers.get("content-type"), "application/json; charset=utf-8");
    const { id, created_at: createdAt, expires_at: expiresAt, ...rest } = reply.json;
    assert.match(String(id), /^msg_[0-9a-hjkmnp-tv-z]{26}$/);
    assert.equal(reply.headers.get("location"), `/v1/messages/${String(id)}`);
    assert.match(String(createdAt), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    assert.ok(Math.abs(Date.parse(String(createdAt)) - Date.now()) < LIMIT_MS);
    assert.equal(Date.parse(String(expiresAt)) - Date.parse(String(createdAt)), 172_800_000);
    assert.deepEqual(rest, {
      object: "message",
      environment: "test",
      direction: "outbound",
      channel: "sms",
      recipient: "+14155550123",
      // The sender of the link, as the request has none.
      sender: "+15005550000",
      sender_reason: "link_default",
      link_reason: "simulator",
      body: "Your code is 123456",
      content: null,
      template_id: null,
      template_version: null,
      template_variables: null,
      status: "queued",
      sequence: 1,
      error: null,
      segments: { count: 1, encoding: "gsm7", characters: 19 },
      priority: "normal",
      client_reference: null,
      metadata: {},
      send_at: null,
      provider: null,
      fallback_of: null,
      in_reply_to: null,
      batch_id: null,
      source: null,
      updated_at: createdAt,
      sent_at: null,
      delivered_at: null,
      read_at: null,
      failed_at: null,
      canceled_at: null,
    });
  });

  test("of a message with all fields has the requested values", async () => {
    const asked = { sender: "Godwit", priority: "high", client_reference: "order 7/β", metadata: { order: "7" } };
    const reply = await godwit.send(key, { ...asked, ttl_seconds: 60, max_segments: 3 });
    assert.equal(reply.status, 202);
    for (const [name, value] of Object.entries(asked)) assert.deepEqual(reply.json[name], value, name);
    assert.equal(Date.parse(String(reply.json["expires_at"])) - Date.parse(String(reply.json["created_at"])), 60_000);
    assert.ok(!("max_segments" in reply.json) && !("ttl_seconds" in reply.json));
  });

  test("of a WhatsApp message has no segments", async () => {
    const reply = await godwit.send(key, { channel: "whatsapp", body: "héllo 👋" });
    assert.equal(reply.status, 202);
    assert.deepEqual([reply.json["channel"], reply.json["body"], reply.json["segments"]], ["whatsapp", "héllo 👋", null]);
  });

  test("keeps the order of metadata", async () => {
    const metadata = { zebra: "1", apple: "2", mango: "", "with space": "3", __proto__x: "4", é: "5" };
    const sent = await godwit.send(key, { metadata });
    const read = await godwit.request("GET", sent.headers.get("location") ?? "", { key });
    for (const { json } of [sent, read]) assert.deepEqual(Object.entries(json["metadata"] as object), Object.entries(metadata));
  });

  test("keeps metadata with names that have a meaning in JavaScript", async () => {
    const body = '{"recipient":"+14155550123","channel":"sms","body":"x","metadata":{"__proto__":"a","constructor":"b"}}';
    const sent = await godwit.request("POST", "/v1/messages", { key, body });
    assert.equal(sent.status, 202);
    assert.ok(sent.text.includes('"metadata":{"__proto__":"a","constructor":"b"}'));
    assert.equal((await godwit.request("GET", sent.headers.get("location") ?? "", { key })).text, sent.text);
  });

  test("that is read later equals the response and the event with the same bytes", async () => {
    const sent = await godwit.send(key, { body: 'quotes " and \\ and 👋', metadata: { a: "é" } });
    assert.equal((await godwit.request("GET", sent.headers.get("location") ?? "", { key })).text, sent.text);
    const events = await eventsOf(godwit, sent.json["id"]);
    assert.deepEqual(
      events.map(({ type, sequence, record }) => [type, sequence, record]),
      [["message.queued", 1, sent.text]],
    );
  });

  const RANKS = [
    ["high", 0],
    ["normal", 1],
    ["bulk", 2],
  ] as const;
  for (const [priority, rank] of RANKS) {
    test(`of priority ${priority} has one queue entry with rank ${rank}`, async () => {
      const sent = await godwit.send(key, { priority });
      const rows = await godwit.rows(
        "select priority, environment, due_at < now() + interval '1 minute' as is_due from delivery_queue where message_id = $1",
        [decodeId("msg", String(sent.json["id"]))],
      );
      assert.deepEqual(rows, [{ priority: rank, environment: "test", is_due: true }]);
    });
  }

  test("has exactly one event and one queue entry", async () => {
    await Promise.all(Array.from({ length: 60 }, () => godwit.send(key)));
    const messages = await count("messages");
    assert.deepEqual([await count("events"), await count("delivery_queue")], [messages, messages]);
  });
});

describe("send_at", () => {
  const queueRow = async ({ json }: Reply): Promise<unknown> =>
    (
      await godwit.rows<object>(
        "select link, state, due_at, expires_at, due_at < now() + interval '1 minute' as is_due from delivery_queue where message_id = $1",
        [decodeId("msg", String(json["id"]))],
      )
    )[0];
  const eventTypes = async ({ json }: Reply): Promise<string[]> =>
    (await godwit.rows<{ type: string }>("select type from events where message_id = $1", [decodeId("msg", String(json["id"]))])).map(
      ({ type }) => type,
    );

  test("in the future creates a scheduled message, whose queue entry is due then and whose time to live starts then", async () => {
    const sendAt = inMs(DAY_MS);
    const reply = await godwit.send(key, { send_at: sendAt, ttl_seconds: 60 });
    assert.equal(reply.status, 202, reply.text);
    assert.deepEqual([reply.json["status"], reply.json["sequence"], reply.json["send_at"]], ["scheduled", 1, sendAt]);
    const dueAt = new Date(sendAt);
    const expiresAt = new Date(dueAt.getTime() + 60_000);
    assert.equal(reply.json["expires_at"], expiresAt.toISOString());
    assert.deepEqual(await queueRow(reply), { link: "@scheduled", state: 0, due_at: dueAt, expires_at: expiresAt, is_due: false });
    assert.deepEqual(await eventTypes(reply), ["message.scheduled"]);
    assert.equal((await godwit.request("GET", reply.headers.get("location") ?? "", { key })).text, reply.text);
  });

  test("in the recent past means now", async () => {
    const sendAt = inMs(-1_000);
    const reply = await godwit.send(key, { send_at: sendAt, ttl_seconds: 60 });
    assert.equal(reply.status, 202, reply.text);
    assert.deepEqual([reply.json["status"], reply.json["send_at"]], ["queued", sendAt]);
    const expiresAt = new Date(Date.parse(String(reply.json["created_at"])) + 60_000);
    assert.equal(reply.json["expires_at"], expiresAt.toISOString());
    const { due_at: _, ...row } = (await queueRow(reply)) as { due_at: Date };
    assert.deepEqual(row, { link: "simulator", state: 0, expires_at: expiresAt, is_due: true });
    assert.deepEqual(await eventTypes(reply), ["message.queued"]);
  });

  test("is returned in UTC with milliseconds, from any notation", async () => {
    const sendAt = inMs(DAY_MS);
    const inIndia = new Date(Date.parse(sendAt) + 5.5 * 3_600_000).toISOString().replace("Z", "999+05:30");
    const reply = await godwit.send(key, { send_at: inIndia.replace("T", "t") });
    assert.equal(reply.status, 202, reply.text);
    assert.equal(reply.json["send_at"], sendAt);
  });
});

describe("segments", () => {
  const ROWS: readonly (readonly [string, string, { count: number; encoding: string; characters: number }])[] = [
    ["of 160 GSM characters", "a".repeat(160), { count: 1, encoding: "gsm7", characters: 160 }],
    ["of 161 GSM characters", "a".repeat(161), { count: 2, encoding: "gsm7", characters: 161 }],
    ["of 306 GSM characters", "a".repeat(306), { count: 2, encoding: "gsm7", characters: 306 }],
    ["of 307 GSM characters", "a".repeat(307), { count: 3, encoding: "gsm7", characters: 307 }],
    ["of 80 GSM characters that count twice", "€".repeat(80), { count: 1, encoding: "gsm7", characters: 80 }],
    ["of 81 GSM characters that count twice", "€".repeat(81), { count: 2, encoding: "gsm7", characters: 81 }],
    ["of 70 other characters", "я".repeat(70), { count: 1, encoding: "ucs2", characters: 70 }],
    ["of 71 other characters", "я".repeat(71), { count: 2, encoding: "ucs2", characters: 71 }],
    ["of 35 surrogate pairs", "😀".repeat(35), { count: 1, encoding: "ucs2", characters: 35 }],
    ["of 67 surrogate pairs, of which none is split,", "😀".repeat(67), { count: 3, encoding: "ucs2", characters: 67 }],
    ["of 1,600 surrogate pairs", "😀".repeat(1_600), { count: 49, encoding: "ucs2", characters: 1_600 }],
  ];
  for (const [what, body, segments] of ROWS) {
    test(`${what} are ${segments.count} in ${segments.encoding}`, async () => {
      assert.deepEqual((await godwit.send(key, { body })).json["segments"], segments);
    });
  }

  test("beyond max_segments are refused, and max_segments itself is accepted", async () => {
    const body = "a".repeat(161);
    assert.equal((await godwit.send(key, { body, max_segments: 2 })).status, 202);
    const already = await count("messages");
    const refused = await godwit.send(key, { body, max_segments: 1 });
    assertProblem(refused, "max_segments_exceeded");
    assert.deepEqual(pointersOf(refused), ["/max_segments"]);
    assert.equal(await count("messages"), already);
  });
});

/** Returns metadata with `count` names, each with a value of so many characters. */
const metadataOf = (names: number, characters: number): Record<string, string> =>
  Object.fromEntries(Array.from({ length: names }, (_, index) => [`name${index}`, "v".repeat(characters)]));

describe("fields", () => {
  const TAKEN: readonly (readonly [string, object])[] = [
    ["the shortest number of a country", { recipient: "+2907123" }],
    ["the longest number of a country", { recipient: "+4915112345678" }],
    ["the number of a satellite phone", { recipient: "+881612345678" }],
    ["a body of one character", { body: "x" }],
    ["a body of white space", { body: " " }],
    ["a body of 1,600 characters", { body: "a".repeat(1_600) }],
    ["a whatsapp body of 4,096 characters", { channel: "whatsapp", body: "😀".repeat(3_000) + "a".repeat(1_096) }],
    ["a number as sender", { sender: "+14155550100" }],
    ["a short code as sender", { sender: "12345" }],
    ["a name of eleven characters as sender", { sender: "Godwit & Co" }],
    // Five minutes of reserve, as the rows are built long before the last of them is sent.
    ["a time almost 35 days ahead", { send_at: inMs(35 * DAY_MS - 5 * MINUTE_MS) }],
    ["a time almost a day ago", { send_at: inMs(-DAY_MS + 60 * MINUTE_MS) }],
    ["a time to live of 30 seconds", { ttl_seconds: 30 }],
    ["a time to live of 172,800 seconds", { ttl_seconds: 172_800 }],
    ["bulk", { priority: "bulk" }],
    ["a reference of 128 characters of any width", { client_reference: "😀".repeat(128) }],
    ["50 names in metadata", { metadata: metadataOf(50, 1) }],
    ["a name of 40 characters of any width", { metadata: { ["é".repeat(40)]: "x" } }],
    ["a value of 500 characters", { metadata: { a: "x".repeat(500) } }],
    ["max_segments of 255", { max_segments: 255 }],
    [
      "null for every optional field",
      {
        template_id: null,
        template_variables: null,
        sender: null,
        send_at: null,
        ttl_seconds: null,
        priority: null,
        client_reference: null,
        metadata: null,
        fallback: null,
        max_segments: null,
      },
    ],
  ];
  for (const [what, fields] of TAKEN) {
    test(`accepted: ${what}`, async () => {
      const reply = await godwit.send(key, fields);
      assert.equal(reply.status, 202, reply.text);
    });
  }

  const REFUSED: readonly (readonly [string, object, pointer: string, code: string])[] = [
    ["no recipient", { recipient: undefined }, "/recipient", "required"],
    ["null as recipient", { recipient: null }, "/recipient", "invalid_type"],
    ["a number as a number", { recipient: 14_155_550_123 }, "/recipient", "invalid_type"],
    ["a number without a plus sign", { recipient: "14155550123" }, "/recipient", "invalid_format"],
    ["a number with spaces", { recipient: "+1 415 555 0123" }, "/recipient", "invalid_format"],
    ["a number that begins with zero", { recipient: "+0155550123" }, "/recipient", "invalid_format"],
    ["a number of six digits", { recipient: "+290712" }, "/recipient", "invalid_format"],
    ["a number of sixteen digits", { recipient: "+1415555012345678" }, "/recipient", "invalid_format"],
    ["a number with a line feed", { recipient: "+14155550123\n" }, "/recipient", "invalid_format"],
    ["digits of another script", { recipient: "+١٤١٥٥٥٥٠١٢٣" }, "/recipient", "invalid_format"],
    ["a number too short for its country", { recipient: "+1415555" }, "/recipient", "impossible_number"],
    ["a number too long for its country", { recipient: "+141555501234" }, "/recipient", "impossible_number"],
    ["a number of an unknown country", { recipient: "+99955501234" }, "/recipient", "impossible_number"],
    ["no channel", { channel: undefined }, "/channel", "required"],
    ["an unknown channel", { channel: "fax" }, "/channel", "invalid_value"],
    ["a channel in upper case", { channel: "SMS" }, "/channel", "invalid_value"],
    ["neither body nor template", { body: undefined }, "/body", "required"],
    ["null for body and template", { body: null, template_id: null }, "/body", "required"],
    ["an empty body", { body: "" }, "/body", "too_short"],
    ["a body of 1,601 characters on sms", { body: "a".repeat(1_601) }, "/body", "too_long"],
    ["a body of 4,097 characters on whatsapp", { channel: "whatsapp", body: "a".repeat(4_097) }, "/body", "too_long"],
    ["a body that is a number", { body: 123_456 }, "/body", "invalid_type"],
    ["body and template", { template_id: "welcome" }, "/template_id", "conflict"],
    ["variables without a template", { template_variables: { name: "x" } }, "/template_variables", "conflict"],
    ["a sender of twelve characters", { sender: "Godwit & Co." }, "/sender", "invalid_format"],
    ["a sender of two digits", { sender: "12" }, "/sender", "invalid_format"],
    ["an empty sender", { sender: "" }, "/sender", "invalid_format"],
    ["a time to live of 29 seconds", { ttl_seconds: 29 }, "/ttl_seconds", "out_of_range"],
    ["a time to live of 172,801 seconds", { ttl_seconds: 172_801 }, "/ttl_seconds", "out_of_range"],
    ["a time to live with a fraction", { ttl_seconds: 60.5 }, "/ttl_seconds", "invalid_type"],
    ["a time to live as a string", { ttl_seconds: "60" }, "/ttl_seconds", "invalid_type"],
    ["an unknown priority", { priority: "urgent" }, "/priority", "invalid_value"],
    ["a reference of 129 characters", { client_reference: "a".repeat(129) }, "/client_reference", "too_long"],
    ["an empty reference", { client_reference: "" }, "/client_reference", "too_short"],
    ["51 names in metadata", { metadata: metadataOf(51, 1) }, "/metadata", "too_many"],
    ["a name of 41 characters", { metadata: { ["n".repeat(41)]: "x" } }, `/metadata/${"n".repeat(41)}`, "too_long"],
    ["a value of 501 characters", { metadata: { a: "x".repeat(501) } }, "/metadata/a", "too_long"],
    ["a value that is a number", { metadata: { "a/b~c": 1 } }, "/metadata/a~1b~0c", "invalid_type"],
    ["a number under a name with a line feed", { metadata: { "a\nb": 1 } }, "/metadata/a\nb", "invalid_type"],
    ["an object under a name with a line feed", { metadata: { "\n": { deep: true } } }, "/metadata/\n", "invalid_type"],
    ["metadata that is a list", { metadata: ["x"] }, "/metadata", "invalid_type"],
    ["max_segments of zero", { max_segments: 0 }, "/max_segments", "out_of_range"],
    ["max_segments of 256", { max_segments: 256 }, "/max_segments", "out_of_range"],
    ["an invalid time", { send_at: "2030-02-30T09:00:00Z" }, "/send_at", "invalid_format"],
    ["a time without an offset", { send_at: "2030-01-31T09:00:00" }, "/send_at", "invalid_format"],
    ["a leap second", { send_at: "2016-12-31T23:59:60Z" }, "/send_at", "invalid_format"],
    ["a time as a number", { send_at: 1_900_000_000 }, "/send_at", "invalid_type"],
    ["a time more than 35 days ahead", { send_at: inMs(35 * DAY_MS + 60 * MINUTE_MS) }, "/send_at", "too_far"],
    ["a time more than a day ago", { send_at: inMs(-DAY_MS - MINUTE_MS) }, "/send_at", "in_the_past"],
    ["an empty fallback", { fallback: [] }, "/fallback", "too_few"],
    ["a fallback without a delay", { fallback: [{ channel: "sms", body: "x" }] }, "/fallback/0/after_seconds", "required"],
    ["an unknown field", { color: "red" }, "/color", "unknown_field"],
    ["a field in another case", { Body: "x" }, "/Body", "unknown_field"],
  ];
  for (const [what, fields, pointer, code] of REFUSED) {
    test(`refused: ${what}`, async () => {
      const reply = await godwit.send(key, fields);
      assertProblem(reply, "invalid_request_payload");
      assert.deepEqual(
        faultsOf(reply).map((fault) => [fault.pointer, fault.code]),
        [[pointer, code]],
      );
    });
  }

  test("the fields of other messaging APIs are refused with the names of ours", async () => {
    const reply = await godwit.request("POST", "/v1/messages", {
      key,
      body: { to: "+14155550123", from: "Godwit", text: "x", sendAt: "x" },
    });
    assertProblem(reply, "invalid_request_payload");
    assert.deepEqual(
      faultsOf(reply).flatMap(({ pointer, code, detail }) => (code === "unknown_field" ? [[pointer, detail]] : [])),
      [
        ["/to", "recipient"],
        ["/from", "sender"],
        ["/text", "body"],
        ["/sendAt", "send_at"],
      ].map(([pointer, field]) => [pointer, `is not a known field; did you mean ${field}?`]),
    );
  });

  test("a field with the name __proto__ is an unknown field", async () => {
    const body = '{"recipient":"+14155550123","channel":"sms","__proto__":{"body":"x"}}';
    const reply = await godwit.request("POST", "/v1/messages", { key, body });
    assertProblem(reply, "invalid_request_payload");
    assert.deepEqual(new Set(pointersOf(reply)), new Set(["/__proto__", "/body"]));
  });

  test("an unexpected query parameter is refused by its name", async () => {
    const reply = await godwit.request("POST", "/v1/messages?dry_run=true", { key, body: sms() });
    assertProblem(reply, "invalid_request_payload");
    assert.deepEqual(
      faultsOf(reply).map(({ parameter, code }) => [parameter, code]),
      [["dry_run", "unknown_field"]],
    );
  });

  test("a record of 16,384 bytes is accepted, and one byte more is refused", async () => {
    const withSpare = (spare: number): Promise<Reply> =>
      godwit.send(key, { metadata: { ...metadataOf(33, 450), spare: "v".repeat(spare) } });
    const small = await withSpare(0);
    const room = 16_384 - Buffer.byteLength(small.text);
    assert.ok(room > 0 && room < 500, "the remaining size fits into one value");
    const whole = await withSpare(room);
    assert.equal(whole.status, 202);
    assert.equal(Buffer.byteLength(whole.text), 16_384);
    const refused = await withSpare(room + 1);
    assertProblem(refused, "invalid_request_payload");
    assert.deepEqual(
      faultsOf(refused).map(({ pointer, code }) => [pointer, code]),
      [["", "too_large"]],
    );
  });
});
