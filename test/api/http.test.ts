/** The common properties of all responses, and the order in which rules are checked. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { ERRORS, type ErrorCode } from "../../src/http/codes.ts";
import { assertCommonHeaders, assertProblem, exchange, faultsOf, pointersOf } from "../support/expect.ts";
import { sms, startGodwit, type Godwit, type Reply, type RequestOptions } from "../support/harness.ts";

const NO_MESSAGE = "/v1/messages/msg_01k9zs3v8mf4tb2xg1qj6n0d5c";
const TOO_LARGE = JSON.stringify({ ...sms(), body: "x".repeat(70_000) });

let godwit: Godwit;
let key: string;
let readOnly: string;
let exhausted: string;
let stranger: string;
let live: string;
/** Paths of two messages. */
let queued: string;
let canceled: string;
before(async () => {
  godwit = await startGodwit();
  await godwit.unlimited();
  key = await godwit.key();
  readOnly = await godwit.key({ scopes: ["messages:read"] });
  stranger = await godwit.key({ account: "stranger" });
  exhausted = await godwit.key({ account: "exhausted", scopes: ["messages:read"] });
  await godwit.rows("insert into tiers (name, requests_per_second, burst) values ('trickle', 1, 1)");
  await godwit.rows("update environments set tier = 'trickle' where account_id = (select id from accounts where name = 'exhausted')");
  live = await godwit.key({ environment: "live" });
  queued = `/v1/messages/${String((await godwit.send(key)).json["id"])}`;
  canceled = `/v1/messages/${String((await godwit.send(key)).json["id"])}`;
  assert.equal((await godwit.request("POST", `${canceled}/cancel`, { key })).status, 200);
});
after(() => godwit.stop());

/** Uses the one request per second of the environment, so that the next request exceeds the quota. */
async function overQuota(method: string, path: string, options: RequestOptions = {}): Promise<Reply> {
  for (let tries = 0; tries < 10; tries += 1) {
    const [, second] = await Promise.all([
      godwit.request("GET", NO_MESSAGE, { key: exhausted }),
      godwit.request(method, path, { ...options, key: exhausted }),
    ]);
    if (second.status === 429) return second;
  }
  throw new Error("the quota of one request a second was never exceeded");
}

