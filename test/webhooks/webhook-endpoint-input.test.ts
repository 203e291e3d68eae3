/** Invalid input for endpoints: faults of the request with their positions, and URLs that the service may not call. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { clientOf, URL_TEXT, type EndpointClient } from "../support/client.ts";
import { assertProblem, faultsOf } from "../support/expect.ts";
import { startGodwit, type Godwit, type Reply } from "../support/harness.ts";

let godwit: Godwit;
let key: string;
let endpoints: EndpointClient;
before(async () => {
  godwit = await startGodwit();
  await godwit.unlimited();
  key = await godwit.key();
  endpoints = clientOf(godwit, key).endpoints;
});
after(() => godwit.stop());

describe("an invalid request", () => {
  const url = URL_TEXT;
  /** One invalid body for each rule that applies to both a new endpoint and an edit. */
  const BOTH: readonly (readonly [what: string, body: unknown, faults: Record<string, string>])[] = [
    ["a url of another type", { url: 5 }, { "/url": "invalid_type" }],
    ["an empty url", { url: "" }, { "/url": "too_short" }],
    ["a url of 2,049 characters", { url: url.padEnd(2_049, "x") }, { "/url": "too_long" }],
    ["a url without a scheme", { url: "example.com/hook" }, { "/url": "invalid_format" }],
    ["only a path", { url: "/hook" }, { "/url": "invalid_format" }],
    ["only a scheme", { url: "https://" }, { "/url": "invalid_format" }],
    ["an invalid host", { url: "https://exa mple.com/" }, { "/url": "invalid_format" }],
    ["a number that is not an address", { url: "https://1.2.3.4.5/" }, { "/url": "invalid_format" }],
    ["an invalid port", { url: "https://example.com:99999/" }, { "/url": "invalid_format" }],
    ["a space in the path", { url: "https://example.com/a b" }, { "/url": "invalid_format" }],
    ["a leading space", { url: ` ${url}` }, { "/url": "invalid_format" }],
    ["a trailing line break", { url: `${url}\n` }, { "/url": "invalid_format" }],
    ["an invisible character", { url: `${url}\u007f` }, { "/url": "invalid_format" }],
    ["a soft hyphen", { url: "https://exa\u00admple.com/hook" }, { "/url": "invalid_format" }],
    ["a change of the direction of reading", { url: `${url}/\u202egnp.x` }, { "/url": "invalid_format" }],
    ["a backslash", { url: "https://example.com\\@127.0.0.1/" }, { "/url": "invalid_format" }],
    ["a url that is too long when it is encoded", { url: `${url}/${"ä".repeat(500)}` }, { "/url": "too_long" }],
    ["a NUL character", { url: `${url}\0` }, { "/url": "invalid_character" }],
    ["an unpaired surrogate", { url: `${url}\ud800` }, { "/url": "invalid_character" }],
    ["ftp", { url: "ftp://example.com/hook" }, { "/url": "invalid_format" }],
    ["a javascript scheme", { url: "javascript:alert(1)" }, { "/url": "invalid_format" }],
    ["a file scheme", { url: "file:///etc/passwd" }, { "/url": "invalid_format" }],
    ["a user name", { url: "https://user@example.com/hook" }, { "/url": "invalid_format" }],
    ["a password", { url: "https://user:secret@example.com/hook" }, { "/url": "invalid_format" }],
    ["a fragment", { url: `${url}#part` }, { "/url": "invalid_format" }],
    ["a description of another type", { url, description: ["x"] }, { "/description": "invalid_type" }],
    ["a description of 257 characters", { url, description: "🐦".repeat(257) }, { "/description": "too_long" }],
    ["types that are not a list", { url, event_types: "message.*" }, { "/event_types": "invalid_type" }],
    ["no types", { url, event_types: [] }, { "/event_types": "too_few" }],
    ["fifty-one types", { url, event_types: Array.from({ length: 51 }, () => "*") }, { "/event_types": "too_many" }],
    ["a type of another type", { url, event_types: ["*", null] }, { "/event_types/1": "invalid_type" }],
    [
      "unknown types, each with its position",
      { url, event_types: ["message.sent", "message.lost", "*", "Message.sent", "message", "", "carrier.*"] },
      Object.fromEntries([1, 3, 4, 5, 6].map((index) => [`/event_types/${index}`, "unknown_value"])),
    ],
    ["a secret of the client", { url, secret: "whsec_x" }, { "/secret": "unknown_field" }],
    ["an unknown field", { url, "a/b": 1 }, { "/a~1b": "unknown_field" }],
    [
      "several faults at once",
      { url: "ftp://x", description: 1, event_types: ["x"], id: 1 },
      {
        "/url": "invalid_format",
        "/description": "invalid_type",
        "/event_types/0": "unknown_value",
        "/id": "unknown_field",
      },
    ],
    ["a list", [], { "": "invalid_type" }],
    ["a body that is not JSON", "{", { "": "invalid_json" }],
  ];
  const CREATE: typeof BOTH = [
    ["no url", {}, { "/url": "required" }],
    ["null for the url", { url: null }, { "/url": "invalid_type" }],
    ["a status", { url, status: "disabled" }, { "/status": "unknown_field" }],
  ];
  const EDIT: typeof BOTH = [
    ["an unknown status", { status: "paused" }, { "/status": "invalid_value" }],
    ["a status of another type", { status: true }, { "/status": "invalid_type" }],
    ["a disabled reason", { disabled_reason: "gone" }, { "/disabled_reason": "unknown_field" }],
  ];
  const RECOVER: typeof BOTH = [
    ["no time", {}, { "/since": "required" }],
    ["null for the time", { since: null }, { "/since": "invalid_type" }],
    ["a date", { since: "2026-01-31" }, { "/since": "invalid_format" }],
    ["a time without an offset", { since: "2026-01-31T09:00:00" }, { "/since": "invalid_format" }],
    ["an end of the recovery", { since: "2026-01-31T09:00:00Z", until: "2026-01-31T09:00:00Z" }, { "/until": "unknown_field" }],
  ];

  let id: string;
  before(async () => {
    id = String((await endpoints.create())["id"]);
  });

  const refuse = (method: string, path: () => string, [what, body, faults]: (typeof BOTH)[number]): void => {
    test(`${method} with ${what} is a 400 with the position`, async () => {
      const reply = await endpoints.request(method, path(), { body });
      assertProblem(reply, "invalid_request_payload");
      assert.deepEqual(Object.fromEntries(faultsOf(reply).map(({ pointer = "?", code }) => [pointer, code])), faults);
      assert.equal(faultsOf(reply).length, Object.keys(faults).length);
    });
  };
  for (const row of [...BOTH, ...CREATE]) refuse("POST", () => "", row);
  for (const row of [...BOTH, ...EDIT]) refuse("PATCH", () => `/${id}`, row);
  for (const row of RECOVER) refuse("POST", () => `/${id}/recover`, row);

  test("creates no endpoint and changes none", async () => {
    const own = clientOf(godwit, await godwit.key({ account: "refused" })).endpoints;
    await own.request("POST", "", { body: { url: "ftp://x" } });
    assert.deepEqual((await own.list()).data, []);
    const { updated_at: updatedAt, created_at: createdAt } = await endpoints.read(id);
    assert.equal(updatedAt, createdAt);
  });
});

