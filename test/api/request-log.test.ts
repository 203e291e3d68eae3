/** The request log: what it keeps of a request, what it masks, who reads it, its filters and its bounds. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { Database } from "../../src/database/database.ts";
import { firstUuidAt, uuidFromBytes } from "../../src/lib/uuid.ts";
import { deleteOldRequests, insertRequests } from "../../src/requests/queries.ts";
import type { LoggedRequest, RequestRecord } from "../../src/requests/logged-request.ts";
import { recordOf, search, type Page, type Query } from "../support/client.ts";
import { assertProblem, until } from "../support/expect.ts";
import { sms, startGodwit, type Godwit, type Reply } from "../support/harness.ts";
import { createToken, oauthClientOf } from "../support/keys.ts";
import { readMetrics } from "../support/metrics-text.ts";

let godwit: Godwit;
let key: string;

before(async () => {
  godwit = await startGodwit({ timings: { requestLogMs: 20 } });
  key = await godwit.key();
  await godwit.unlimited();
});

after(() => godwit.stop());

const requestIdOf = (reply: Reply): string => reply.headers.get("x-request-id") ?? "";

const page = async (query: Query = {}, by = key): Promise<Page<RequestRecord>> =>
  recordOf(await godwit.request("GET", `/v1/requests${search(query)}`, { key: by })) as unknown as Page<RequestRecord>;
const list = async (query: Query = {}, by = key): Promise<RequestRecord[]> => (await page(query, by)).data;

/** The entry of a request, as soon as it is there. */
const entryOf = (reply: Reply, by = key): Promise<RequestRecord> =>
  until("the request to be in the log", async () => {
    const found = await godwit.request("GET", `/v1/requests/${requestIdOf(reply)}`, { key: by });
    return found.status === 200 && (found.json as unknown as RequestRecord);
  });

describe("an entry of the request log", () => {
  test("of an event stream that its client closed is there, unless the console had it open", async () => {
    const CLOSED = 'godwit_http_requests_total{route="/v1/events/stream",method="GET",status="499"}';
    const closedStreams = async (): Promise<number> => (await readMetrics(godwit)).get(CLOSED) ?? 0;
    for (const headers of [{ "sec-fetch-site": "same-origin", "user-agent": "console/1" }, { "user-agent": "reader/1" }]) {
      const earlier = await closedStreams();
      const closing = new AbortController();
      await fetch(`${godwit.url}/v1/events/stream`, { headers: { authorization: `Bearer ${key}`, ...headers }, signal: closing.signal });
      closing.abort();
      await until("the service to notice it", async () => (await closedStreams()) > earlier);
    }
    const streams = await until("the stream to be in the log", async () => {
      const found = await list({ operation: "streamEvents" });
      return found.length > 0 && found;
    });
    assert.deepEqual(
      streams.map(({ status, user_agent: program }) => [status, program]),
      [[499, "reader/1"]],
    );
  });

  test("of a validation or a preview is there, unless the console repeats it while a person types", async () => {
    const template = await godwit.request("POST", "/v1/templates", {
      key,
      body: { name: "typed", language: "en", category: "utility", channels: ["sms"], body: "Hello" },
    });
    const calls: [path: string, body: object][] = [
      ["/v1/messages/validate", sms()],
      [`/v1/templates/${String(template.json["id"])}/preview`, { channel: "sms" }],
    ];
    for (const [path, body] of calls) {
      const byConsole = await godwit.request("POST", path, { key, body, headers: { "sec-fetch-site": "same-origin" } });
      assert.equal(byConsole.status, 200, byConsole.text);
      const byProgram = await godwit.request("POST", path, { key, body });
      await entryOf(byProgram);
      const found = await godwit.request("GET", `/v1/requests/${requestIdOf(byConsole)}`, { key });
      assertProblem(found, "not_found");
    }
    const refused = await godwit.request("POST", "/v1/messages", {
      key,
      body: { ...sms(), body: "" },
      headers: { "sec-fetch-site": "same-origin" },
    });
    assert.equal((await entryOf(refused)).operation, "sendMessage");
  });

  test("names the operation, the status, the sizes, the key and the message that was created", async () => {
    const reply = await godwit.request("POST", "/v1/messages", { key, body: sms(), headers: { "user-agent": "shop/1.2" } });
    const entry = await entryOf(reply);
    const { id, object, operation, method, path, status, code, problem, body, user_agent: userAgent } = entry;
    assert.deepEqual(
      { id, object, operation, method, path, status, code, problem, body, userAgent },
      {
        id: requestIdOf(reply),
        object: "request",
        operation: "sendMessage",
        method: "POST",
        path: "/v1/messages",
        status: 202,
        code: null,
        problem: null,
        body: null,
        userAgent: "shop/1.2",
      },
    );
    assert.equal(entry.message_id, reply.json["id"]);
    assert.equal(entry.response_bytes, Buffer.byteLength(reply.text));
    assert.equal(entry.request_bytes, Buffer.byteLength(JSON.stringify(sms())));
    assert.ok(entry.duration_ms > 0 && entry.peer.includes("127.0.0.1"), JSON.stringify(entry));
    assert.deepEqual([entry.key.type, entry.idempotent_replayed], ["key", false]);
    assert.ok(Math.abs(Date.parse(entry.created_at) - Date.now()) < 600_000);
  });

  test("has the faults and the masked body of a refused request, and nothing of the person", async () => {
    const body = { recipient: "+1415555012", channel: "sms", body: "Meet Ann at nine", bodyy: "x" };
    const reply = await godwit.request("POST", "/v1/messages", { key, body });
    assertProblem(reply, "invalid_request_payload");
    const entry = await entryOf(reply);
    assert.deepEqual([entry.status, entry.code], [400, "invalid_request_payload"]);
    assert.deepEqual(
      entry.problem?.errors.map(({ pointer }) => pointer).toSorted(),
      (reply.json["errors"] as { pointer: string }[]).map(({ pointer }) => pointer).toSorted(),
    );
    assert.deepEqual(JSON.parse(entry.body ?? ""), {
      recipient: "[11 characters]",
      channel: "sms",
      body: "[16 characters]",
      bodyy: "[1 character]",
    });
    const stored = await godwit.rows<{ row: string }>("select to_jsonb(request_log)::text as row from request_log");
    for (const { row } of stored) assert.doesNotMatch(row, /1415555|Meet Ann/);
  });

  test("has the refusal of a business rule, which is stored under its key, and says that the second one was a replay", async () => {
    const idempotencyKey = randomUUID();
    const body = { ...sms(), template_id: "absent", body: undefined };
    const send = (): Promise<Reply> => godwit.request("POST", "/v1/messages", { key, body, idempotencyKey });
    const [first, second] = [await entryOf(await send()), await entryOf(await send())];
    assert.deepEqual([first.code, second.code], ["template_not_found", "template_not_found"]);
    assert.deepEqual([first.idempotent_replayed, second.idempotent_replayed], [false, true]);
  });

  test("masks the recipient in a query, and names the access token of a key", async () => {
    const token = await createToken(godwit, await oauthClientOf(godwit, key));
    const reply = await godwit.request("GET", "/v1/messages?recipient=%2B14155550123&status=failed", { key: token });
    const entry = await entryOf(reply);
    assert.equal(entry.path, "/v1/messages?recipient=[12 characters]&status=failed");
    assert.equal(entry.key.type, "token");
  });

  test("does not exist for requests without a valid credential, and for reads of the log", async () => {
    const [stranger, read] = [await godwit.request("GET", "/v1/messages"), await godwit.request("GET", "/v1/requests", { key })];
    await entryOf(await godwit.request("GET", "/v1/usage", { key }));
    for (const reply of [stranger, read])
      assertProblem(await godwit.request("GET", `/v1/requests/${requestIdOf(reply)}`, { key }), "not_found");
  });
});