describe("the common headers", () => {
  const OK: readonly (readonly [string, () => Promise<Reply>, number])[] = [
    ["an accepted message", () => godwit.send(key), 202],
    ["a list", () => godwit.request("GET", "/v1/messages", { key }), 200],
    ["a redirect", () => godwit.request("GET", "/"), 303],
    ["the health of the process", () => godwit.request("GET", "/livez"), 200],
    ["the readiness", () => godwit.request("GET", "/readyz"), 200],
    ["the OpenAPI document", () => godwit.request("GET", "/openapi.json"), 200],
    ["the reference", () => godwit.request("GET", "/docs"), 200],
    ["the metrics", () => godwit.request("GET", "/metrics"), 200],
  ];
  for (const [what, ask, status] of OK) {
    test(`are on ${what}`, async () => {
      const reply = await ask();
      assert.equal(reply.status, status);
      assertCommonHeaders(reply);
    });
  }

  const REFUSED: readonly (readonly [string, ErrorCode, () => Promise<Reply>])[] = [
    ["a body that is not JSON", "invalid_request_payload", () => godwit.request("POST", "/v1/messages", { key, body: "{" })],
    ["an idempotency key that is not a UUID", "invalid_idempotency_key", () => godwit.send(key, {}, { idempotencyKey: "again" })],
    ["no credential", "unauthorized_missing_token", () => godwit.request("GET", "/v1/messages")],
    ["a wrong credential", "unauthorized_invalid_token", () => godwit.request("GET", "/v1/messages", { key: "gw_test_wrong" })],
    ["a missing scope", "forbidden_insufficient_scope", () => godwit.send(readOnly)],
    ["an unknown path", "not_found", () => godwit.request("GET", "/v1/nothing", { key })],
    ["a trailing slash", "not_found", () => godwit.request("GET", "/v1/messages/", { key })],
    ["an unknown message", "not_found", () => godwit.request("GET", NO_MESSAGE, { key })],
    ["an invalid id", "not_found", () => godwit.request("GET", "/v1/messages/msg_0", { key })],
    ["an id of another kind", "not_found", () => godwit.request("GET", NO_MESSAGE.replace("msg_", "key_"), { key })],
    ["a very long id", "not_found", () => godwit.request("GET", `/v1/messages/${"a".repeat(300)}`, { key })],
    ["a URL that cannot be decoded", "invalid_request_payload", () => godwit.request("GET", "/v1/messages/%zz", { key })],
    ["a wrong method", "method_not_allowed", () => godwit.request("DELETE", "/v1/messages", { key })],
    ["a body that is too large", "payload_too_large", () => godwit.request("POST", "/v1/messages", { key, body: TOO_LARGE })],
    ["a body with another media type", "unsupported_media_type", () => godwit.send(key, {}, { headers: { "content-type": "text/plain" } })],
    ["an unknown template", "template_not_found", () => godwit.send(key, { body: undefined, template_id: "welcome" })],
    ["an environment without a link", "no_route", () => godwit.send(live)],
    ["a cancel of a message with a final status", "message_not_cancelable", () => godwit.request("POST", `${canceled}/cancel`, { key })],
    [
      "an edit of a message with a final status",
      "message_not_editable",
      () => godwit.request("PATCH", canceled, { key, body: { body: "x" } }),
    ],
    ["a redaction of a queued message", "message_not_redactable", () => godwit.request("POST", `${queued}/redact`, { key })],
    ["a cancel of an unknown message", "not_found", () => godwit.request("POST", `${NO_MESSAGE}/cancel`, { key })],
    ["an exceeded quota", "rate_limit_exceeded", () => overQuota("GET", "/v1/messages")],
  ];
  for (const [what, code, ask] of REFUSED) {
    test(`are on the problem response ${ERRORS[code].status} ${code} for ${what}`, async () => {
      assertProblem(await ask(), code);
    });
  }

  test("include a request id that differs in every response", async () => {
    const replies = await Promise.all(Array.from({ length: 50 }, () => godwit.request("GET", "/livez")));
    assert.equal(new Set(replies.map(({ headers }) => headers.get("x-request-id"))).size, 50);
  });

  test("are on the 404 for a message of another account, which does not contain its id", async () => {
    const sent = await godwit.send(key);
    const reply = await godwit.request("GET", `/v1/messages/${String(sent.json["id"])}`, { key: stranger });
    assertProblem(reply, "not_found");
    assert.ok(!reply.text.includes(String(sent.json["id"])));
  });
});

