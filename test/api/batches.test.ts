/** POST /v1/batches: every item is decided separately, all messages are stored together, and the completion is reported once. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { clientOf, clientOfAccount, acceptedBatch, DEFAULTS, items, afterSeconds, type Client, type Json } from "../support/client.ts";
import { batchEffects, eventsOf, rowCounts, rowId } from "../support/tables.ts";
import { recipientNo } from "../support/recipient.ts";
import { LIMIT_MS, assertProblem, faultsOf, pointersOf, until } from "../support/expect.ts";
import { startGodwit, type Godwit, type Reply } from "../support/harness.ts";
import { HELD_BODY, holdAccepts } from "../support/locks.ts";
import { assertConflict, assertFirst, assertOneExecution, assertReplayOf, assertReused } from "../support/replay.ts";
import { Customer, WITH_WEBHOOKS } from "../support/webhook-customer.ts";
import { Hook, verify } from "../support/hook-server.ts";

let godwit: Godwit;
let client: Client;
before(async () => {
  godwit = await startGodwit();
  client = clientOf(godwit, await godwit.key());
  await godwit.unlimited();
});
after(() => godwit.stop());

function assertInvalid(reply: Reply, faults: readonly string[]): void {
  assertProblem(reply, "invalid_request_payload");
  assert.deepEqual(new Set(faultsOf(reply).map(({ pointer, code }) => `${pointer} ${code}`)), new Set(faults));
}

describe("a batch", () => {
  for (const count of [1, 2, 250, 251, 1_000]) {
    test(`of ${count} is accepted completely, with one message for each item in order`, async () => {
      const reply = await client.batches.post({
        defaults: DEFAULTS,
        items: items(count, (index) => ({ client_reference: `no ${index}` })),
      });
      const { results, created_at: createdAt, id, ...record } = acceptedBatch(reply);
      assert.match(id, /^batch_[0-9a-hjkmnp-tv-z]{26}$/);
      assert.equal(reply.headers.get("location"), `/v1/batches/${id}`);
      assert.equal(reply.headers.get("content-type"), "application/json; charset=utf-8");
      assert.deepEqual(record, {
        object: "batch",
        environment: "test",
        status: "processing",
        total: count,
        accepted: count,
        refused: 0,
        completed_at: null,
      });
      assert.ok(Math.abs(Date.parse(String(createdAt)) - Date.now()) < LIMIT_MS);
      assert.deepEqual(
        results.map(({ index, status, error }) => [index, status, error]),
        Array.from({ length: count }, (_, index) => [index, "accepted", null]),
      );
      assert.equal(new Set(results.map(({ message_id: message }) => message)).size, count);
      assert.deepEqual(await batchEffects(godwit, id), { batches: 1, messages: count, events: count, queued: count });
      const messages = await client.batches.messages(id);
      assert.deepEqual(
        messages.toReversed().map((message) => [message["id"], message["recipient"], message["client_reference"], message["batch_id"]]),
        results.map(({ index, message_id: message }) => [message, recipientNo(index), `no ${index}`, id]),
      );
    });
  }

  test("is read by its id, with the number of its messages in each status", async () => {
    const { id, results, ...fields } = await client.batches.send(items(5, (index) => (index < 2 ? { send_at: afterSeconds(3_600) } : {})));
    assert.deepEqual(await client.batches.read(id), { id, ...fields, statuses: { queued: 3, scheduled: 2 } });
    const canceled = await client.messages.cancel(results[0]?.message_id);
    assert.equal(canceled.status, 200, canceled.text);
    assert.deepEqual((await client.batches.read(id))["statuses"], { canceled: 1, queued: 3, scheduled: 1 });
  });

  test("has ordinary messages: the listed record equals that of GET and of its event", async () => {
    const { results, id } = await client.batches.send(items(1, () => ({ metadata: { a: "é" }, priority: "bulk" })));
    const record = await client.request("GET", `/v1/messages/${results[0]?.message_id}`);
    assert.deepEqual(record.json, (await client.batches.messages(id))[0]);
    assert.deepEqual([record.json["priority"], record.json["metadata"], record.json["batch_id"]], ["bulk", { a: "é" }, id]);
    const events = await eventsOf(godwit, results[0]?.message_id);
    assert.deepEqual(
      events.map((event) => [event.type, event.record]),
      [["message.queued", record.text]],
    );
  });

  test("lists no message of another batch, and none of an unknown one", async () => {
    const one = await client.batches.send(items(3));
    const two = await client.batches.send(items(2));
    assert.equal((await client.batches.messages(one.id, 2)).length, 3);
    assert.equal((await client.batches.messages(two.id, 1)).length, 2);
    assert.deepEqual(await client.batches.messages(`batch_${"0".repeat(26)}`), []);
  });

  test("that is sent again without a key is a new batch", async () => {
    const one = await client.batches.send(items(2));
    const two = await client.batches.send(items(2));
    assert.notEqual(one.id, two.id);
  });

  test("counts each of its messages in the usage", async () => {
    const own = await clientOfAccount(godwit, "counted");
    await own.batches.send(items(300, (index) => (index % 3 === 0 ? { body: "a".repeat(161) } : {})));
    const { totals } = (await own.request("GET", "/v1/usage")).json as { totals: Json };
    assert.deepEqual([totals["messages"], totals["segments"], totals["by_status"]], [300, 400, { queued: 300 }]);
  });
});

describe("an invalid batch", () => {
  const item = { recipient: recipientNo(1) };
  const ROWS: readonly (readonly [what: string, body: unknown, faults: readonly string[]])[] = [
    ["without entries in items", { defaults: DEFAULTS, items: [] }, ["/items too_few"]],
    ["with 1,001 items", { defaults: DEFAULTS, items: items(1_001) }, ["/items too_many"]],
    ["without items", { defaults: DEFAULTS }, ["/items required"]],
    ["whose items are null", { items: null }, ["/items invalid_type"]],
    ["whose items are an object", { items: { 0: item } }, ["/items invalid_type"]],
    ["with an item that is null", { defaults: DEFAULTS, items: [item, null] }, ["/items/1 invalid_type"]],
    ["with an item that is a string", { defaults: DEFAULTS, items: ["+14155550123", item] }, ["/items/0 invalid_type"]],
    ["with an item that is a list", { defaults: DEFAULTS, items: [item, item, [item]] }, ["/items/2 invalid_type"]],
    ["with an item that is a number", { defaults: DEFAULTS, items: [7] }, ["/items/0 invalid_type"]],
    ["with defaults that are a list", { defaults: [DEFAULTS], items: [item] }, ["/defaults invalid_type"]],
    ["with defaults that are a string", { defaults: "sms", items: [item] }, ["/defaults invalid_type"]],
    ["with an unknown field", { defaults: DEFAULTS, items: [item], color: "red" }, ["/color unknown_field"]],
    [
      "with a field of a message beside the items",
      { channel: "sms", body: "x", items: [item] },
      ["/channel unknown_field", "/body unknown_field"],
    ],
    [
      "with the fields of a single message",
      { ...item, ...DEFAULTS },
      ["/items required", "/recipient unknown_field", "/channel unknown_field", "/body unknown_field"],
    ],
    ["that is a list", [item], [" invalid_type"]],
    ["that is null", null, [" invalid_type"]],
    ["that is a string", '"x"', [" invalid_type"]],
    [
      "with several faults at once",
      { defaults: 1, items: [1, item, "x"], more: true },
      ["/defaults invalid_type", "/items/0 invalid_type", "/items/2 invalid_type", "/more unknown_field"],
    ],
  ];
  for (const [what, body, faults] of ROWS) {
    test(`${what} is a 400 with its faults, and nothing is stored`, async () => {
      const earlier = await rowCounts(godwit);
      const reply = await client.batches.post(body === null ? "null" : body, { idempotencyKey: randomUUID() });
      assertInvalid(reply, faults);
      assert.deepEqual(await rowCounts(godwit), earlier);
    });
  }

  test("is not one with defaults of null, which count as absent", async () => {
    assert.equal(acceptedBatch(await client.batches.post({ defaults: null, items: [{ ...item, ...DEFAULTS }] })).accepted, 1);
  });

  for (const [what, body] of [
    ["is not JSON", '{"items":['],
    ["is empty", ""],
  ] as const)
    test(`with a body that ${what} is a 400`, async () => {
      assertProblem(await client.batches.post(body, { headers: { "content-type": "application/json" } }), "invalid_request_payload");
    });

  test("with an unexpected query parameter is refused", async () => {
    const reply = await client.request("POST", "/v1/batches?dry_run=true", { body: { defaults: DEFAULTS, items: [item] } });
    assertProblem(reply, "invalid_request_payload");
    assert.deepEqual(
      faultsOf(reply).map(({ parameter }) => parameter),
      ["dry_run"],
    );
  });
});

describe("defaults", () => {
  const recordOf = async (item: object, defaults: object): Promise<Json> => {
    const { results } = await client.batches.send([{ recipient: recipientNo(1), ...item }], defaults);
    assert.deepEqual(results[0]?.error, null);
    return (await client.request("GET", `/v1/messages/${results[0]?.message_id}`)).json;
  };
  const FULL = { ...DEFAULTS, sender: "Shop", client_reference: "spring", metadata: { a: "1", b: "2" }, priority: "bulk", ttl_seconds: 60 };

  test("apply to every item that does not override them", async () => {
    const record = await recordOf({}, FULL);
    const { sender, client_reference: reference, metadata, priority, body, channel } = record;
    assert.deepEqual(
      { sender, client_reference: reference, metadata, priority, body, channel },
      { sender: "Shop", client_reference: "spring", metadata: { a: "1", b: "2" }, priority: "bulk", body: "Hello", channel: "sms" },
    );
    assert.equal(Date.parse(String(record["expires_at"])) - Date.parse(String(record["created_at"])), 60_000);
  });

  test("are overridden by the fields of an item, and metadata is replaced as a whole", async () => {
    const record = await recordOf({ sender: "Bank", metadata: { a: "9" }, priority: "high", channel: "whatsapp", body: "Ada" }, FULL);
    assert.deepEqual(
      [record["sender"], record["metadata"], record["priority"], record["channel"], record["body"], record["client_reference"]],
      ["Bank", { a: "9" }, "high", "whatsapp", "Ada", "spring"],
    );
  });

  test("are removed by null", async () => {
    const record = await recordOf({ sender: null, metadata: null, client_reference: null, ttl_seconds: null, priority: null }, FULL);
    assert.deepEqual(
      [record["sender"], record["metadata"], record["client_reference"], record["priority"]],
      ["+15005550000", {}, null, "normal"],
    );
    assert.equal(Date.parse(String(record["expires_at"])) - Date.parse(String(record["created_at"])), 172_800_000);
  });

  test("may contain the recipient, for several messages to one person", async () => {
    const { accepted } = await client.batches.send([{ body: "one" }, { body: "two" }], { channel: "sms", recipient: recipientNo(5) });
    assert.equal(accepted, 2);
  });

  test("that are invalid refuse the whole batch, also where every item overrides the invalid field", async () => {
    const reply = await client.batches.post({
      defaults: { ...DEFAULTS, body: "", recipient: "+1415555", color: "red" },
      items: [{ recipient: recipientNo(1), body: "right" }],
    });
    assertInvalid(reply, ["/defaults/body too_short", "/defaults/color unknown_field", "/defaults/recipient impossible_number"]);
  });

  test("that are long and invalid are reported once, and not for every item", async () => {
    const empty = (length: number): object[] => Array.from({ length }, () => ({}));
    const reply = await client.batches.post({ defaults: { fallback: empty(1_000) }, items: empty(1_000) });
    assertProblem(reply, "invalid_request_payload");
    assert.ok(pointersOf(reply).includes("/defaults/fallback"));
    assert.ok(pointersOf(reply).every((pointer) => pointer?.startsWith("/defaults/fallback")));
    assert.ok(reply.text.length < 5_000);
  });

  test("may be incomplete: a required field is missed at each item", async () => {
    const { results } = await client.batches.send([{ recipient: recipientNo(1) }, { recipient: recipientNo(2), channel: "sms" }], {
      body: "Hello",
    });
    assert.deepEqual(
      results.map(({ status, error }) => [status, error?.errors.map(({ pointer, code }) => `${pointer} ${code}`)]),
      [
        ["refused", ["/items/0/channel required"]],
        ["accepted", undefined],
      ],
    );
  });
});

describe("one item is refused and all others are accepted:", () => {
  const AT = 7;
  const OPTED_OUT = recipientNo(9_001);
  const wide = Object.fromEntries(Array.from({ length: 40 }, (_, index) => [`name${index}`, "v".repeat(500)]));
  before(async () => {
    const added = await client.request("POST", "/v1/suppressions", { body: { recipient: OPTED_OUT } });
    assert.equal(added.status, 201, added.text);
  });

  const REFUSED: readonly (readonly [what: string, item: object, code: string, faults: readonly string[]])[] = [
    ["no recipient", { recipient: undefined }, "invalid_request_payload", ["/recipient required"]],
    ["a recipient that is not a number", { recipient: "Ada" }, "invalid_request_payload", ["/recipient invalid_format"]],
    ["an impossible number", { recipient: "+1415555" }, "invalid_request_payload", ["/recipient impossible_number"]],
    ["no channel", { channel: null }, "invalid_request_payload", ["/channel invalid_type"]],
    ["an unknown field", { color: "red" }, "invalid_request_payload", ["/color unknown_field"]],
    ["a batch id", { batch_id: "batch_x" }, "invalid_request_payload", ["/batch_id unknown_field"]],
    ["a field of the wrong type", { ttl_seconds: "60" }, "invalid_request_payload", ["/ttl_seconds invalid_type"]],
    ["a text and a template", { template_id: "welcome" }, "invalid_request_payload", ["/template_id conflict"]],
    ["a text that is too long for SMS", { body: "a".repeat(1_601) }, "invalid_request_payload", ["/body too_long"]],
    ["a time in the past", { send_at: "2020-01-01T00:00:00Z" }, "invalid_request_payload", ["/send_at in_the_past"]],
    [
      "several faults",
      { recipient: "+1", body: "", priority: "urgent" },
      "invalid_request_payload",
      ["/recipient invalid_format", "/body too_short", "/priority invalid_value"],
    ],
    [
      "an invalid fallback",
      {
        fallback: [
          { channel: "sms", body: "x", after_seconds: 60 },
          { channel: "fax", after_seconds: 0 },
        ],
      },
      "invalid_request_payload",
      ["/fallback/1/channel invalid_value", "/fallback/1/after_seconds out_of_range", "/fallback/1/body required"],
    ],
    ["a record that is too large", { metadata: wide }, "invalid_request_payload", [" too_large"]],
    [
      "a fallback whose record is too large",
      {
        metadata: Object.fromEntries(Object.entries(wide).slice(0, 24)),
        fallback: [{ channel: "whatsapp", body: "b".repeat(4_000), after_seconds: 60 }],
      },
      "invalid_request_payload",
      ["/fallback/0 too_large"],
    ],
    ["an unknown template", { body: null, template_id: "nothing" }, "template_not_found", ["/template_id template_not_found"]],
    [
      "a missing variable",
      { body: null, template_id: "verification_code" },
      "template_variables_mismatch",
      ["/template_variables/code missing_variable"],
    ],
    [
      "empty and extra variables",
      { body: null, template_id: "verification_code", template_variables: { code: " ", name: "Ada" } },
      "template_variables_mismatch",
      ["/template_variables/code empty_variable", "/template_variables/name extra_variable"],
    ],
    [
      "an unknown template of a fallback",
      { fallback: [{ channel: "sms", template_id: "nothing", after_seconds: 60 }] },
      "template_not_found",
      ["/fallback/0/template_id template_not_found"],
    ],
    [
      "more segments than max_segments",
      { body: "a".repeat(161), max_segments: 1 },
      "max_segments_exceeded",
      ["/max_segments max_segments_exceeded"],
    ],
    ["a recipient who opted out at the carrier", { recipient: "+15005550004" }, "recipient_opted_out", ["/recipient recipient_opted_out"]],
    ["a suppressed recipient", { recipient: OPTED_OUT }, "recipient_opted_out", ["/recipient recipient_opted_out"]],
    [
      "a closed service window",
      { recipient: "+15005550014", channel: "whatsapp" },
      "service_window_closed",
      ["/recipient service_window_closed"],
    ],
  ];
  for (const [what, item, code, faults] of REFUSED) {
    test(what, async () => {
      const list = items(12);
      list[AT] = { ...list[AT], client_reference: "refused", ...item };
      const { id, results, ...record } = await client.batches.send(list);
      assert.deepEqual([record.total, record.accepted, record.refused], [12, 11, 1]);
      const refused = results[AT];
      assert.deepEqual([refused?.index, refused?.status, refused?.message_id, refused?.error?.code], [AT, "refused", null, code]);
      assert.deepEqual(
        new Set(refused?.error?.errors.map((fault) => `${fault.pointer} ${fault.code}`)),
        new Set(faults.map((fault) => `/items/${AT}${fault}`)),
      );
      for (const fault of refused?.error?.errors ?? []) assert.ok(fault.detail !== "" && !("parameter" in fault));
      assert.ok(refused?.error?.detail, "the error has a detail");
      for (const { index, status, message_id: message, error } of results)
        if (index !== AT) assert.deepEqual([status, typeof message, error], ["accepted", "string", null]);
      assert.deepEqual(await batchEffects(godwit, id), { batches: 1, messages: 11, events: 11, queued: 11 });
      const messages = await client.batches.messages(id);
      assert.deepEqual(
        messages.filter(({ client_reference: reference }) => reference === "refused"),
        [],
      );
      const { accepted, refused: without, total } = await client.batches.read(id);
      assert.deepEqual([accepted, without, total], [11, 1, 12]);
    });
  }

  test("all of these in one batch, each for its own reason", async () => {
    const list = [...items(5), ...REFUSED.map(([, item], index) => ({ recipient: recipientNo(100 + index), ...item }))];
    const { results, accepted } = await client.batches.send(list);
    assert.equal(accepted, 5);
    assert.deepEqual(
      results.slice(5).map(({ error }) => error?.code),
      REFUSED.map(([, , code]) => code),
    );
    results.forEach(({ error }, index) =>
      error?.errors.forEach(({ pointer }) => assert.match(String(pointer), new RegExp(`^/items/${index}(/|$)`))),
    );
  });

  test("an item with very many faults, of which the first twenty and the total are reported", async () => {
    const wrong = Object.fromEntries(Array.from({ length: 90 }, (_, index) => [`field${index}`, index]));
    const { results } = await client.batches.send([...items(1), { recipient: recipientNo(2), ...wrong }]);
    const error = results[1]?.error;
    assert.deepEqual([results[0]?.status, error?.errors.length], ["accepted", 20]);
    assert.match(error?.detail ?? "", /and 89 more/);
  });

  test("suppressed recipients throughout a batch of a thousand", async () => {
    const isSuppressed = (index: number): boolean => index % 97 === 0 || [249, 250, 499, 500, 999].includes(index);
    const { results, id } = await client.batches.send(items(1_000, (index) => (isSuppressed(index) ? { recipient: OPTED_OUT } : {})));
    assert.deepEqual(
      results.filter(({ status }) => status === "refused").map(({ index }) => index),
      Array.from({ length: 1_000 }, (_, index) => index).filter(isSuppressed),
    );
    const messages = (await client.batches.messages(id)).toReversed();
    assert.deepEqual(
      messages.map((message) => [message["id"], message["recipient"]]),
      results.flatMap(({ message_id: message, index }) => (message === null ? [] : [[message, recipientNo(index)]])),
    );
  });
});

describe("the size of a body", () => {
  test("is also limited by the number of values, which is counted before it is parsed", async () => {
    const body = `{"items":[${"{},".repeat(60_000)}{}]}`;
    assertInvalid(await client.batches.post(body), [" too_many"]);
  });

  test("bounds the size of the response", async () => {
    const name = "n".repeat(60);
    const refused = items(1_000, () => Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`${name}${index}`, 1])));
    const reply = await client.batches.post({ defaults: DEFAULTS, items: refused });
    const { results } = acceptedBatch(reply);
    assert.ok(reply.text.length < 1_048_576, `${reply.text.length}`);
    assert.equal(results[0]?.error?.errors.length, 20);
    assert.deepEqual(results.at(-1)?.error?.errors, []);
    assert.match(results.at(-1)?.error?.detail ?? "", /^items\/999\/n+0: is not a known field \(and 19 more\)\.$/);
  });

  test("with a number that no computer can represent is refused, not an error of the service", async () => {
    const reply = await client.batches.post(`{"items":[{"recipient":1e400}]}`);
    assertInvalid(reply, ["/items/0/recipient out_of_range"]);
  });

  const ofBytes = (bytes: number): string => {
    const shell = (filling: string): string => JSON.stringify({ defaults: DEFAULTS, items: items(1_000), filling });
    return shell("x".repeat(bytes - Buffer.byteLength(shell(""))));
  };

  test("between 64 kB and 2 MB is accepted", async () => {
    const body = { defaults: DEFAULTS, items: items(1_000, () => ({ body: "a".repeat(1_600) })) };
    const size = Buffer.byteLength(JSON.stringify(body));
    assert.ok(size > 1_600_000 && size < 2_097_152);
    assert.equal(acceptedBatch(await client.batches.post(body)).accepted, 1_000);
    // A body of exactly the limit is refused only for its content.
    const full = await client.batches.post(ofBytes(2_097_152));
    assert.deepEqual(pointersOf(full), ["/filling"]);
  });

  test("above 2 MB is a 413 with the limit, with and without a declared length", async () => {
    const earlier = await rowCounts(godwit);
    const body = ofBytes(2_097_153);
    const declared = await client.batches.post(body);
    const streamed = await fetch(`${godwit.url}/v1/batches`, {
      method: "POST",
      headers: { authorization: `Bearer ${client.key}`, "content-type": "application/json" },
      body: new Blob([body]).stream(),
      duplex: "half",
    });
    const undeclared = {
      status: streamed.status,
      headers: streamed.headers,
      text: await streamed.clone().text(),
      json: (await streamed.json()) as Json,
    };
    for (const reply of [declared, undeclared]) {
      assertProblem(reply, "payload_too_large");
      assert.match(String(reply.json["detail"]), /2097152/);
    }
    assert.deepEqual(await rowCounts(godwit), earlier);
  });

  for (const path of ["/v1/messages", "/v1/messages/validate"])
    test(`above 64 kB is still a 413 on ${path}`, async () => {
      const reply = await client.request("POST", path, { body: { ...items(1)[0], channel: "whatsapp", body: "a".repeat(65_536) } });
      assertProblem(reply, "payload_too_large");
      assert.match(String(reply.json["detail"]), /65536/);
    });
});

describe("access", () => {
  const body = { defaults: DEFAULTS, items: items(2) };

  test("to send and read a batch requires the scopes", async () => {
    const send = clientOf(godwit, await godwit.key({ scopes: ["messages:send"] }));
    const read = clientOf(godwit, await godwit.key({ scopes: ["messages:read"] }));
    const earlier = await rowCounts(godwit);
    assertProblem(await read.batches.post(body), "forbidden_insufficient_scope");
    assert.deepEqual(await rowCounts(godwit), earlier);
    const { id } = acceptedBatch(await send.batches.post(body));
    assertProblem(await send.batches.request("GET", `/${id}`), "forbidden_insufficient_scope");
    assert.equal((await read.batches.read(id))["total"], 2);
    assertProblem(await godwit.request("POST", "/v1/batches", { body }), "unauthorized_missing_token");
  });

  test("to a batch of another environment or account, or with an invalid id, is a 404", async () => {
    const { id } = await client.batches.send(items(1));
    const others = [await godwit.key({ environment: "live" }), await godwit.key({ account: "a stranger" })];
    await godwit.unlimited();
    for (const other of others.map((key) => clientOf(godwit, key))) {
      assertProblem(await other.batches.request("GET", `/${id}`), "not_found");
      assert.deepEqual(await other.batches.messages(id), []);
    }
    for (const name of ["none", "batch_", `batch_${"0".repeat(26)}`, id.replace("batch_", "msg_")])
      assertProblem(await client.batches.request("GET", `/${name}`), "not_found");
  });

  test("with a live key without a route stores the batch and refuses every item", async () => {
    const live = clientOf(godwit, await godwit.key({ environment: "live" }));
    await godwit.unlimited();
    const { accepted, status, environment, results } = acceptedBatch(await live.batches.post(body));
    assert.deepEqual([accepted, status, environment], [0, "completed", "live"]);
    assert.deepEqual(
      results.map(({ error }) => error?.code),
      ["no_route", "no_route"],
    );
    assert.deepEqual(
      results.map(({ error }) => error?.errors.map(({ pointer }) => pointer)),
      [["/items/0"], ["/items/1"]],
    );
  });
});

describe("the idempotency key of a batch", () => {
  const body = (): object => ({ defaults: DEFAULTS, items: [...items(20), { recipient: "+15005550004" }, { recipient: "x" }] });

  test("replays the response with the same bytes, and sends nothing", async () => {
    const options = { idempotencyKey: randomUUID() };
    const first = await client.batches.post(body(), options);
    assertFirst(first);
    const earlier = await rowCounts(godwit);
    for (let count = 0; count < 3; count += 1) assertReplayOf(first, await client.batches.post(body(), options));
    // Fields in another order are the same body.
    const { defaults, items: list } = body() as { defaults: object; items: object[] };
    assertReplayOf(first, await client.batches.post({ items: list, defaults }, options));
    assert.deepEqual(await rowCounts(godwit), earlier);
  });

  test("replays the first decision, although a new request would be decided differently", async () => {
    const recipient = recipientNo(9_100);
    const options = { idempotencyKey: randomUUID() };
    const request = { defaults: DEFAULTS, items: [{ recipient }] };
    const first = await client.batches.post(request, options);
    assert.equal(acceptedBatch(first).accepted, 1);
    assert.equal((await client.request("POST", "/v1/suppressions", { body: { recipient } })).status, 201);
    assertReplayOf(first, await client.batches.post(request, options));
    assert.equal(acceptedBatch(await client.batches.post(request)).accepted, 0);
  });

  test("replays a batch without accepted items", async () => {
    const options = { idempotencyKey: randomUUID() };
    const first = await client.batches.post({ defaults: DEFAULTS, items: [{ recipient: "x" }] }, options);
    assert.equal(acceptedBatch(first).accepted, 0);
    assertReplayOf(first, await client.batches.post({ defaults: DEFAULTS, items: [{ recipient: "x" }] }, options));
    assert.equal((await client.batches.completions(first.json["id"])).length, 1);
  });

  test("with another body or on another path is a 422", async () => {
    const options = { idempotencyKey: randomUUID() };
    assertFirst(await client.batches.post(body(), options));
    const earlier = await rowCounts(godwit);
    assertReused(await client.batches.post({ defaults: { ...DEFAULTS, body: "Other" }, items: items(20) }, options));
    assertReused(await client.request("POST", "/v1/messages", { body: { ...DEFAULTS, recipient: recipientNo(1) }, ...options }));
    assert.deepEqual(await rowCounts(godwit), earlier);
  });

  test("is unused after a 400", async () => {
    const options = { idempotencyKey: randomUUID() };
    assertProblem(await client.batches.post({ items: [] }, options), "invalid_request_payload");
    assertFirst(await client.batches.post(body(), options));
  });

  test("that is not a UUID is a 400", async () => {
    assertProblem(await client.batches.post(body(), { idempotencyKey: "not-a-uuid" }), "invalid_idempotency_key");
  });

  test("of many concurrent requests creates one batch", async () => {
    const options = { idempotencyKey: randomUUID() };
    const request = { defaults: DEFAULTS, items: items(300) };
    const earlier = await rowCounts(godwit);
    const replies = await Promise.all(Array.from({ length: 12 }, () => client.batches.post(request, options)));
    const first = assertOneExecution(replies);
    assert.deepEqual(await batchEffects(godwit, first.json["id"]), { batches: 1, messages: 300, events: 300, queued: 300 });
    const now = await rowCounts(godwit);
    assert.equal(now["messages"], Number(earlier["messages"]) + 300);
    assert.equal(now["batches"], Number(earlier["batches"]) + 1);
    assertReplayOf(first, await client.batches.post(request, options));
  });

  test("is a conflict while the first request runs, and nothing is visible before its commit", async () => {
    await using hold = await holdAccepts(godwit.databaseUrl);
    const earlier = await rowCounts(godwit);
    const options = { idempotencyKey: randomUUID() };
    // The last statement of the request waits, and the rows of the others are not committed.
    const request = { defaults: DEFAULTS, items: items(600, (index) => (index === 599 ? { body: HELD_BODY } : {})) };
    const running = client.batches.post(request, options);
    await hold.waiting();
    assertConflict(await client.batches.post(request, options));
    assert.deepEqual(await rowCounts(godwit), earlier);
    await hold.release();
    const first = await running;
    assertFirst(first);
    assert.equal((await batchEffects(godwit, first.json["id"])).messages, 600);
    assertReplayOf(first, await client.batches.post(request, options));
  });
});

describe("the completion of a batch", () => {
  let notifying: Godwit;
  let hook: Hook;
  before(async () => {
    notifying = await startGodwit(WITH_WEBHOOKS);
    hook = await Hook.listen();
  });
  after(async () => {
    await notifying.stop();
    await hook[Symbol.asyncDispose]();
  });

  type Subscriber = { customer: Customer; own: Client; heard: () => Json[]; endpoint: Awaited<ReturnType<Customer["endpoint"]>> };
  const subscriber = async (): Promise<Subscriber> => {
    const customer = await Customer.of(notifying);
    const endpoint = await customer.endpoint(hook, ["batch.*"]);
    const heard = (): Json[] =>
      endpoint.calls.filter(({ event }) => event.type === "batch.completed").map(({ event }) => event.data["batch"] as Json);
    return { customer, own: customer.client, heard, endpoint };
  };

  test("is reported once, with the counts, when every message has a final status", async () => {
    const { own, heard, endpoint } = await subscriber();
    const recipients = ["+14155550100", "+14155550101", "+15005550002", "+15005550005", "+15005550004", "+15005550012"];
    const { id } = await own.batches.send(recipients.map((recipient) => ({ recipient })));
    const record = await own.batches.completed(id);
    assert.deepEqual(record["statuses"], { delivered: 3, failed: 1, undelivered: 1 });
    assert.deepEqual([record["accepted"], record["refused"], record["total"]], [5, 1, 6]);
    assert.ok(Date.parse(String(record["completed_at"])) >= Date.parse(String(record["created_at"])));
    const [event, ...more] = await own.batches.completions(id);
    assert.deepEqual(more, []);
    assert.ok(event !== undefined);
    const { data } = event as { data: Json };
    assert.deepEqual(data["batch"], record);
    assert.deepEqual(Object.keys(data), ["batch"]);
    const call = await until("the webhook arrives", () => endpoint.calls.find(({ event: delivered }) => delivered.id === event["id"]));
    verify(call, endpoint.secret);
    assert.deepEqual(call.event, event);
    await endpoint.test();
    assert.equal(heard().length, 1);
  });

  test("of a batch without accepted items is reported at once", async () => {
    const { own, heard, endpoint } = await subscriber();
    const { id, status, completed_at: completedAt, accepted } = await own.batches.send([{ recipient: "x" }, { recipient: "+15005550004" }]);
    assert.deepEqual([status, accepted], ["completed", 0]);
    const record = await own.batches.read(id);
    assert.deepEqual([record["completed_at"], record["statuses"]], [completedAt, {}]);
    await until("the webhook arrives", () => (heard().length > 0 ? true : undefined));
    assert.deepEqual(heard(), [record]);
    await endpoint.test();
    assert.equal(heard().length, 1);
    assert.equal((await own.batches.completions(id)).length, 1);
  });

  test("waits for a scheduled message, and is reported when that is canceled", async () => {
    const { own, heard, endpoint } = await subscriber();
    const { id, results } = await own.batches.send(items(3, (index) => (index === 1 ? { send_at: afterSeconds(3_600) } : {})));
    await until("the other messages are delivered", async () => {
      const { statuses } = await own.batches.read(id);
      return (statuses as Json)["delivered"] === 2 ? true : undefined;
    });
    // A later batch that completes shows that the check ran in between.
    const later = await own.batches.send(items(1));
    await own.batches.completed(later.id);
    const checkedAt = async (): Promise<number> =>
      (await notifying.rows<{ at: number }>("select extract(epoch from look_at)::float8 as at from batches where id = $1", [rowId(id)]))[0]
        ?.at ?? 0;
    const earlier = await checkedAt();
    await until("the batch is checked again", async () => ((await checkedAt()) > earlier ? true : undefined));
    assert.deepEqual([(await own.batches.read(id))["status"], (await own.batches.read(id))["completed_at"]], ["processing", null]);
    assert.deepEqual(await own.batches.completions(id), []);
    const canceled = await own.messages.cancel(results[1]?.message_id);
    assert.equal(canceled.status, 200, canceled.text);
    assert.deepEqual((await own.batches.completed(id))["statuses"], { canceled: 1, delivered: 2 });
    await until("the webhook arrives", () => (heard().length === 2 ? true : undefined));
    await endpoint.test();
    assert.deepEqual(new Set(heard().map((batch) => batch["id"])), new Set([id, later.id]));
    assert.equal(heard().length, 2);
  });

  test("waits for a message that is scheduled for soon", async () => {
    const { own } = await subscriber();
    const sendAt = afterSeconds(2);
    const { id } = await own.batches.send(items(2, (index) => (index === 0 ? { send_at: sendAt } : {})));
    const record = await own.batches.completed(id);
    assert.deepEqual(record["statuses"], { delivered: 2 });
    assert.ok(Date.parse(String(record["completed_at"])) >= Date.parse(sendAt));
    assert.equal((await own.batches.completions(id)).length, 1);
  });

  test("of a thousand messages is reported once", async () => {
    const { own, heard, endpoint } = await subscriber();
    const { id } = await own.batches.send(items(1_000));
    assert.deepEqual((await own.batches.completed(id))["statuses"], { delivered: 1_000 });
    await until("the webhook arrives", () => (heard().length > 0 ? true : undefined));
    await endpoint.test();
    assert.equal(heard().length, 1);
  });
});