test("characters that PostgreSQL does not store keep no other request out of the log", async () => {
  const hostile = [
    await godwit.request("GET", "/v1/messages?a%00b=1", { key }),
    await godwit.request("POST", "/v1/messages", { key, body: { [`${"x".repeat(99)}😀`]: 1, "\u0000": "\u0000" } }),
  ];
  const other = await godwit.request("GET", "/v1/usage", { key });
  for (const reply of [...hostile, other]) assert.equal((await entryOf(reply)).status, reply.status);
});

describe("the list of requests", () => {
  test("has filters for status, method, operation, code, key and message, which can be combined", async () => {
    const by = await godwit.key({ scopes: ["messages:send", "messages:read", "audit:read"] });
    const sent = await godwit.send(by);
    const id = String(sent.json["id"]);
    const read = await godwit.request("GET", `/v1/messages/${id}`, { key: by });
    const absent = await godwit.request("GET", "/v1/messages/msg_01k9zs3v8mf4tb2xg1qj6n0d5c", { key: by });
    const entries = [await entryOf(sent), await entryOf(read), await entryOf(absent)];
    const keyId = entries[0]?.key.id ?? "";
    const ids = async (query: Query): Promise<string[]> => (await list({ key_id: keyId, ...query })).map((entry) => entry.id);
    const [first, second, third] = entries.map((entry) => entry.id);
    assert.deepEqual(await ids({}), [third, second, first]);
    assert.deepEqual(await ids({ message_id: id }), [second, first]);
    assert.deepEqual(await ids({ status: "404" }), [third]);
    assert.deepEqual(await ids({ status: "2xx" }), [second, first]);
    assert.deepEqual(await ids({ method: "POST" }), [first]);
    assert.deepEqual(await ids({ operation: "getMessage", status: "4xx" }), [third]);
    assert.deepEqual(await ids({ code: "not_found" }), [third]);
    assert.deepEqual(await ids({ created_after: new Date(Date.now() + 60_000).toISOString() }), []);
    assert.deepEqual(await list({ key_id: "key_01k9zs3v8mf4tb2xg1qj6n0d5c" }), []);
    assert.deepEqual(await list({ message_id: "msg_01k9zs3v8mf4tb2xg1qj6n0d5c", status: "2xx" }), []);
  });

  test("has pages", async () => {
    await entryOf(await godwit.send(key));
    const first = await page({ limit: "1" });
    assert.equal(first.has_more, true);
    const second = await page({ limit: "1", cursor: String(first.next_cursor) });
    assert.ok(String(second.data[0]?.id) < String(first.data[0]?.id));
  });

  test("refuses an unknown status, and names a misspelled parameter", async () => {
    assertProblem(await godwit.request("GET", "/v1/requests?status=bad", { key }), "invalid_request_payload");
    assert.match((await godwit.request("GET", "/v1/requests?methd=GET", { key })).text, /method/);
  });

  test("belongs to one environment of one account, and needs audit:read", async () => {
    const entry = await entryOf(await godwit.send(key));
    const others = [await godwit.key({ environment: "live" }), await godwit.key({ account: "other" })];
    for (const other of others) {
      assertProblem(await godwit.request("GET", `/v1/requests/${entry.id}`, { key: other }), "not_found");
      assert.deepEqual(
        (await list({}, other)).filter(({ id }) => id === entry.id),
        [],
      );
    }
    const without = await godwit.key({ scopes: ["messages:read"] });
    assertProblem(await godwit.request("GET", "/v1/requests", { key: without }), "forbidden_insufficient_scope");
  });
});

