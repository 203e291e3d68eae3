/** Changes of a sent message by the client: cancel, edit while it is scheduled, and redact once its status is final. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { STATUSES } from "../../src/messages/states.ts";
import { clientOf, clientOfAccount, afterSeconds, typesOf, type Client, type Json } from "../support/client.ts";
import { assertProblem, assertRefused, faultsOf, pointersOf } from "../support/expect.ts";
import { startGodwit, type Godwit, type Reply, type RequestOptions } from "../support/harness.ts";
import { assertFirst, assertReplayOf, isStored } from "../support/replay.ts";
import { eventsOf, queueRowOf, setStatus } from "../support/tables.ts";

const NO_MESSAGE = "msg_01k9zs3v8mf4tb2xg1qj6n0d5c";
const HOUR_MS = 3_600_000;

let godwit: Godwit;
let client: Client;
before(async () => {
  godwit = await startGodwit();
  await godwit.unlimited();
  client = clientOf(godwit, await godwit.key());
});
after(() => godwit.stop());

const scheduled = (extra: object = {}): Promise<Json> => client.messages.send({ send_at: afterSeconds(3_600), ...extra });

/** Returns a record without the members that every change modifies. */
const steady = ({ status: _status, sequence: _sequence, updated_at: _updatedAt, ...rest }: Json): Json => rest;

async function finished(extra: object = {}): Promise<Json> {
  const { id } = await client.messages.send(extra);
  const reply = await client.messages.cancel(id);
  assertFirst(reply, 200);
  return reply.json;
}

/** Asserts that the message was not changed. */
async function assertUntouched(record: Json): Promise<void> {
  assert.deepEqual(await client.messages.read(record["id"]), record);
  assert.equal((await eventsOf(godwit, record["id"])).length, record["sequence"]);
}

type Change = { name: string; method: string; path: string; make: () => Promise<Json>; body?: object };
const CHANGES: readonly Change[] = [
  { name: "cancel", method: "POST", path: "/cancel", make: () => client.messages.send() },
  { name: "edit", method: "PATCH", path: "", make: () => scheduled(), body: { priority: "high" } },
  { name: "redact", method: "POST", path: "/redact", make: () => finished() },
];

for (const { name, method, path, make, body } of CHANGES) {
  const change = (id: unknown, options: RequestOptions = {}): Promise<Reply> =>
    client.request(method, `/v1/messages/${String(id)}${path}`, { ...(body === undefined ? {} : { body }), ...options });

  describe(`the request to ${name} a message`, () => {
    test("is a 404 for an unknown message, which is not stored for its key", async () => {
      for (const id of [NO_MESSAGE, "msg_x", NO_MESSAGE.toUpperCase(), NO_MESSAGE.replace("msg", "evt"), "x".repeat(300), "%F0%9F%90%A6"]) {
        const key = randomUUID();
        assertProblem(await change(id, { idempotencyKey: key }), "not_found");
        assert.equal(await isStored(godwit, key), false);
      }
    });

    test("is a 404 for a message of another account or environment, and does not change it", async () => {
      const record = await make();
      const others = [await godwit.key({ account: `neighbor ${name}` }), await godwit.key({ environment: "live" })];
      await godwit.unlimited();
      for (const key of others) assertProblem(await change(record["id"], { key }), "not_found");
      assert.deepEqual(await client.messages.read(record["id"]), record);
      assertFirst(await change(record["id"]), 200);
    });

    test("requires the scope messages:send", async () => {
      const { id, ...rest } = await make();
      const key = await godwit.key({ scopes: ["messages:read", "usage:read"] });
      const reply = await change(id, { key });
      assertProblem(reply, "forbidden_insufficient_scope");
      assert.deepEqual(reply.json["required_scopes"], ["messages:send"]);
      assert.deepEqual(await client.messages.read(id), { id, ...rest });
      assertFirst(await change(id, { key: await godwit.key({ scopes: ["messages:send"] }) }), 200);
    });

    test("has one method", async () => {
      const { id } = await make();
      for (const wrong of ["PUT", "DELETE", ...(path === "" ? ["POST"] : ["GET", "PATCH"])]) {
        const reply = await client.request(wrong, `/v1/messages/${String(id)}${path}`);
        assertProblem(reply, "method_not_allowed");
        assert.equal(reply.headers.get("allow"), path === "" ? "GET, HEAD, PATCH" : "POST");
      }
    });

    test("refuses query parameters and an invalid key", async () => {
      const record = await make();
      const url = `/v1/messages/${String(record["id"])}${path}?force=1`;
      assertProblem(await client.request(method, url, body === undefined ? {} : { body }), "invalid_request_payload");
      assertProblem(await change(record["id"], { idempotencyKey: "7" }), "invalid_idempotency_key");
      assert.deepEqual(await client.messages.read(record["id"]), record);
    });
  });
}