describe("methods", () => {
  const ALLOWED: readonly (readonly [path: string, allow: string])[] = [
    ["/v1/messages", "GET, HEAD, POST"],
    ["/v1/messages?limit=1", "GET, HEAD, POST"],
    [NO_MESSAGE, "GET, HEAD, PATCH"],
    [`${NO_MESSAGE}/events`, "GET, HEAD"],
    [`${NO_MESSAGE}/cancel`, "POST"],
    [`${NO_MESSAGE}/redact`, "POST"],
    ["/v1/usage", "GET, HEAD"],
    ["/v1/queue", "GET, HEAD"],
    ["/", "GET, HEAD"],
    ["/livez", "GET, HEAD"],
    ["/readyz", "GET, HEAD"],
    ["/metrics", "GET, HEAD"],
    ["/openapi.json", "GET, HEAD"],
    ["/docs", "GET, HEAD"],
    ["/errors/not_found", "GET, HEAD"],
    ["/v1/keys", "GET, HEAD, POST"],
    ["/v1/keys/key_01k9zs3v8mf4tb2xg1qj6n0d5c", "DELETE, GET, HEAD"],
    ["/v1/oauth/token", "POST"],
    ["/.well-known/jwks.json", "GET, HEAD"],
  ];
  const METHODS = ["PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND", "PURGE"];
  for (const [path, allow] of ALLOWED) {
    test(`that ${path} does not support are refused with Allow: ${allow}`, async () => {
      for (const method of METHODS.filter((each) => !allow.split(", ").includes(each))) {
        const reply = await exchange(godwit.url, `${method} ${path} HTTP/1.1\r\nhost: godwit.test\r\n\r\n`);
        assertProblem(reply, "method_not_allowed");
        assert.equal(reply.headers.get("allow"), allow, method);
      }
    });
  }

  test("that may have a body are also refused without one", async () => {
    const reply = await exchange(godwit.url, "QUERY /v1/messages HTTP/1.1\r\nhost: godwit.test\r\n\r\n");
    assertProblem(reply, "method_not_allowed");
    assert.equal(reply.headers.get("allow"), "GET, HEAD, POST");
  });

  test("have no Allow header on an unknown path", async () => {
    const reply = await godwit.request("PROPFIND", "/v1/nothing");
    assertProblem(reply, "not_found");
    assert.equal(reply.headers.get("allow"), null);
  });

  test("include HEAD, which responds as GET without the body", async () => {
    for (const [path, status] of [
      ["/livez", 200],
      ["/v1/nothing", 404],
      ["/v1/messages", 401],
    ] as const) {
      const bytes = `HEAD ${path} HTTP/1.1\r\nhost: godwit.test\r\nconnection: close\r\n\r\n`;
      const reply = await exchange(godwit.url, bytes, { isHead: true });
      assert.equal(reply.status, status);
      assertCommonHeaders(reply);
      assert.ok((await godwit.raw(bytes)).endsWith("\r\n\r\n"), "nothing follows the headers");
    }
  });
});

const postHead = (headers: readonly string[]): string =>
  `POST /v1/messages HTTP/1.1\r\nhost: godwit.test\r\nauthorization: Bearer ${key}\r\n${headers.map((line) => `${line}\r\n`).join("")}\r\n`;

const post = (headers: readonly string[], body: string | Buffer = JSON.stringify(sms())): Promise<Reply> =>
  exchange(
    godwit.url,
    Buffer.concat([Buffer.from(postHead([`content-length: ${Buffer.byteLength(body)}`, ...headers])), Buffer.from(body)]),
  );

/** Posts a message of so many bytes without a declared length. */
const postChunked = (bytes: number): Promise<Reply> => {
  const text = JSON.stringify(sms()).padStart(bytes);
  const head = postHead(["content-type: application/json", "transfer-encoding: chunked"]);
  return exchange(godwit.url, `${head}${bytes.toString(16)}\r\n${text}\r\n0\r\n\r\n`);
};

describe("media types", () => {
  const REFUSED: readonly (readonly string[])[] = [
    [],
    ["content-type:"],
    ["content-type: text/plain"],
    ["content-type: application/x-www-form-urlencoded"],
    ["content-type: application/jsonp"],
    ["content-type: application/json5"],
    ["content-type: application/problem+json"],
    ["content-type: text/plain, application/json"],
    ["content-type: application/json, text/plain"],
    ["content-type: application/json; charset=latin1"],
    ["content-type: application/json; charset=utf-16"],
    ["content-type: application/json\t;"],
    ["content-type: application/json;"],
    ["content-type: application/json; boundary=x"],
    ["content-type: application /json"],
    ["content-type: \u00a0application/json"],
    ["content-type: \u000bapplication/json"],
    ["content-type: application/json", "content-encoding: gzip"],
    ["content-type: application/json", "content-encoding: br, identity"],
  ];
  for (const headers of REFUSED) {
    test(`refused: ${headers.length === 0 ? "none" : JSON.stringify(headers.join(", "))}`, async () => {
      const reply = await post(headers);
      // A header that is not valid HTTP is refused before its meaning is checked.
      if (reply.status !== 400) assertProblem(reply, "unsupported_media_type");
      else assertProblem(reply, "invalid_request_payload");
    });
  }

  const ACCEPTED = [
    "content-type: application/json",
    "content-type:application/json",
    "content-type:   application/json  ",
    "content-type: \tapplication/json",
    "content-type: Application/JSON",
    "content-type: application/json; charset=utf-8",
    'content-type: application/json;charset="UTF-8"',
    "content-type: application/json\t;\tcharset=utf-8",
  ];
  for (const header of ACCEPTED) {
    test(`accepted: ${JSON.stringify(header)}`, async () => {
      assert.equal((await post([header])).status, 202);
    });
  }

  test("a body without a declared length may have 65,536 bytes and no more", async () => {
    assert.equal((await postChunked(65_536)).status, 202);
    assertProblem(await postChunked(65_537), "payload_too_large");
  });
});