describe("the bounds of the request log", () => {
  test("a busy environment has a sample, the others are counted, and refusals have a rate of their own", async () => {
    await using busy = await startGodwit({ timings: { requestLogMs: 20 } });
    await busy.unlimited();
    const by = await busy.key();
    const replies = await Promise.all(Array.from({ length: 400 }, () => busy.request("GET", "/v1/templates", { key: by })));
    const admitted = replies.filter(({ status }) => status === 200).length;
    const refused = await busy.request("GET", "/v1/messages/unknown", { key: by });
    await until("the refusal", async () => (await busy.request("GET", `/v1/requests/${requestIdOf(refused)}`, { key: by })).status === 200);
    const [row] = await busy.rows<{ count: number }>("select count(*)::integer as count from request_log where status = 200");
    const metrics = (await busy.request("GET", "/metrics")).text;
    const omitted = Number(/godwit_request_log_omitted_total\{reason="rate"\} (\d+)/.exec(metrics)?.[1]);
    assert.ok(row !== undefined && row.count >= 200, `${row?.count} of ${admitted} are logged`);
    assert.ok(omitted > 0 && row.count + omitted >= admitted, `${row.count} logged, ${omitted} omitted, ${admitted} admitted`);
  });

  test("old rows and those beyond the limit of an environment are deleted, the oldest first, and no others", async () => {
    await using node = await startGodwit({ timings: { requestLogMs: 20 } });
    const db = new Database({ url: node.databaseUrl ?? assert.fail("no database") }, "test", () => undefined);
    const accountOf = (index: number) => uuidFromBytes(Buffer.alloc(16, index));
    const rowsOf = (account: number, environment: "test" | "live", timesMs: readonly number[]): LoggedRequest[] =>
      timesMs.map((timeMs) => ({ ...ROW, account_id: accountOf(account) as never, environment, id: firstUuidAt(timeMs) as never }));
    const day = 86_400_000;
    const nowMs = 30 * day;
    const recent = Array.from({ length: 12 }, (_, at) => nowMs - at * 1_000);
    const rows = [
      ...rowsOf(1, "test", [...recent, day]),
      ...rowsOf(1, "live", recent.slice(0, 3)),
      ...rowsOf(2, "test", [day, 2 * day, nowMs]),
    ];
    await insertRequests(db, rows);
    const bounds = { beforeMs: nowMs - 7 * day, kept: 5, most: 4 };
    const counts: number[] = [];
    do counts.push(await deleteOldRequests(db, bounds));
    while (counts.at(-1) === bounds.most);
    assert.equal(
      counts.reduce((sum, count) => sum + count),
      13 - 5 + 2,
    );
    const left = await node.rows<{ account_id: Buffer; environment: string; id: Buffer }>(
      "select account_id, environment, id from request_log order by account_id, environment, id desc",
    );
    const expected = [...rowsOf(1, "live", recent.slice(0, 3)), ...rowsOf(1, "test", recent.slice(0, 5)), ...rowsOf(2, "test", [nowMs])];
    assert.equal(left.length, expected.length);
    await db.close();
  });
});

const ROW: LoggedRequest = {
  account_id: uuidFromBytes(Buffer.alloc(16)) as never,
  environment: "test",
  id: uuidFromBytes(Buffer.alloc(16)) as never,
  key_id: uuidFromBytes(Buffer.alloc(16)) as never,
  credential: "key",
  key_name: null,
  operation: "getMessage",
  method: "GET",
  path: "/v1/messages",
  status: 200,
  code: null,
  is_replay: false,
  duration_us: 1,
  request_bytes: 0,
  response_bytes: 0,
  peer: "127.0.0.1",
  user_agent: null,
  message_id: null,
  problem: null,
  body: null,
};
