/** The API of events: filters, pages and access. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { SCOPES } from "../../src/access/scope.ts";
import { encodeCursor } from "../../src/api/paging.ts";
import { newUuid } from "../../src/lib/uuid.ts";
import { clientOf, clientOfAccount, afterSeconds, idsOf, walk, type Client, type Event, type Query } from "../support/client.ts";
import { assertProblem, faultsOf } from "../support/expect.ts";
import { startGodwit, type Godwit, type KeyOptions } from "../support/harness.ts";

let godwit: Godwit;
before(async () => {
  godwit = await startGodwit();
});
after(() => godwit.stop());

const client = (account: string, options: KeyOptions = {}): Promise<Client> => clientOfAccount(godwit, account, options);

describe("filters of events", () => {
  let own: Client;
  let all: Event[];
  const messages: unknown[] = [];
  // The events of the account, newest first, each with the number of its message. The last part is empty for an endpoint.
  const EXPECTED = [
    "webhook.test ",
    "message.canceled 2",
    "message.scheduled 2",
    "message.canceled 0",
    "message.queued 1",
    "message.queued 0",
  ];

  before(async () => {
    own = await client("filters");
    messages.push((await own.messages.send())["id"], (await own.messages.send())["id"]);
    await own.messages.cancel(messages[0]);
    messages.push((await own.messages.send({ send_at: afterSeconds(3_600) }))["id"]);
    await own.messages.cancel(messages[2]);
    const endpoints = clientOf(godwit, own.key).endpoints;
    await endpoints.test((await endpoints.create())["id"]);
    all = (await own.events.list()).data;
  });

  test("are optional: without one all events are listed, newest first", () => {
    const named = all.map(
      ({ type, data }) => `${type} ${messages.includes(data.message?.["id"]) ? messages.indexOf(data.message["id"]) : ""}`,
    );
    assert.deepEqual(named, EXPECTED);
    for (const event of all) {
      assert.deepEqual(Object.keys(event), ["id", "type", "timestamp", "environment", "data"]);
      assert.match(event.id, /^evt_[0-9a-z]{26}$/);
      assert.equal(event.environment, "test");
      assert.ok(Math.abs(Date.parse(event.timestamp) - Date.now()) < 10_000);
    }
    const { message, ...rest } = all[1]?.data ?? {};
    assert.deepEqual(rest, { previous_status: "scheduled", sequence: 2 });
    assert.equal(message?.["status"], "canceled");
  });

  const ROWS: readonly (readonly [query: () => Query, found: number[]])[] = [
    [() => ({ type: "*" }), [0, 1, 2, 3, 4, 5]],
    [() => ({ type: "message.*" }), [1, 2, 3, 4, 5]],
    [() => ({ type: "webhook.*" }), [0]],
    [() => ({ type: "webhook.test" }), [0]],
    [() => ({ type: "message.queued" }), [4, 5]],
    [() => ({ type: "message.canceled" }), [1, 3]],
    [() => ({ type: "message.scheduled" }), [2]],
    [() => ({ type: "message.read" }), []],
    [() => ({ type: "endpoint.*" }), []],
    [() => ({ message_id: String(messages[0]) }), [3, 5]],
    [() => ({ message_id: String(messages[1]) }), [4]],
    [() => ({ message_id: String(messages[2]) }), [1, 2]],
    [() => ({ message_id: String(messages[2]), type: "message.canceled" }), [1]],
    [() => ({ message_id: String(messages[1]), type: "message.canceled" }), []],
    [() => ({ message_id: "msg_01k9zs3v8mf4tb2xg1qj6n0d5c" }), []],
    [() => ({ created_after: "2020-01-01T00:00:00Z" }), [0, 1, 2, 3, 4, 5]],
    [() => ({ created_before: "2020-01-01T00:00:00Z" }), []],
    [() => ({ created_after: "2099-01-01T00:00:00Z" }), []],
    [() => ({ created_before: "2099-01-01T00:00:00Z", type: "message.queued" }), [4, 5]],
    [() => ({ created_after: "1960-01-01T00:00:00Z", message_id: String(messages[0]) }), [3, 5]],
  ];
  for (const [query, found] of ROWS) {
    const name = query.toString().replace(/^\(\) => /, "");
    test(`with ${name} find ${found.length}, on one page or several`, async () => {
      const expected = found.map((index) => all[index]);
      assert.deepEqual((await own.events.list(query())).data, expected);
      assert.deepEqual(
        (await walk(own.events.list, { ...query(), limit: "1" })).flatMap(({ data }) => data),
        expected,
      );
    });
  }

  test("created_after and created_before exclude the given time, also with message_id", async () => {
    const at = all[3]?.timestamp ?? "";
    const times = all.map(({ timestamp }) => timestamp);
    for (const more of [{}, { message_id: String(messages[0]) }]) {
      const among = all.filter(({ data }) => !("message_id" in more) || data.message?.["id"] === messages[0]);
      const later = await own.events.list({ created_after: at, ...more });
      assert.deepEqual(
        later.data,
        among.filter(({ timestamp }) => timestamp > at),
      );
      const earlier = await own.events.list({ created_before: at, ...more });
      assert.deepEqual(
        earlier.data,
        among.filter(({ timestamp }) => timestamp < at),
      );
    }
    assert.ok(times.includes(at));
  });

  const cursor = encodeCursor(newUuid(Date.now()));
  const WRONG: readonly (readonly [query: string, parameter: string])[] = [
    ["limit=0", "limit"],
    ["limit=101", "limit"],
    ["cursor=abc", "cursor"],
    [`cursor=${cursor.slice(0, -1)}`, "cursor"],
    ["type=", "type"],
    ["type=message", "type"],
    ["type=message.", "type"],
    ["type=*.sent", "type"],
    ["type=message.**", "type"],
    ["type=Message.sent", "type"],
    ["type=message.sent,message.read", "type"],
    ["type=message.sent&type=message.read", "type"],
    ["type=message.sent%0A", "type"],
    ["message_id=", "message_id"],
    [`message_id=${"a".repeat(65)}`, "message_id"],
    ["message_id=a%00", "message_id"],
    ["created_after=yesterday", "created_after"],
    ["created_before=2026-02-30T00:00:00Z", "created_before"],
    ["status=sent", "status"],
  ];
  for (const [query, parameter] of WRONG) {
    test(`with ?${query.slice(0, 60)} are a 400 that names ${parameter}`, async () => {
      const reply = await own.request("GET", `/v1/events?${query}`);
      assertProblem(reply, "invalid_request_payload");
      assert.deepEqual(new Set(faultsOf(reply).map((fault) => fault.parameter)), new Set([parameter]));
    });
  }
});

describe("pages of events", () => {
  test("have neither gaps nor duplicates, also while new events arrive", async () => {
    const own = await client("pages");
    for (let index = 0; index < 15; index += 1) await own.messages.cancel((await own.messages.send())["id"]);
    const all = idsOf([await own.events.list({ limit: "100" })]);
    assert.equal(all.length, 30);
    for (const limit of [1, 7, 15, 29, 30]) {
      const pages = await walk(own.events.list, { limit: String(limit) });
      assert.deepEqual(idsOf(pages), all);
      assert.equal(pages.length, Math.ceil(30 / limit));
    }
    assert.equal((await own.events.list()).data.length, 25, "the default limit");
    assert.deepEqual(idsOf(await walk(own.events.list, { limit: "7" }, () => own.messages.send())), all);
  });

  const COUNT = 12_000;
  // The newest, one within the first query, those at its limit, one in each later query, and the oldest.
  const RARE = [1, 400, 4_999, 5_000, 5_001, 7_777, 10_000, 10_001, COUNT];
  describe("of very many events", () => {
    let own: Client;
    before(async () => {
      own = await client("very many");
      // The events need a whole record of any message.
      await (await client("one of many")).messages.send({ send_at: afterSeconds(3_600) });
      await godwit.rows(
        `insert into events (account_id, environment, id, type, sequence, record)
         select a.id, 'test', (lpad(to_hex(extract(epoch from now())::bigint * 1000 - n), 12, '0') || '70008000' || lpad(to_hex(n), 12, '0'))::uuid,
                case when n = any ($1::integer[]) then 'message.read' else 'message.sent' end, 1,
                case when n % 10 = 5 then null else (select record from events where type = 'message.scheduled' limit 1) end
           from accounts a, generate_series(1, ${COUNT}) n
          where a.name = 'very many'`,
        [RARE],
      );
    });

    for (const limit of ["1", "2", "100"]) {
      test(`find the few of a rare type with pages of ${limit}, newest first`, async () => {
        const pages = await walk(own.events.list, { type: "message.read", limit });
        const ids = idsOf(pages);
        assert.deepEqual([ids.length, new Set(ids).size], [RARE.length, RARE.length]);
        assert.deepEqual(
          ids,
          ids.toSorted((a, b) => (a < b ? 1 : -1)),
        );
        assert.ok(pages.every(({ data }) => data.length <= Number(limit)));
      });
    }

    test("are short or empty, with a cursor, when the query has read its limit of rows", async () => {
      const pages = await walk(own.events.list, { type: "message.read", limit: "100" });
      assert.deepEqual(
        pages.map(({ data }) => data.length),
        [4, 3, 2],
      );
      assert.deepEqual(idsOf(await walk(own.events.list, { type: "message.failed" })), []);
      assert.equal((await own.events.list({ type: "message.failed" })).has_more, true);
    });

    test("without a filter contain every event once, and no other timeline entry", async () => {
      const ids = idsOf(await walk(own.events.list, { limit: "100" }));
      assert.deepEqual([ids.length, new Set(ids).size], [COUNT * 0.9, COUNT * 0.9]);
    });
  });
});

describe("access to events", () => {
  let own: Client;
  let event: string;
  before(async () => {
    own = await client("mine");
    event = String((await own.messages.send())["id"]).replace("msg_", "evt_");
  });

  test("is limited to the account and the environment of the key", async () => {
    for (const stranger of [await client("stranger"), await client("mine", { environment: "live" })]) {
      assert.deepEqual((await stranger.events.list()).data, []);
      assert.deepEqual((await stranger.events.list({ message_id: event.replace("evt_", "msg_") })).data, []);
      assertProblem(await stranger.request("GET", `/v1/events/${event}`), "not_found");
      assertProblem(await stranger.request("GET", `/v1/events/${event}/deliveries`), "not_found");
    }
    assert.deepEqual(idsOf([await own.events.list()]), [event]);
  });

  for (const [path, scope] of [
    ["/v1/events", "events:read"],
    ["/v1/events/{id}", "events:read"],
    ["/v1/events/{id}/deliveries", "webhooks:read"],
  ] as const) {
    test(`at ${path} requires exactly the scope ${scope}`, async () => {
      const at = path.replace("{id}", event);
      const others = await client("mine", { scopes: SCOPES.filter((each) => each !== scope) });
      const reply = await others.request("GET", at);
      assertProblem(reply, "forbidden_insufficient_scope");
      assert.deepEqual(reply.json["required_scopes"], [scope]);
      assert.equal((await (await client("mine", { scopes: [scope] })).request("GET", at)).status, 200);
    });
  }

  test("with an invalid id is a 404", async () => {
    const suffix = event.slice(4);
    for (const id of ["evt_", "evt_x", `msg_${suffix}`, `evt_${suffix.toUpperCase()}`, `${event}0`, "evt_01k9zs3v8mf4tb2xg1qj6n0d5c"]) {
      assertProblem(await own.request("GET", `/v1/events/${id}`), "not_found");
      assertProblem(await own.request("GET", `/v1/events/${id}/deliveries`), "not_found");
    }
  });
});
