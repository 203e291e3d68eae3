import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { maskBody, maskPath, maskProblem, maskQuery } from "./mask.ts";

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

  test("masks a value with many digits or with spaces, whatever its field is", () => {
    assert.deepEqual(masked({ channel: "14155550123", priority: "see you at nine" }), {
      channel: "[11 characters]",
      priority: "[15 characters]",
    });
  });

  test("is bounded in values, depth and length", () => {
    const nested = { a: { a: { a: { a: { a: { a: { a: 1 } } } } } } };
    assert.deepEqual(masked(nested), { a: { a: { a: { a: { a: { a: "[object]" } } } } } });
    const many = masked(Array.from({ length: 1_000 }, () => null)) as unknown[];
    assert.deepEqual([many.length, many.at(-1)], [200, "[801 more]"]);
    const long = maskBody(Buffer.from(JSON.stringify(Object.fromEntries(Array.from({ length: 150 }, (_, at) => [`field_${at}`, "x"])))));
    assert.ok(long !== undefined && long.length <= 2_001 && long.endsWith("…"));
  });

  test("is absent for an empty body and for one that is not JSON", () => {
    assert.equal(maskBody(Buffer.alloc(0)), undefined);
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

test("a problem keeps its code, its detail and its first faults, without numbers", () => {
  const fault = { pointer: "/recipient", code: "invalid_format", detail: "did you mean +14155550123" };
  const problem = {
    type: "x",
    code: "invalid_request_payload",
    detail: "Recipient 14155550123.",
    errors: Array.from({ length: 20 }, () => fault),
  };
  const found = maskProblem(JSON.stringify(problem));
  assert.deepEqual([found?.code, found?.detail, found?.errors.length], ["invalid_request_payload", "Recipient [digits].", 10]);
  assert.deepEqual(found?.errors[0], { pointer: "/recipient", code: "invalid_format", detail: "did you mean [digits]" });
  assert.equal(maskProblem("<html>"), undefined);
  assert.equal(maskProblem("{}"), undefined);
});
