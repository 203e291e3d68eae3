/** The texts of errors: the detail begins with the hint that helps most, and says what to do next. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, test } from "node:test";
import { assertProblem } from "../support/expect.ts";
import { startGodwit, type Godwit, type Reply } from "../support/harness.ts";

let godwit: Godwit;
let key: string;
let live: string;
let eraser: string;
before(async () => {
  godwit = await startGodwit();
  key = await godwit.key();
  await godwit.unlimited();
  eraser = await godwit.key({ scopes: ["recipients:erase"] });
  live = await godwit.key({ environment: "live", scopes: ["links:write", "messages:send"] });
});
after(() => godwit.stop());

const EVENT = "evt_01k9zs3v8mf4tb2xg1qj6n0d5c";
const MESSAGE = { recipient: "+14155550123", channel: "sms", body: "x" };
const post = (path: string, body: unknown, by = key): Promise<Reply> => godwit.request("POST", path, { key: by, body });
const get = (path: string): Promise<Reply> => godwit.request("GET", path, { key });
const message = (fields: object): Promise<Reply> => post("/v1/messages", { ...MESSAGE, ...fields });

const ROWS: readonly (readonly [what: string, call: () => Promise<Reply>, detail: RegExp])[] = [
  [
    "a field of another API",
    () => post("/v1/messages", { to: "+14155550123", channel: "sms", body: "x" }),
    /^to: .*did you mean recipient\? \(and 1 more\)/,
  ],
  [
    "a mistyped field",
    () => post("/v1/messages", { ...MESSAGE, recipent: "x", recipient: undefined }),
    /^recipent: .*did you mean recipient\?/,
  ],
  ["a mistyped value", () => message({ channel: "SMS" }), /^channel: is not known; did you mean sms\? It must be one of sms, whatsapp/],
  ["a mistyped query parameter", () => get("/v1/messages?stauts=sent"), /^stauts: is not a known parameter; did you mean status\?/],
  [
    "a parameter that is given twice",
    () => get("/v1/messages?status=failed&status=sent"),
    /^status: is given more than once: give it once\.$/,
  ],
  ["a body that is a list", () => post("/v1/messages", []), /^Request body: must be an object\.$/],
  [
    "an empty body",
    () => godwit.request("POST", "/v1/messages", { key, body: "", headers: { "content-type": "application/json" } }),
    /^Request body: a JSON object is required\.$/,
  ],
  ["a mistyped status in a query", () => get("/v1/messages?status=deliverd"), /^status: is not known; did you mean delivered\?/],
  [
    "a mistyped event type in a query",
    () => get("/v1/events?type=message.deliverd"),
    /^type: is not known; did you mean message\.delivered\?/,
  ],
  [
    "a mistyped event type of an endpoint",
    () => post("/v1/webhook_endpoints", { url: "https://example.com/", event_types: ["message.deliverd"] }),
    /^event_types\/0: is not known; did you mean message\.delivered\?/,
  ],
  [
    "a header among the fields",
    () => message({ idempotency_key: randomUUID() }),
    /^idempotency_key: .*; send it as the header Idempotency-Key\.$/,
  ],
  ["a callback", () => message({ statusCallback: "https://example.com" }), /^statusCallback: .* POST \/v1\/webhook_endpoints\.$/],
  ["the page of another API", () => get("/v1/messages?offset=100"), /^offset: is not a known parameter; did you mean cursor\?$/],
  ["the entries of an import", () => post("/v1/suppressions/import", { recipients: [] }), /^recipients: .*did you mean entries\?/],
  [
    "a name twice",
    () =>
      godwit.request("POST", "/v1/messages", { key, body: '{"body":"x",\n"body":"y"}', headers: { "content-type": "application/json" } }),
    /line 2, column 1: the object has/,
  ],
  ["a time without an offset", () => message({ send_at: "2030-01-31T09:00:00" }), /^send_at: .*: it needs Z or an offset/],
  ["a day that does not exist", () => message({ send_at: "2030-02-30T09:00:00Z" }), /^send_at: .*: this month has fewer days\.$/],
  ["a time with a space", () => message({ send_at: "2030-01-31 09:00:00Z" }), /^send_at: .*, with a T between/],
  ["a date", () => message({ send_at: "2030-01-31" }), /^send_at: .*, and not only a date\.$/],
  ["a plus in the time of a query", () => get("/v1/messages?created_after=2030-01-31T09:00:00+02:00"), /; write its \+ as %2B in a URL\.$/],
  ["the id of another record in a filter", () => get(`/v1/messages?batch_id=${EVENT}`), /^batch_id: .*; evt_… is the id of an event\.$/],
  ["no id in a filter", () => get("/v1/events?message_id=foo"), /^message_id: must be the id of a message: msg_ and 26/],
  [
    "the id of another record in a path",
    () => get(`/v1/messages/${EVENT}`),
    /^No such message in this environment; evt_… is the id of an event\.$/,
  ],
  [
    "a field that an edit cannot change",
    async () => godwit.request("PATCH", await canceled(), { key, body: { recipient: "+14155550124" } }),
    /^recipient: cannot be changed: cancel the message and send another\.$/,
  ],
  ["an id that is cut", () => get("/v1/messages/msg_01k9zs"), /^No such message in this environment; an id is msg_ and 26 /],
  ["a base URL with the version", () => get("/v1/v1/messages"), /^No such path; did you mean \/v1\/messages\?$/],
  [
    "a field of an action without fields",
    async () => post(`${await canceled()}/cancel`, { reason: "x" }),
    /^reason: must be absent: this action has no fields\.$/,
  ],
  [
    "a broken body of an action",
    async () =>
      godwit.request("POST", `${await canceled()}/cancel`, { key, body: "garbage{", headers: { "content-type": "application/json" } }),
    /^Request body: is not valid JSON/,
  ],
  [
    "a formatted number of an erasure",
    () => post("/v1/recipients/erase", { recipient: "+1 415 555 0123" }, eraser),
    /^recipient: is in the records without separators; did you mean \+14155550123\?/,
  ],
  [
    "an endpoint on this machine",
    () => post("/v1/webhook_endpoints", { url: "https://localhost/hook" }),
    /^url: names an address that is not on the public internet/,
  ],
  ["the messages of a batch", () => post("/v1/batches", { messages: [MESSAGE] }), /^messages: .*did you mean items\?/],
  ["a mistyped template", () => message({ body: undefined, template_id: "verification_cod" }), /did you mean verification_code\?/],
  ["a mistyped path", () => post("/v1/message", MESSAGE), /^No such path; did you mean \/v1\/messages\?$/],
  ["a path of another API", () => get("/v1/webhooks"), /^No such path; did you mean \/v1\/webhook_endpoints\?$/],
  ["a path that is near none", () => get("/v1/payments"), /^No such path; \/docs\/reference lists the paths\.$/],
  [
    "a number that is too short",
    () => message({ recipient: "+1999" }),
    /^recipient: is too short: numbers of \+1 have 10 digits after it, this one has 3/,
  ],
  ["a number that is too short for its country", () => message({ recipient: "+1415555" }), /^recipient: is too short: numbers of \+1/],
  ["a number that is too long", () => message({ recipient: "+1415555012345678" }), /^recipient: is too long: numbers of \+1/],
  ["a number without its plus", () => message({ recipient: "14155550123" }), /^recipient: must begin with \+ and the calling code/],
  ["a number with spaces", () => message({ recipient: "+1 415 555 0123" }), /^recipient: must have only digits after the \+/],
  [
    "a plus in a query that is not encoded",
    () => get("/v1/messages?recipient=+14155550123"),
    /^recipient: must be an E\.164 number; write its \+ as %2B in a URL/,
  ],
  [
    "a carrier in place of the provider",
    () => post("/v1/links", { name: "Acme", provider: "telnyx", settings: {} }, live),
    /^provider: is not known; did you mean http with carrier telnyx\? It must be one of smpp, twilio, whatsapp, http\.$/,
  ],
  [
    "a secret of an HTTP carrier among its settings",
    () => post("/v1/links", { name: "Acme", provider: "http", carrier: "telnyx", settings: { api_key: "x" } }, live),
    /^settings\/api_key: is not a known field: secrets belong in settings\.secrets/,
  ],
  ...["image", "audio", "video", "document", "sticker"].map(
    (kind) =>
      [
        `a content of the type ${kind}`,
        () => message({ body: undefined, channel: "whatsapp", content: { type: kind, url: "https://example.com/a" } }),
        new RegExp(`^content/type: is not known; did you mean media with kind ${kind}\\? It must be one of text, media, `),
      ] as const,
  ),
  [
    "a link with a key of test",
    () => post("/v1/links", { name: "Acme", provider: "twilio", settings: {} }, key),
    /use a key of live with the scope links:write/,
  ],
  [
    "a second cancellation",
    async () => post(`${await canceled()}/cancel`, undefined),
    /^The message is canceled; only scheduled and queued messages can be canceled\.$/,
  ],
  [
    "an edit of a canceled message",
    async () => godwit.request("PATCH", await canceled(), { key, body: { body: "y" } }),
    /^The message is canceled; only scheduled messages can be edited\.$/,
  ],
  [
    "a redaction of a scheduled message",
    async () => {
      const { json } = await message({ send_at: new Date(Date.now() + 3_600_000).toISOString() });
      return post(`/v1/messages/${String(json["id"])}/redact`, undefined);
    },
    /^The message is scheduled; only messages with a final status can be redacted\.$/,
  ],
  [
    "a recipient who has opted out",
    async () => {
      const recipient = "+14155550177";
      assert.equal((await post("/v1/suppressions", { recipient })).status, 201);
      return message({ recipient });
    },
    /^recipient: has opted out .*: do not send again until they opt in; GET \/v1\/suppressions\?recipient=… shows the entry\.$/,
  ],
  [
    "an idempotency key of another request",
    async () => {
      const headers = { "idempotency-key": randomUUID() };
      await godwit.request("POST", "/v1/messages", { key, body: MESSAGE, headers });
      return godwit.request("POST", "/v1/messages", { key, body: { ...MESSAGE, body: "y" }, headers });
    },
    /: use a new key for a new request\.$/,
  ],
  [
    "a missing scope",
    async () => godwit.request("GET", "/v1/webhook_endpoints", { key: await godwit.key({ scopes: ["messages:send"] }) }),
    /^This credential lacks the scope webhooks:read: use a key that has it, or create one\.$/,
  ],
  [
    "an unknown key",
    () => godwit.request("GET", "/v1/messages", { key: `${key.slice(0, -1)}${key.endsWith("A") ? "B" : "A"}` }),
    /unknown, expired or revoked: use an API key of this installation; the command godwit keys create makes one\.$/,
  ],
  [
    "a private webhook URL",
    () => post("/v1/webhook_endpoints", { url: "https://10.0.0.1/hook" }),
    /godwit listen --forward-to.*GODWIT_WEBHOOK_ALLOW/,
  ],
  [
    "a webhook URL without TLS",
    () => post("/v1/webhook_endpoints", { url: "http://example.com:3000/" }),
    /must be https; .*godwit listen --forward-to/,
  ],
];

const canceled = async (): Promise<string> => {
  const { json } = await message({ send_at: new Date(Date.now() + 3_600_000).toISOString() });
  const path = `/v1/messages/${String(json["id"])}`;
  assert.equal((await post(`${path}/cancel`, undefined)).status, 200);
  return path;
};

for (const [what, call, detail] of ROWS) {
  test(`the detail of ${what} says what to do`, async () => {
    const reply = await call();
    assert.ok(reply.status >= 400 && reply.status < 500, reply.text);
    assert.match(String(reply.json["detail"]), detail);
  });
}

test("the fault of broken JSON names its line and column", async () => {
  const body = '{\n  "recipient": "+14155550123",\n}';
  const reply = await godwit.request("POST", "/v1/messages", { key, body, headers: { "content-type": "application/json" } });
  assertProblem(reply, "invalid_request_payload");
  assert.match(String(reply.json["detail"]), /is not valid JSON in line 3, column 1: expected a name in double quotes; remove the comma/);
});

test("a message without a route names links as people named them", async () => {
  const settings = { account_sid: `AC${"0".repeat(32)}`, auth_token: "0".repeat(32), public_url: "https://example.com" };
  const link = await post("/v1/links", { name: "Acme Mobile", provider: "twilio", settings }, live);
  assert.equal(link.status, 201, link.text);
  const reply = await post("/v1/messages", { ...MESSAGE, channel: "whatsapp" }, live);
  assertProblem(reply, "no_route");
  assert.match(String(reply.json["detail"]), /Acme Mobile: carries sms only\./);
  assert.ok(!reply.text.includes("lnk_"), reply.text);
});

test("a revoked key and one that never existed get the same detail, and a text that is no key another one", async () => {
  const revoked = await godwit.key();
  const id = ((await get("/v1/keys")).json["data"] as { id: string; hint: string }[]).find(({ hint }) =>
    revoked.startsWith(hint.slice(0, -1)),
  )?.id;
  const revoke = await godwit.request("DELETE", `/v1/keys/${String(id)}`, { key });
  assert.equal(revoke.status, 200, revoke.text);
  const [known, unknown, cut] = await Promise.all(
    [revoked, `${key.slice(0, -1)}x`, "gw_test_x"].map(
      async (by) => (await godwit.request("GET", "/v1/messages", { key: by })).json["detail"],
    ),
  );
  assert.equal(known, unknown);
  assert.match(String(cut), /check that it was copied completely/);
});