describe("a URL that may not be called", () => {
  let allowing: Godwit;
  let allowed: EndpointClient;
  before(async () => {
    allowing = await startGodwit({ databaseUrl: godwit.databaseUrl, env: { GODWIT_WEBHOOK_ALLOW: "10.1.0.0/16, fd00::/8" } });
    allowed = clientOf(allowing, key).endpoints;
  });
  after(() => allowing.stop());

  /** Each URL, whether it is refused by default, and whether it is refused where 10.1.0.0/16 and fd00::/8 are allowed. */
  const ROWS: readonly (readonly [url: string, isRefused: boolean, isRefusedThere: boolean])[] = [
    ["https://example.com/hook", false, false],
    ["https://93.184.216.34/hook", false, false],
    ["https://[2606:4700::1111]/hook", false, false],
    // Where addresses are allowed, that of a name is checked when it is called.
    ["https://localhost/hook", true, false],
    ["http://example.com/hook", true, false],
    ["http://93.184.216.34/hook", true, true],
    ["http://10.1.2.3/hook", true, false],
    ["https://10.1.2.3/hook", true, false],
    ["https://10.2.0.1/hook", true, true],
    ["http://[fd00::1]/hook", true, false],
    ["https://127.0.0.1/hook", true, true],
    ["https://127.1/hook", true, true],
    ["https://2130706433/hook", true, true],
    ["https://0x7f.0.0.1/hook", true, true],
    ["https://0/hook", true, true],
    ["https://[::1]/hook", true, true],
    ["https://[::ffff:10.2.0.1]/hook", true, true],
    ["https://169.254.169.254/latest/meta-data", true, true],
    ["https://192.168.0.1/hook", true, true],
    ["https://172.16.0.1/hook", true, true],
    ["https://[fe80::1]/hook", true, true],
  ];
  const assertResult = (reply: Reply, status: number, isRefused: boolean): void => {
    if (!isRefused) return assert.equal(reply.status, status, reply.text);
    assertProblem(reply, "endpoint_url_refused");
    assert.deepEqual(
      faultsOf(reply).map(({ pointer, code }) => [pointer, code]),
      [["/url", "not_allowed"]],
    );
  };
  for (const [url, isRefused, isRefusedThere] of ROWS) {
    test(`${url} is ${isRefused ? "refused" : "accepted"}, and with some addresses allowed ${isRefusedThere ? "refused" : "accepted"}`, async () => {
      const { id } = await endpoints.create();
      for (const [client, refused] of [
        [endpoints, isRefused],
        [allowed, isRefusedThere],
      ] as const) {
        assertResult(await client.request("POST", "", { body: { url } }), 201, refused);
        assertResult(await client.request("PATCH", `/${String(id)}`, { body: { url } }), 200, refused);
      }
      assert.equal((await endpoints.read(id))["url"], isRefused && isRefusedThere ? URL_TEXT : url);
      // A URL that is not edited is not checked again.
      await endpoints.edit(id, { description: "another" });
      for (const each of (await endpoints.list({ limit: "100" })).data) await endpoints.remove(each["id"]);
    });
  }
});