describe("cancel", () => {
  for (const status of ["queued", "scheduled"] as const) {
    test(`changes a ${status} message to canceled, creates an event, and removes the message from the queue`, async () => {
      const message = status === "queued" ? await client.messages.send({ metadata: { a: "b" } }) : await scheduled();
      const { id } = message;
      assert.equal(message["status"], status);
      assert.ok((await queueRowOf(godwit, id)) !== undefined);
      const reply = await client.messages.cancel(id, { idempotencyKey: randomUUID() });
      assertFirst(reply, 200);
      assert.equal(reply.headers.get("content-type"), "application/json; charset=utf-8");
      assert.equal(reply.headers.get("location"), null);
      const { canceled_at: canceledAt, ...rest } = reply.json;
      assert.deepEqual({ ...steady(rest), canceled_at: null }, steady(message));
      assert.equal(rest["status"], "canceled");
      assert.equal(rest["sequence"], 2);
      assert.equal(canceledAt, rest["updated_at"]);
      assert.ok(Date.parse(String(canceledAt)) > Date.parse(String(message["created_at"])));
      assert.deepEqual(await client.messages.read(id), reply.json);
      assert.equal(await queueRowOf(godwit, id), undefined);
      const [first, second, ...more] = await eventsOf(godwit, id);
      assert.deepEqual(more, []);
      assert.equal(first?.type, `message.${status}`);
      assert.deepEqual(second, {
        type: "message.canceled",
        sequence: 2,
        previous_status: status,
        is_ignored: false,
        record: reply.text,
      });
    });
  }

  for (const status of STATUSES.filter((each) => !["scheduled", "queued"].includes(each))) {
    test(`of a message that is ${status} is refused, and the refusal is stored for its key`, async () => {
      const { id } = await client.messages.send();
      await setStatus(godwit, id, status);
      const record = await client.messages.read(id);
      const idempotencyKey = randomUUID();
      const reply = await client.messages.cancel(id, { idempotencyKey });
      assertProblem(reply, "message_not_cancelable");
      assertRefused(reply, "message_not_cancelable", status);
      await assertUntouched(record);
      // The refusal is replayed even if the message could be canceled by now.
      await setStatus(godwit, id, "queued");
      assertReplayOf(reply, await client.messages.cancel(id, { idempotencyKey }));
      assert.equal((await client.messages.read(id))["status"], "queued");
      assertFirst(await client.messages.cancel(id, { idempotencyKey: randomUUID() }), 200);
    });
  }

  test("needs no body, and refuses a field", async () => {
    const options: RequestOptions[] = [{}, { body: {} }, { headers: { "content-type": "application/json" } }];
    for (const each of options) assertFirst(await client.messages.cancel((await client.messages.send())["id"], each), 200);
    const { id } = await client.messages.send();
    assertProblem(await client.messages.cancel(id, { body: { reason: "x" } }), "invalid_request_payload");
    assert.equal((await client.messages.read(id))["status"], "queued");
  });

  test("is counted in the usage, and the message does not wait any more", async () => {
    const own = await clientOfAccount(godwit, "counted");
    const [{ id: first }, { id: second }] = [await own.messages.send(), await own.messages.send({ send_at: afterSeconds(60) })];
    for (const id of [first, second]) assertFirst(await own.messages.cancel(id), 200);
    const { scheduled: waiting, queued, sending } = (await own.request("GET", "/v1/queue")).json;
    assert.deepEqual({ waiting, queued, sending }, { waiting: 0, queued: 0, sending: 0 });
    const { messages, by_status: byStatus } = (await own.request("GET", "/v1/usage")).json["totals"] as Json;
    assert.deepEqual({ messages, byStatus }, { messages: 2, byStatus: { canceled: 2 } });
    const listed = (await own.request("GET", "/v1/messages?status=canceled")).json["data"] as Json[];
    assert.deepEqual(new Set(listed.map(({ id }) => id)), new Set([first, second]));
  });
});

