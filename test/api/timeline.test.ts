/** GET /v1/messages/{id}/events: the timeline of a message, newest first. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { Ajv2020 } from "ajv/dist/2020.js";
import { isDateTime } from "../../src/lib/time.ts";
import {
  clientOf,
  afterSeconds,
  recordOf,
  search,
  typesOf,
  walk,
  type Client,
  type TimelineEntry,
  type Json,
  type Page,
} from "../support/client.ts";
import { assertCommonHeaders, assertProblem, faultsOf } from "../support/expect.ts";
import { startGodwit, type Godwit, type Reply } from "../support/harness.ts";
import { assertFirst } from "../support/replay.ts";
import { eventsOf } from "../support/tables.ts";

const NO_MESSAGE = "msg_01k9zs3v8mf4tb2xg1qj6n0d5c";
const SECRET = "the eagle lands at noon";
type Timeline = Page<TimelineEntry>;

let godwit: Godwit;
let client: Client;
let id: string;
before(async () => {
  godwit = await startGodwit({ roles: "api,dispatch", simulatorSpeed: 10 });
  await godwit.unlimited();
  client = clientOf(godwit, await godwit.key());
  // The message is throttled twice, then delivered and read: its timeline has attempts and receipts.
  id = String(
    (await client.messages.send({ recipient: "+15005550012", channel: "whatsapp", body: SECRET, metadata: { a: SECRET } }))["id"],
  );
  await client.messages.reached(id, "read");
});
after(() => godwit.stop());

const ask = (message: string, query = ""): Promise<Reply> => client.request("GET", `/v1/messages/${message}/events${query}`);

const page = async (message: string, query = ""): Promise<Timeline> => recordOf(await ask(message, query)) as Timeline;

const pages = (message: string, limit: number): Promise<Timeline[]> =>
  walk((query) => page(message, search(query)), { limit: String(limit) });

/** Asserts that the response matches its schema in the OpenAPI document. */
async function assertDeclared({ json, text }: Reply): Promise<void> {
  const document = (await client.request("GET", "/openapi.json")).json;
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  ajv.addFormat("date-time", isDateTime);
  ajv.addSchema(document, "openapi.json");
  const path = encodeURIComponent("/v1/messages/{id}/events".replaceAll("/", "~1"));
  const validate = ajv.compile({ $ref: `openapi.json#/paths/${path}/get/responses/200/content/application~1json/schema` });
  assert.ok(validate(json), `${JSON.stringify(validate.errors)}\n${text}`);
}

describe("a timeline", () => {
  test("matches its schema, is newest first, and contains no text of the message", async () => {
    const reply = await ask(id);
    assertCommonHeaders(reply);
    assert.equal(reply.headers.get("content-type"), "application/json; charset=utf-8");
    await assertDeclared(reply);
    const { data, has_more: hasMore, next_cursor: next } = reply.json as Timeline;
    assert.deepEqual([hasMore, next], [false, null]);
    assert.deepEqual(typesOf(data), [
      "message.read",
      "message.delivered",
      "message.sent",
      "message.sending",
      "message.queued",
      "message.sending",
      "message.queued",
      "message.sending",
      "message.queued",
    ]);
    for (const { id: entryId } of data) assert.match(entryId, /^evt_[0-9a-z]{26}$/);
    const times = data.map(({ created_at: at }) => Date.parse(at));
    assert.deepEqual(
      times,
      times.toSorted((a, b) => b - a),
    );
    assert.deepEqual(
      data.map(({ sequence }) => sequence),
      [9, 8, 7, 6, 5, 4, 3, 2, 1],
    );
    assert.ok(!reply.text.includes(SECRET));
  });

  test("has every member in every entry, with null for an absent value", async () => {
    const MEMBERS = [
      "id",
      "object",
      "type",
      "ignored",
      "previous_status",
      "status",
      "sequence",
      "attempt",
      "receipt",
      "reason",
      "fallback_message_id",
      "links",
      "created_at",
    ];
    const { data } = await page(id);
    for (const entry of data) assert.deepEqual(Object.keys(entry), MEMBERS);
    const [read, , sent, sending] = data;
    assert.deepEqual(Object.keys(sent?.attempt ?? {}).toSorted(), [
      "detail",
      "link",
      "number",
      "outcome",
      "provider_code",
      "provider_message_id",
      "retry_at",
    ]);
    assert.deepEqual(Object.keys(sending?.attempt ?? {}).toSorted(), Object.keys(sent?.attempt ?? {}).toSorted());
    assert.deepEqual(Object.keys(read?.receipt ?? {}).toSorted(), [
      "error_code",
      "link",
      "part",
      "provider_code",
      "provider_message_id",
      "raw",
      "status",
    ]);
  });

  test("of a new message is its first event", async () => {
    const { id: scheduled, created_at: createdAt } = await client.messages.send({ send_at: afterSeconds(3_600) });
    const reply = await ask(String(scheduled));
    await assertDeclared(reply);
    const [{ id: eventId, ...first }, ...more] = (reply.json as Page).data as [TimelineEntry];
    assert.deepEqual(more, []);
    assert.match(eventId, /^evt_/);
    assert.deepEqual(first, {
      object: "timeline_entry",
      type: "message.scheduled",
      ignored: false,
      previous_status: null,
      status: "scheduled",
      sequence: 1,
      attempt: null,
      receipt: null,
      reason: null,
      fallback_message_id: null,
      links: null,
      created_at: createdAt,
    });
  });

  test("consists of the rows of the table of events", async () => {
    const rows = await eventsOf(godwit, id);
    const entries = await client.messages.timeline(id);
    assert.deepEqual(
      entries.map(({ type, sequence, previous_status: previous, status }) => [type, sequence, previous, status]),
      rows.map(({ type, sequence, previous_status: previous, record }) => [
        type,
        sequence,
        previous,
        (JSON.parse(record ?? "null") as Json)["status"],
      ]),
    );
  });
});