describe("of two violated rules the earlier one is reported:", () => {
  const asText = { "content-type": "text/plain" };
  const badKey = { idempotencyKey: "not-a-uuid" };
  const ROWS: readonly (readonly [string, ErrorCode, () => Promise<Reply>])[] = [
    ["an unknown path before a missing credential", "not_found", () => godwit.request("GET", "/v1/nothing")],
    ["an unknown path before a body that is too large", "not_found", () => godwit.request("POST", "/v1/nothing", { body: TOO_LARGE })],
    ["a wrong method before a missing credential", "method_not_allowed", () => godwit.request("DELETE", "/v1/messages")],
    [
      "a wrong method before a body that is too large",
      "method_not_allowed",
      () => godwit.request("PUT", "/v1/messages", { body: TOO_LARGE }),
    ],
    [
      "an invalid credential before an invalid media type",
      "unauthorized_invalid_token",
      () => godwit.request("POST", "/v1/messages", { key: "gw_test_x", body: "{}", headers: asText }),
    ],
    [
      "a missing credential before a body that is too large",
      "unauthorized_missing_token",
      () => godwit.request("POST", "/v1/messages", { body: TOO_LARGE }),
    ],
    ["an exceeded quota before a missing scope", "rate_limit_exceeded", () => overQuota("POST", "/v1/messages", { body: sms() })],
    [
      "a missing scope before an invalid media type",
      "forbidden_insufficient_scope",
      () => godwit.request("POST", "/v1/messages", { key: readOnly, body: "{}", headers: asText }),
    ],
    [
      "an invalid media type before a body that is too large",
      "unsupported_media_type",
      () => godwit.request("POST", "/v1/messages", { key, body: TOO_LARGE, headers: asText }),
    ],
    [
      "an invalid media type before invalid JSON",
      "unsupported_media_type",
      () => godwit.request("POST", "/v1/messages", { key, body: "{", headers: asText }),
    ],
    [
      "an invalid media type before an invalid idempotency key",
      "unsupported_media_type",
      () => godwit.request("POST", "/v1/messages", { key, body: "{}", headers: asText, ...badKey }),
    ],
    [
      "a body that is too large before an invalid idempotency key",
      "payload_too_large",
      () => godwit.request("POST", "/v1/messages", { key, body: TOO_LARGE, ...badKey }),
    ],
    [
      "an invalid idempotency key before a fault of the schema",
      "invalid_idempotency_key",
      () => godwit.request("POST", "/v1/messages", { key, body: {}, ...badKey }),
    ],
    ["a fault of the schema before a business rule", "invalid_request_payload", () => godwit.send(live, { priority: "extreme" })],
  ];
  for (const [what, code, ask] of ROWS) {
    test(what, async () => assertProblem(await ask(), code));
  }

  test("invalid JSON before an invalid idempotency key", async () => {
    const reply = await godwit.request("POST", "/v1/messages", { key, body: "{", ...badKey });
    assertProblem(reply, "invalid_request_payload");
    assert.deepEqual(
      faultsOf(reply).map(({ pointer, code }) => [pointer, code]),
      [["", "invalid_json"]],
    );
  });
});