describe("edit", () => {
  const TTL_MS = 172_800_000;
  const [earlier, later] = [afterSeconds(1_800), afterSeconds(2 * 86_400)];
  const long = "x".repeat(200);
  type Row = readonly [what: string, request: Json, changed: Json, queued?: { dueAt?: string; rank?: number }];
  const EDITS: readonly Row[] = [
    ["of send_at to an earlier time", { send_at: earlier }, { send_at: earlier, expires_at: at(earlier, TTL_MS) }, { dueAt: earlier }],
    ["of send_at to a later time", { send_at: later }, { send_at: later, expires_at: at(later, TTL_MS) }, { dueAt: later }],
    ["of the text", { body: long }, { body: long, segments: { count: 2, encoding: "gsm7", characters: 200 } }],
    ["of the text with other characters", { body: "Код" }, { body: "Код", segments: { count: 1, encoding: "ucs2", characters: 3 } }],
    ["metadata", { metadata: { c: "d" } }, { metadata: { c: "d" } }],
    ["of metadata to none", { metadata: {} }, { metadata: {} }],
    ["of the priority to high", { priority: "high" }, { priority: "high" }, { rank: 0 }],
    ["of the priority to bulk", { priority: "bulk" }, { priority: "bulk" }, { rank: 2 }],
    [
      "everything",
      { send_at: later, body: "é", metadata: { é: "ü" }, ttl_seconds: 30, priority: "bulk" },
      {
        send_at: later,
        expires_at: at(later, 30_000),
        body: "é",
        segments: { count: 1, encoding: "gsm7", characters: 1 },
        metadata: { é: "ü" },
        priority: "bulk",
      },
      { dueAt: later, rank: 2 },
    ],
    [
      "of one field beside others that are null",
      { priority: "high", send_at: null, body: null, metadata: null },
      { priority: "high" },
      { rank: 0 },
    ],
  ];

  for (const [what, request, changed, { dueAt, rank = 1 } = {}] of EDITS) {
    test(`${what} changes only that`, async () => {
      const message = await scheduled({ metadata: { a: "b" }, client_reference: "r", sender: "Godwit" });
      const { id } = message;
      const reply = await client.messages.edit(id, request, { idempotencyKey: randomUUID() });
      assertFirst(reply, 200);
      const { updated_at: updatedAt, ...rest } = reply.json;
      const expiresAt = new Date(String(rest["expires_at"]));
      assert.deepEqual(rest, { ...steady(message), ...changed, status: "scheduled", sequence: 2 });
      assert.ok(Date.parse(String(updatedAt)) > Date.parse(String(message["updated_at"])));
      assert.deepEqual(await client.messages.read(id), reply.json);
      const entry = await queueRowOf(godwit, id);
      assert.deepEqual(
        { link: entry?.link, rank: entry?.priority, dueAt: entry?.due_at, expiresAt: entry?.expires_at },
        { link: "@scheduled", rank, dueAt: new Date(String(dueAt ?? message["send_at"])), expiresAt },
      );
      const [, second, ...more] = await eventsOf(godwit, id);
      assert.deepEqual(more, []);
      assert.deepEqual(second, {
        type: "message.scheduled",
        sequence: 2,
        previous_status: "scheduled",
        is_ignored: false,
        record: reply.text,
      });
    });
  }

  function at(time: string, laterMs: number): string {
    return new Date(Date.parse(time) + laterMs).toISOString();
  }

  test("keeps the time to live, which counts from send_at, when send_at changes", async () => {
    const { id, send_at: sendAt } = await scheduled({ ttl_seconds: 60 });
    const live = (await client.messages.edit(id, { ttl_seconds: 90 })).json;
    assert.equal(live["expires_at"], at(String(sendAt), 90_000));
    const moved = (await client.messages.edit(id, { send_at: later })).json;
    assert.equal(moved["expires_at"], at(later, 90_000));
    assert.equal(moved["sequence"], 3);
  });

  test("to a time in the past means now, and further edits do not extend the time to live", async () => {
    const { id } = await scheduled({ ttl_seconds: 60 });
    const askedAt = Date.now();
    const passed = (await client.messages.edit(id, { send_at: afterSeconds(-3_600) })).json;
    const timeToLiveMs = (record: Json): number => Date.parse(String(record["expires_at"])) - askedAt;
    assert.equal(passed["status"], "scheduled");
    const latestMs = Date.now() - askedAt + 61_000;
    assert.ok(timeToLiveMs(passed) >= 59_000 && timeToLiveMs(passed) <= latestMs, `${timeToLiveMs(passed)}`);
    assert.ok(((await queueRowOf(godwit, id))?.due_at.getTime() ?? Infinity) <= Date.now() + 1_000, "the message is due");
    for (const edit of [{ metadata: { a: "b" } }, { priority: "high" }, { send_at: afterSeconds(-HOUR_MS / 1_000) }, { body: "x" }]) {
      const reply = await client.messages.edit(id, edit);
      assertFirst(reply, 200);
      assert.ok(timeToLiveMs(reply.json) <= latestMs, `${JSON.stringify(edit)} results in ${timeToLiveMs(reply.json)}`);
    }
    const moved = (await client.messages.edit(id, { send_at: later })).json;
    assert.equal(moved["expires_at"], at(later, 60_000));
  });

  test("increases the sequence without gaps, each time with an event", async () => {
    const { id } = await scheduled();
    for (let count = 0; count < 5; count += 1) {
      const { sequence } = (await client.messages.edit(id, { metadata: { count: String(count) } })).json;
      assert.equal(sequence, count + 2);
    }
    assertFirst(await client.messages.cancel(id), 200);
    const events = await eventsOf(godwit, id);
    assert.deepEqual(
      events.map(({ sequence, previous_status: previous }) => [sequence, previous]),
      [[1, null], ...[2, 3, 4, 5, 6].map((sequence) => [sequence, "scheduled"]), [7, "scheduled"]],
    );
    assert.deepEqual(typesOf(await client.messages.timeline(id)), [
      ...Array.from({ length: 6 }, () => "message.scheduled"),
      "message.canceled",
    ]);
  });

  const FAULTS: readonly (readonly [what: string, request: unknown, pointer: string, code?: string])[] = [
    ["without a field", {}, "", "required"],
    ["with only nulls", { body: null, send_at: null }, "", "required"],
    ["with an unknown field", { priority: "high", color: "red" }, "/color"],
    ["with a field that cannot be edited", { recipient: "+14155550124" }, "/recipient"],
    ["with a body that is not an object", [], ""],
    ["with a number as the text", { body: 5 }, "/body"],
    ["with an empty text", { body: "" }, "/body"],
    ["with a text that is too long for SMS", { body: "x".repeat(1_601) }, "/body", "too_long"],
    ["with a text that is too long for any channel", { body: "x".repeat(4_097) }, "/body"],
    ["with a time more than 35 days ahead", { send_at: afterSeconds(36 * 86_400) }, "/send_at", "too_far"],
    ["with a time more than a day ago", { send_at: afterSeconds(-86_400 - 60) }, "/send_at", "in_the_past"],
    ["with an invalid time", { send_at: "tomorrow" }, "/send_at"],
    ["with a time to live that is too short", { ttl_seconds: 29 }, "/ttl_seconds"],
    ["with a time to live that is too long", { ttl_seconds: 172_801 }, "/ttl_seconds"],
    ["with an unknown priority", { priority: "urgent" }, "/priority"],
    ["with numbers in metadata", { metadata: { a: 1 } }, "/metadata/a"],
  ];
  for (const [what, request, pointer, code] of FAULTS) {
    test(`${what} is a 400 that changes nothing and leaves its key unused`, async () => {
      const message = await scheduled();
      const key = randomUUID();
      const reply = await client.messages.edit(message["id"], request, { idempotencyKey: key });
      assertProblem(reply, "invalid_request_payload");
      assert.deepEqual(pointersOf(reply), [pointer]);
      if (code !== undefined) assert.equal(faultsOf(reply)[0]?.code, code);
      await assertUntouched(message);
      assert.equal(await isStored(godwit, key), false);
      assertFirst(await client.messages.edit(message["id"], { priority: "high" }, { idempotencyKey: key }), 200);
    });
  }

  test("to a record of more than 16 kB is a 400 that changes nothing", async () => {
    const message = await client.messages.send({ channel: "whatsapp", body: "x", send_at: afterSeconds(60) });
    const metadata = Object.fromEntries(Array.from({ length: 40 }, (_, index) => [`key${index}`, "v".repeat(390)]));
    assertProblem(await client.messages.edit(message["id"], { metadata, body: "y".repeat(4_000) }), "invalid_request_payload");
    await assertUntouched(message);
    const both = [{ body: "y".repeat(4_000) }, { metadata: { a: "b" } }];
    for (const each of both) assertFirst(await client.messages.edit(message["id"], each), 200);
    assert.equal((await client.messages.read(message["id"]))["segments"], null, "there are no segments on WhatsApp");
  });

  const REFUSALS: readonly (readonly [what: string, message: object, request: Json, code: string, pointer: string])[] = [
    ["to more segments than max_segments", { max_segments: 1 }, { body: "x".repeat(161) }, "max_segments_exceeded", "/body"],
  ];
  for (const [what, extra, request, code, pointer] of REFUSALS) {
    test(`${what} is refused, and the refusal is stored for its key`, async () => {
      const message = await scheduled(extra);
      const idempotencyKey = randomUUID();
      const reply = await client.messages.edit(message["id"], request, { idempotencyKey });
      assert.equal(reply.status, 422, reply.text);
      assert.equal(reply.json["code"], code);
      assert.deepEqual(pointersOf(reply), [pointer]);
      assertReplayOf(reply, await client.messages.edit(message["id"], request, { idempotencyKey }));
      await assertUntouched(message);
      assertFirst(await client.messages.edit(message["id"], { body: "x".repeat(160) }), 200);
    });
  }

  for (const status of STATUSES.filter((each) => each !== "scheduled")) {
    test(`of a message that is ${status} is refused, and the refusal is stored for its key`, async () => {
      const { id } = await scheduled();
      await setStatus(godwit, id, status);
      const record = await client.messages.read(id);
      const idempotencyKey = randomUUID();
      const reply = await client.messages.edit(id, { priority: "high" }, { idempotencyKey });
      assertProblem(reply, "message_not_editable");
      assertRefused(reply, "message_not_editable", status);
      await setStatus(godwit, id, "scheduled");
      assertReplayOf(reply, await client.messages.edit(id, { priority: "high" }, { idempotencyKey }));
      await assertUntouched({ ...record, status: "scheduled" });
    });
  }
});