describe("the pages of a timeline", () => {
  test("contain every entry once in the same order, with any page size", async () => {
    const { data: whole } = await page(id, "?limit=100");
    for (const limit of [1, 2, 4, 8, 9, 10]) {
      const all = await pages(id, limit);
      assert.deepEqual(
        all.flatMap(({ data }) => data),
        whole,
      );
      assert.equal(all.length, Math.ceil(whole.length / limit), "no empty page at the end");
      for (const { data, has_more: hasMore, next_cursor: next } of all) {
        assert.ok(data.length <= limit);
        assert.equal(hasMore, next !== null);
      }
    }
  });

  test("continue at the same entry when entries are added meanwhile", async () => {
    const message = String((await client.messages.send({ send_at: afterSeconds(3_600) }))["id"]);
    const edit = async (): Promise<void> => assertFirst(await client.messages.edit(message, { metadata: { at: String(Date.now()) } }), 200);
    for (let count = 0; count < 5; count += 1) await edit();
    const { data: whole } = await page(message);
    const first = await page(message, "?limit=3");
    await edit();
    const second = await page(message, `?limit=100&cursor=${first.next_cursor}`);
    assert.deepEqual([...first.data, ...second.data], whole);
  });

  test("have 25 entries by default", async () => {
    const message = String((await client.messages.send({ send_at: afterSeconds(3_600) }))["id"]);
    for (let count = 0; count < 26; count += 1)
      assertFirst(await client.messages.edit(message, { metadata: { count: String(count) } }), 200);
    const first = await page(message);
    assert.equal(first.data.length, 25);
    assert.equal(first.has_more, true);
    const last = await page(message, `?cursor=${first.next_cursor}`);
    assert.deepEqual([last.data.length, last.has_more], [2, false]);
    await assertDeclared(await ask(message));
  });

  test("show nothing of another timeline with its cursor", async () => {
    const own = clientOf(godwit, await godwit.key({ account: "neighbor" }));
    await godwit.unlimited();
    const { id: other } = await own.messages.send({ send_at: afterSeconds(3_600) });
    const { next_cursor: cursor } = await page(id, "?limit=1");
    const { data } = (await own.request("GET", `/v1/messages/${String(other)}/events?cursor=${cursor}`)).json as Timeline;
    const ids = new Set((await page(id)).data.map(({ id: entryId }) => entryId));
    assert.deepEqual(
      data.filter((entry) => ids.has(entry.id)),
      [],
    );
  });
});

describe("a timeline request", () => {
  test("with an invalid cursor or limit is a 400 that names the parameter", async () => {
    const { next_cursor: good } = await page(id, "?limit=1");
    assert.ok(good !== null);
    const altered = `${good.startsWith("A") ? "B" : "A"}${good.slice(1)}`;
    for (const cursor of ["x", altered, good.slice(0, -1), `${good}A`, `${good}=`, "A".repeat(300)]) {
      const reply = await ask(id, `?cursor=${encodeURIComponent(cursor)}`);
      assertProblem(reply, "invalid_request_payload");
      assert.equal(faultsOf(reply)[0]?.parameter, "cursor");
    }
    for (const limit of ["0", "101", "-1", "1.5", "many", ""]) {
      const reply = await ask(id, `?limit=${limit}`);
      assertProblem(reply, "invalid_request_payload");
      assert.equal(faultsOf(reply)[0]?.parameter, "limit");
    }
    const unknown = await ask(id, "?type=message.sent");
    assertProblem(unknown, "invalid_request_payload");
    assert.equal(faultsOf(unknown)[0]?.parameter, "type");
  });

  test("for an unknown message or that of another account is a 404", async () => {
    for (const name of [NO_MESSAGE, "msg_x", id.toUpperCase(), id.replace("msg_", "evt_")]) assertProblem(await ask(name), "not_found");
    const keys = [await godwit.key({ account: "stranger" }), await godwit.key({ environment: "live" })];
    await godwit.unlimited();
    for (const key of keys) assertProblem(await client.request("GET", `/v1/messages/${id}/events`, { key }), "not_found");
  });

  test("requires the scope messages:read", async () => {
    const reply = await client.request("GET", `/v1/messages/${id}/events`, {
      key: await godwit.key({ scopes: ["messages:send", "events:read"] }),
    });
    assertProblem(reply, "forbidden_insufficient_scope");
    assert.deepEqual(reply.json["required_scopes"], ["messages:read"]);
    const key = await godwit.key({ scopes: ["messages:read"] });
    assert.equal((await client.request("GET", `/v1/messages/${id}/events`, { key })).status, 200);
    assertProblem(await godwit.request("GET", `/v1/messages/${id}/events`), "unauthorized_missing_token");
  });

  test("can only be a GET", async () => {
    for (const method of ["POST", "PATCH", "PUT", "DELETE"]) {
      const reply = await client.request(method, `/v1/messages/${id}/events`);
      assertProblem(reply, "method_not_allowed");
      assert.equal(reply.headers.get("allow"), "GET, HEAD");
    }
  });
});