describe("a problem response", () => {
  test("contains all faults of a body, each with its position", async () => {
    const body = { recipient: "12345", channel: "fax", body: "", ttl_seconds: 1, priority: "extreme", surprise: true };
    const reply = await godwit.request("POST", "/v1/messages", { key, body });
    assertProblem(reply, "invalid_request_payload");
    assert.equal(faultsOf(reply).length, 6);
    assert.deepEqual(new Set(pointersOf(reply)), new Set(["/body", "/channel", "/priority", "/recipient", "/surprise", "/ttl_seconds"]));
    assert.match(String(reply.json["detail"]), /and 5 more/);
  });

  test("contains one fault for each field", async () => {
    const reply = await godwit.send(key, { priority: 7 });
    assert.deepEqual(pointersOf(reply), ["/priority"]);
  });

  for (const [code, { status }] of Object.entries(ERRORS)) {
    test(`with ${code} has a page of documentation`, async () => {
      const reply = await godwit.request("GET", `/errors/${code}`);
      assert.equal(reply.status, 200);
      assertCommonHeaders(reply);
      assert.equal(reply.headers.get("content-type"), "text/html; charset=utf-8");
      assert.ok(reply.text.includes(code) && reply.text.includes(String(status)));
    });
  }

  test("with an unknown code has no page", async () => {
    for (const code of ["no_such_code", "toString", "__proto__", "%00"]) {
      assertProblem(await godwit.request("GET", `/errors/${code}`), "not_found");
    }
  });

  test("has a type with the address that the client uses", async () => {
    const reply = await godwit.request("GET", "/v1/nothing");
    const type = `${godwit.url}/errors/not_found`;
    assert.equal(reply.json["type"], type);
    assert.equal((await fetch(type)).status, 200);
  });

  test("does not contain a forged Host", async () => {
    const reply = await exchange(godwit.url, 'GET /v1/nothing HTTP/1.1\r\nhost: a"><script>/x\r\n\r\n');
    assert.ok(!reply.text.includes("script"));
    assert.match(String(reply.json["type"]), /errors\/|^\/errors\//);
  });

  const DEEP = `${'{"metadata":'.repeat(40)}1${"}".repeat(40)}`;
  const UNFIT: readonly (readonly [string, string | Buffer, string])[] = [
    ["no content", "", "required"],
    ["forty levels of nesting", DEEP, "too_deep"],
    ["sixty thousand brackets", "[".repeat(60_000), "too_deep"],
    ["a NUL character", JSON.stringify({ ...sms(), body: "a\0b" }), "invalid_character"],
    ["a NUL in a name", JSON.stringify({ ...sms(), metadata: { "a\0": "b" } }), "invalid_character"],
    ["an unpaired surrogate", '{"recipient":"+14155550123","channel":"sms","body":"\\ud83d"}', "invalid_character"],
    ["bytes that are not UTF-8", Buffer.from([0x22, 0xff, 0xfe, 0x22]), "invalid_encoding"],
    ["an overlong NUL", Buffer.from([0x22, 0xc0, 0x80, 0x22]), "invalid_encoding"],
    ["a byte order mark", "\ufeff{}", "invalid_json"],
    ["two values", "{}{}", "invalid_json"],
    ["an array", "[]", "invalid_type"],
    ["null", "null", "invalid_type"],
    ["a string", '"hello"', "invalid_type"],
  ];
  for (const [what, body, fault] of UNFIT) {
    test(`for a body with ${what} is a 400 with the fault ${fault}`, async () => {
      const reply = await post(["content-type: application/json"], body);
      assertProblem(reply, "invalid_request_payload");
      assert.equal(faultsOf(reply)[0]?.code, fault);
    });
  }

  test("is not sent for an escaped surrogate pair, which is one character", async () => {
    const reply = await godwit.request("POST", "/v1/messages", {
      key,
      body: '{"recipient":"+14155550123","channel":"sms","body":"\\ud83d\\ude00"}',
    });
    assert.equal(reply.status, 202);
    assert.equal(reply.json["body"], "😀");
  });
});
