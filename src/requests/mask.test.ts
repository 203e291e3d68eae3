import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { maskBody, maskPath, maskProblem, maskQuery, maskUserAgent } from "./mask.ts";

const masked = (value: unknown): unknown => JSON.parse(maskBody(Buffer.from(JSON.stringify(value))) ?? "null");

describe("a masked body", () => {
  test("shows names, kinds, lengths and words of the API, and no value of a person", () => {
    const body = {
      recipient: "+14155550123",
      body: "Your code is 123456",
      channel: "sms",
      code: 1234,
      template_id: "tmpl_01k9zs3v8mf4tb2xg1qj6n0d5c",
      template_variables: { name: "Ann" },
      ttl_seconds: 300,
      is_urgent: true,
      sender: null,
      "+14155550123": "x",
    };
    assert.deepEqual(masked(body), {
      recipient: "[12 characters]",
      body: "[19 characters]",
      channel: "sms",
      code: "[number]",
      template_id: "tmpl_01k9zs3v8mf4tb2xg1qj6n0d5c",
      template_variables: { name: "[3 characters]" },
      ttl_seconds: 300,
      is_urgent: true,
      sender: null,
      "[name]": "[1 character]",
    });
  });

  test("masks a value with digits or spaces, whatever its field is, and a large number", () => {
    const body = {
      channel: "415-555-0123",
      priority: "see you at nine",
      status: "8421",
      ttl_seconds: 14_155_550_123,
      body: "sk_0123456789abcdefghijklmnop",
    };
    assert.deepEqual(masked(body), {
      channel: "[12 characters]",
      priority: "[15 characters]",
      status: "[4 characters]",
      ttl_seconds: "[number]",
      body: "[29 characters]",
    });
    assert.deepEqual(masked({ send_at: "2030-01-31T09:00:00Z" }), { send_at: "2030-01-31T09:00:00Z" });
  });

  test("takes names of the API for those of a customer in objects that a customer fills, and not in items of a batch", () => {
    const body = {
      metadata: { action: "annsmith", "": { type: "ill" } },
      template_variables: { status: "ill", limit: 5 },
      items: [{ channel: "sms", fallback: [{ channel: "whatsapp" }], metadata: { type: "ill" } }],
      "": { type: "ill" },
    };
    assert.deepEqual(masked(body), {
      metadata: { action: "[8 characters]", "[name]": { type: "[3 characters]" } },
      template_variables: { status: "[3 characters]", limit: "[number]" },
      items: [{ channel: "sms", fallback: [{ channel: "whatsapp" }], metadata: { type: "[3 characters]" } }],
      "[name]": { type: "[3 characters]" },
    });
  });

  test("is bounded in values, depth and length", () => {
    const nested = { a: { a: { a: { a: { a: { a: { a: 1 } } } } } } };
    assert.deepEqual(masked(nested), { a: { a: { a: { a: { a: { a: "[object]" } } } } } });
    const many = masked(Array.from({ length: 1_000 }, () => null)) as unknown[];
    assert.deepEqual([many.length, many.at(-1)], [200, "[801 more]"]);
    const long = maskBody(
      Buffer.from(
        JSON.stringify(
          Object.fromEntries(Array.from({ length: 150 }, (_, at) => [`field_${"x".repeat(at % 30)}${"y".repeat(at)}`.slice(0, 40), "x"])),
        ),
      ),
    );
    assert.ok(long !== undefined && long.length <= 2_001 && long.endsWith("…"));
  });

  test("is absent for an empty body, a long one, and one that is not JSON", () => {
    assert.equal(maskBody(Buffer.alloc(0)), undefined);
    assert.equal(maskBody(Buffer.from(JSON.stringify("x".repeat(16_384)))), undefined);
    assert.equal(maskBody(Buffer.from("recipient=+14155550123")), undefined);
  });
});

test("a path keeps the ids that it names, and a query its words", () => {
  const id = "msg_01k9zs3v8mf4tb2xg1qj6n0d5c";
  assert.equal(maskPath("/v1/messages/:id/events", { id }), `/v1/messages/${id}/events`);
  assert.equal(maskPath("/v1/messages/:id", { id: "+14155550123" }), "/v1/messages/[12 characters]");
  assert.equal(maskQuery({}), "");
  assert.equal(
    maskQuery({ status: "failed", recipient: "+14155550123", message_id: id, cursor: "AAEC", limit: ["5", "6"] }),
    `?status=failed&recipient=[12 characters]&message_id=${id}&cursor=[4 characters]&limit=5&limit=6`,
  );
});

test("a problem keeps its code and its first faults, without numbers and without names that a client invented", () => {
  const fault = { pointer: "/recipient", code: "invalid_format", detail: "did you mean +14155550123" };
  const invented = { pointer: "/metadata/Ann Smith", code: "invalid_value", detail: "must be text, not ١٤١٥٥٥٥" };
  const errors = [
    invented,
    { parameter: "gw_test_0Abc", code: "unknown", detail: "is unknown" },
    ...Array.from({ length: 20 }, () => fault),
  ];
  const found = maskProblem(
    JSON.stringify({ type: "x", code: "invalid_request_payload", detail: "metadata/Ann Smith: is wrong.", errors }),
  );
  assert.deepEqual([found?.code, found?.detail], ["invalid_request_payload", "metadata/[name]: must be text, not [digits]"]);
  assert.equal(found?.errors.length, 10);
  assert.deepEqual(found?.errors[1], { parameter: "[name]", code: "unknown", detail: "is unknown" });
  assert.deepEqual(found?.errors[2], { pointer: "/recipient", code: "invalid_format", detail: "did you mean [digits]" });
  assert.equal(maskProblem(JSON.stringify({ code: "x", detail: "Recipient 14155550123." }))?.detail, "Recipient [digits].");
  assert.equal(maskProblem("<html>"), undefined);
  assert.equal(maskProblem("{}"), undefined);
});

test("a User-Agent keeps its programs", () => {
  assert.equal(maskUserAgent("godwit-sdk/0.2.0 node/24.1.0 (+14155550123) ann@example.com"), "godwit-sdk/0.2.0 node/24.1.0");
  assert.equal(maskUserAgent("gw_test_0Abc 14155550123/1"), null);
});
