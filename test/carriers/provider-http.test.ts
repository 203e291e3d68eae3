/** Links of the provider `http` with definitions of the test: requests, responses and callbacks. */
import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { test } from "node:test";
import fc from "fast-check";
import { readPlan } from "../../src/links/plan.ts";
import { http, type HttpSettings } from "../../src/providers/http/http.ts";
import type { CarrierRequest, CarrierResponse, Connection, SendOutcome } from "../../src/providers/provider.ts";
import { HttpCarrierServer, type CarrierBehavior, type Seen } from "../support/fakes/http-carrier.ts";
import { RecordingHost, mayLeave, outgoing, settled, type OutgoingFields } from "../support/recording-host.ts";

const TO = "+4915112345678";
const SECRETS: Readonly<Record<string, string>> = { ACME_TOKEN: "token-of-ours" };

type Table = Readonly<Record<string, unknown>>;

const REQUEST: Table = { url: "http://127.0.0.1:1/send", body: { to: "{{recipient}}", text: "{{body}}" } };
const RESPONSE: Table = { id: "$.id", error_code: "$.error.code" };

function settingsOf(table: Table): HttpSettings {
  const faults: string[] = [];
  const link = { name: "acme", provider: "http", request: REQUEST, response: RESPONSE, secrets: { token_env: "ACME_TOKEN" }, ...table };
  const { links } = readPlan({ link: [link] }, (variable) => SECRETS[variable], faults);
  assert.deepEqual(faults, []);
  return links[0]?.settings as HttpSettings;
}

const ACCEPTED: CarrierBehavior = { kind: "responds", status: 200, body: '{"id":"c1"}' };

async function onLink(
  table: (origin: string) => Table,
  behavior: CarrierBehavior,
  run: (rig: { connection: Connection; carrier: HttpCarrierServer }) => Promise<void>,
): Promise<void> {
  const carrier = await new HttpCarrierServer(() => behavior).listen();
  const connection = await http.open({ ...settingsOf(table(carrier.url)), partsPerSecond: 10_000, timeoutMs: 2_000 }, new RecordingHost());
  try {
    await run({ connection, carrier });
  } finally {
    await settled(connection.close(), "close");
    await carrier.close();
  }
}

const send = (connection: Connection, fields: OutgoingFields = {}): Promise<SendOutcome> =>
  settled(
    connection.send(outgoing({ recipient: TO, sender: "+14155550100", ...fields }), new AbortController().signal, mayLeave),
    "a send",
  );

/** The request that the carrier receives for one message. */
async function requestFor(request: Table, fields: OutgoingFields = {}, more: Table = {}): Promise<Seen> {
  let seen: Seen | undefined;
  await onLink(
    (origin) => ({ request: { ...request, url: `${origin}/send` }, ...more }),
    ACCEPTED,
    async ({ connection, carrier }) => {
      assert.equal((await send(connection, fields)).kind, "accepted");
      [seen] = carrier.seen;
    },
  );
  return seen ?? assert.fail("no request");
}

test("every variable has its value, and a number stays a number in JSON", async () => {
  const names = [
    "recipient",
    "recipient_digits",
    "sender",
    "sender_digits",
    "body",
    "id",
    "encoding",
    "value.plan",
    "secret.token",
    "callback_url",
  ];
  const body = {
    ...Object.fromEntries(names.map((name) => [name, `{{${name}}}`])),
    ttl: "{{expires_seconds}}",
    text: "{{ id }}: {{body}}",
  };
  const more = { values: { plan: "p1" }, public_url: "http://127.0.0.1:9" };
  const request = { body: { ...body, end: "{{expires_at}}" }, expires_seconds: { least: 60, most: 60 } };
  const { end, ...seen } = JSON.parse((await requestFor(request, { id: "msg_1", body: "Hi ✓" }, more)).body) as Record<string, unknown>;
  assert.deepEqual(seen, {
    recipient: TO,
    recipient_digits: TO.slice(1),
    sender: "+14155550100",
    sender_digits: "14155550100",
    body: "Hi ✓",
    id: "msg_1",
    encoding: "unicode",
    "value.plan": "p1",
    "secret.token": "token-of-ours",
    callback_url: "http://127.0.0.1:9/providers/http/acme",
    ttl: 60,
    text: "msg_1: Hi ✓",
  });
  assert.match(String(end), /^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
});

test("a field without a value is left out", async () => {
  const request = { body: { from: "{{sender}}", profile: "{{value.profile}}", list: ["{{sender}}", "x"], flag: true, n: 3 } };
  const seen = await requestFor(request, { sender: null }, { values: { profile: "" } });
  assert.deepEqual(JSON.parse(seen.body), { list: ["x"], flag: true, n: 3 });
});

test("credentials, headers, the query and the method are those of the definition", async () => {
  const auth = { type: "basic", username: "me", password: "{{secret.token}}" };
  const basic = await requestFor({ method: "PUT", auth, headers: { "X-Ref": "{{id}}" }, query: { to: "{{recipient}}" } }, { id: "msg_1" });
  assert.equal(basic.method, "PUT");
  assert.equal(basic.path, "/send?to=%2B4915112345678");
  assert.equal(basic.headers["authorization"], `Basic ${btoa("me:token-of-ours")}`);
  assert.equal(basic.headers["x-ref"], "msg_1");
  const bearer = await requestFor({ auth: { type: "bearer", token: "{{secret.token}}" } });
  assert.equal(bearer.headers["authorization"], "Bearer token-of-ours");
});

test("a value or a secret in the URL is escaped", async () => {
  const values = { plan: "p+q&to=1#x", version: "v1?a/b" };
  await onLink(
    (origin) => ({ request: { url: `${origin}/{{value.version}}/send?key={{value.plan}}&to={{recipient}}` }, values }),
    ACCEPTED,
    async ({ connection, carrier }) => {
      assert.equal((await send(connection, {})).kind, "accepted");
      assert.equal(carrier.seen[0]?.path, "/v1%3Fa%2Fb/send?key=p%2Bq%26to%3D1%23x&to=%2B4915112345678");
    },
  );
});

const HOSTILE = [
  '","to":"+1","x":"',
  "&to=%2B1&x=",
  "?to=1#x",
  "\r\nX-Evil: 1\r\n\r\n",
  "{{secret.token}}",
  "{{id}}",
  "$& $1 \\u0000 \0",
  "\ud83d",
  "../../admin",
  "%2e%2e/",
  "</script>",
  "__proto__",
];

const hostileText = fc.oneof(fc.constantFrom(...HOSTILE), fc.string({ unit: "binary" }), fc.string());

test("a text never changes the structure of a request, in JSON, a form or a URL", async () => {
  const carrier = await new HttpCarrierServer(() => ACCEPTED).listen();
  const open = (request: Table): Promise<Connection> =>
    http.open(
      { ...settingsOf({ request: { ...request, url: `${carrier.url}${String(request["url"])}` } }), partsPerSecond: 10_000 },
      new RecordingHost(),
    );
  const fields = { to: "{{recipient}}", from: "{{sender}}", text: "{{body}}", note: "about {{body}}, by {{sender}}" };
  const links = {
    json: await open({ url: "/send", body: { deep: [fields] } }),
    form: await open({ url: "/send", format: "form", body: fields }),
    query: await open({ url: "/send/{{recipient}}/{{id}}?fixed=1", method: "GET", query: fields }),
  };
  const received = {
    json: ({ body }: Seen): unknown => (JSON.parse(body) as { deep: unknown[] }).deep,
    form: ({ body }: Seen): unknown => [Object.fromEntries(new URLSearchParams(body))],
    query: ({ path }: Seen): unknown => {
      const { pathname, searchParams } = new URL(path, "http://x");
      assert.match(pathname, /^\/send\/%2B4915112345678\/msg_\w+$/);
      assert.equal(searchParams.get("fixed"), "1");
      searchParams.delete("fixed");
      return [Object.fromEntries(searchParams)];
    },
  };
  try {
    await fc.assert(
      fc.asyncProperty(fc.constantFrom("json", "form", "query"), hostileText, hostileText, async (kind, body, sender) => {
        const before = carrier.seen.length;
        assert.equal((await send(links[kind], { body, sender })).kind, "accepted");
        assert.equal(carrier.seen.length, before + 1, "one request");
        const seen = carrier.seen.at(-1) ?? assert.fail();
        const [text, from] = [body.toWellFormed(), sender.toWellFormed()];
        assert.deepEqual(received[kind](seen), [{ to: TO, from, text, note: `about ${text}, by ${from}` }]);
        assert.equal(seen.headers["x-evil"], undefined);
      }),
      { numRuns: 400 },
    );
  } finally {
    for (const link of Object.values(links)) await link.close();
    await carrier.close();
  }
});

const OUTCOMES: Table = {
  throttled: { statuses: [429], codes: ["SLOW"] },
  paused: { statuses: [401], codes: ["CREDIT"] },
  transient: { codes: ["LATER", "*"] },
  final: { statuses: [404], codes: ["NUMBER"] },
};

for (const [status, body, expected] of [
  [200, '{"id":"c1"}', "accepted c1"],
  [202, '{"id":7}', "accepted 7"],
  [200, '{"id":""}', "unknown"],
  [200, "{}", "unknown"],
  [200, "<html>", "unknown"],
  [204, "", "unknown"],
  [400, '{"error":{"code":"NUMBER"}}', "refused invalid_destination NUMBER"],
  [400, '{"error":{"code":"https://x.example/errors#NUMBER"}}', "refused invalid_destination NUMBER"],
  [400, '{"error":{"code":"LATER"}}', "refused carrier_unavailable LATER temporarily"],
  [400, '{"error":{"code":"NEW"}}', "refused carrier_unavailable NEW temporarily"],
  [404, '{"error":{"code":"NEW"}}', "refused rejected_by_carrier NEW"],
  [400, '{"error":{"code":"SLOW"}}', "throttled SLOW"],
  [429, "", "throttled 429"],
  [401, "{}", "paused 401"],
  [400, '{"error":{"code":"CREDIT"}}', "paused CREDIT"],
  [400, "<html>", "refused rejected_by_carrier 400"],
  [403, "<html>", "paused 403"],
  [302, "", "paused 302"],
  [408, "", "unknown"],
  [500, '{"id":"c1"}', "unknown"],
  [500, '{"error":{"code":"NUMBER"}}', "unknown"],
  [503, '{"error":{"code":"SLOW"}}', "unknown"],
] as const)
  test(`HTTP ${status} with ${body || "no body"} is ${expected}`, () =>
    onLink(
      (url) => ({ request: { ...REQUEST, url }, response: { ...RESPONSE, ...OUTCOMES }, errors: { NUMBER: "invalid_destination" } }),
      { kind: "responds", status, body },
      async ({ connection }) => assert.equal(summary(await send(connection), connection.state?.kind), expected),
    ));

const CODED = '{"error":{"code":"NEW"}}';

for (const [status, body, expected] of [
  [400, CODED, "refused rejected_by_carrier NEW"],
  [400, '{"error":{"code":"GONE"}}', "refused invalid_destination GONE"],
  [401, CODED, "paused NEW"],
  [402, CODED, "paused NEW"],
  [403, CODED, "paused NEW"],
  [405, CODED, "paused NEW"],
  [407, CODED, "paused NEW"],
  [404, CODED, "refused carrier_unavailable NEW temporarily"],
  [409, CODED, "refused carrier_unavailable NEW temporarily"],
  [410, CODED, "refused carrier_unavailable NEW temporarily"],
  [451, CODED, "refused carrier_unavailable NEW temporarily"],
  [404, '{"error":{"code":"GONE"}}', "refused invalid_destination GONE temporarily"],
  [404, '{"error":"Not Found"}', "paused 404"],
  [404, "<html>", "paused 404"],
  [302, CODED, "paused NEW"],
  [408, CODED, "unknown"],
  [425, CODED, "unknown"],
  [429, CODED, "throttled NEW"],
] as const)
  test(`HTTP ${status} with ${body}, which no list of the definition has, is ${expected}`, () =>
    onLink(
      (url) => ({ request: { ...REQUEST, url }, response: RESPONSE, errors: { GONE: "invalid_destination" } }),
      { kind: "responds", status, body },
      async ({ connection }) => assert.equal(summary(await send(connection), connection.state?.kind), expected),
    ));

function summary(outcome: SendOutcome, state: string | undefined): string {
  switch (outcome.kind) {
    case "accepted":
      return `accepted ${outcome.providerMessageId}`;
    case "refused":
      return `refused ${outcome.code} ${outcome.providerCode}${outcome.isPermanent ? "" : " temporarily"}`;
    case "throttled":
      return `${state === "paused" ? state : outcome.kind} ${outcome.providerCode}`;
    case "unknown":
    case "withdrawn":
      return outcome.kind;
    default:
      return assert.fail(JSON.stringify(outcome satisfies never));
  }
}

for (const [body, expected] of [
  ['{"reason":"OPTED_OUT","type":"CONFLICT"}', "refused recipient_opted_out OPTED_OUT"],
  ['{"reason":"OTHER","type":"CONFLICT"}', "refused rejected_by_carrier CONFLICT"],
  ['{"type":"SLOW"}', "throttled SLOW"],
  ['{"reason":"OTHER","type":"NEW"}', "refused rejected_by_carrier OTHER"],
] as const)
  test(`of the codes in ${body}, the first one that the definition names decides: ${expected}`, () =>
    onLink(
      (url) => ({
        request: { ...REQUEST, url },
        response: { id: "$.id", error_code: ["$.reason", "$.type"], throttled: { codes: ["SLOW"] }, final: { codes: ["CONFLICT"] } },
        errors: { OPTED_OUT: "recipient_opted_out" },
      }),
      { kind: "responds", status: 400, body },
      async ({ connection }) => assert.equal(summary(await send(connection), connection.state?.kind), expected),
    ));

test("a carrier that refuses with the status of a success is read by a condition", async () => {
  const response = { ...RESPONSE, accepted_when: { path: "$.status", equals: ["0"] }, final: { codes: ["4"] }, error_code: "$.status" };
  const outcomeOf = async (body: string): Promise<string> => {
    let outcome = "";
    await onLink(
      (url) => ({ request: { ...REQUEST, url }, response }),
      { kind: "responds", status: 200, body },
      async ({ connection }) => void (outcome = summary(await send(connection), undefined)),
    );
    return outcome;
  };
  assert.deepEqual(
    [await outcomeOf('{"status":"0","id":"a"}'), await outcomeOf('{"status":"4"}'), await outcomeOf('{"status":"9"}')],
    ["accepted a", "refused rejected_by_carrier 4", "unknown"],
  );
});

const RECEIPTS: Table = {
  id: "$.id",
  status: "$.state",
  error_code: "$.reason",
  statuses: { delivered: ["DLVRD"], undelivered: ["FAILED"], expired: ["OLD"] },
};
const INBOUND: Table = { when: { path: "$.text" }, id: "$.id", from: "$.from", to: "$.to", text: "$.text" };

type Call = Partial<CarrierRequest>;

async function call(
  table: Table,
  request: Call,
  host: RecordingHost = new RecordingHost(),
): Promise<{ response: CarrierResponse; host: RecordingHost }> {
  const url = "http://127.0.0.1:9/providers/http/acme";
  const whole = { method: "POST", url, query: {}, headers: {}, body: Buffer.alloc(0), ...request };
  const settings = settingsOf({ public_url: "http://127.0.0.1:9", receipts: RECEIPTS, inbound: INBOUND, ...table });
  return { response: (await http.handleRequest?.(settings, whole, host)) ?? assert.fail("no response"), host };
}

const NONE = { verification: { type: "none" } };
const DELIVERED = Buffer.from('{"id":"c1","state":"DLVRD"}');

test("a list of reports in one callback becomes receipts and messages", async () => {
  const items = "$.results[*]";
  const body = {
    results: [
      { id: "c1", state: "DLVRD" },
      { id: "c2", state: "FAILED", reason: 12 },
      { id: "c3", state: "constructor" },
      { id: "c4", state: "OLD" },
      null,
      { id: "c5", text: "Hi\0", from: "15551234567", to: "72345" },
      { id: "c6", text: "Hi", from: "Acme", to: "72345" },
      { id: "c7", text: "STOP", from: "07911 123456", to: "07700 900100" },
      { id: "c8", text: "STOP", from: "sip:ann@x.example\n", to: "" },
      { id: "c9", text: "STOP", from: "\n" },
      { id: "c10", text: "", from: "", to: "72345" },
    ],
  };
  const table = {
    callbacks: NONE,
    receipts: { ...RECEIPTS, items },
    inbound: { ...INBOUND, items },
    errors: { "12": "recipient_blocked" },
  };
  const { response, host } = await call(table, { body: Buffer.from(JSON.stringify(body)) });
  assert.equal(response.status, 200);
  assert.deepEqual(
    host.receipts.map(({ providerMessageId, status, error }) => [providerMessageId, status, error?.code ?? null, error?.providerCode]),
    [
      ["c1", "delivered", null, undefined],
      ["c2", "undelivered", "recipient_blocked", "12"],
      ["c4", "expired", null, undefined],
    ],
  );
  assert.deepEqual(host.messages, [
    { providerMessageId: "c5", channel: "sms", from: "15551234567", to: "72345", text: "Hi", inReplyTo: null },
    { providerMessageId: "c6", channel: "sms", from: "Acme", to: "72345", text: "Hi", inReplyTo: null },
    { providerMessageId: "c7", channel: "sms", from: "07911 123456", to: "07700 900100", text: "STOP", inReplyTo: null },
    { providerMessageId: "c8", channel: "sms", from: "sip:ann@x.example", to: null, text: "STOP", inReplyTo: null },
    { providerMessageId: "c9", channel: "sms", from: "", to: null, text: "STOP", inReplyTo: null },
  ]);
});

test("an address in a form that is not known is passed on in at most 64 characters, without control characters", async () => {
  const from = "x\u0000\u202e".repeat(100);
  const body = Buffer.from(JSON.stringify({ id: "c1", text: "STOP", from, to: "Ünïcode 👋\ud83d" }));
  const [message] = (await call({ callbacks: NONE }, { body })).host.messages;
  assert.deepEqual([message?.from, message?.to], ["x".repeat(64), "Ünïcode 👋\ufffd"]);
});

test("the type of all numbers of a carrier is passed on with them", async () => {
  const body = Buffer.from(JSON.stringify({ id: "c1", text: "STOP", from: "447911123456", to: "72345" }));
  const { host } = await call({ callbacks: NONE, inbound: { ...INBOUND, number_type: "international" } }, { body });
  assert.deepEqual([host.messages[0]?.fromType, host.messages[0]?.toType], ["international", "international"]);
});

test("callbacks may be forms, or parameters of a GET", async () => {
  const form = await call({ callbacks: { ...NONE, format: "form" } }, { body: Buffer.from("id=c1&state=DLVRD") });
  const query = { id: "c1", state: "DLVRD" };
  const get = await call({ callbacks: { ...NONE, format: "query" } }, { method: "GET", query });
  for (const { host } of [form, get]) assert.deepEqual(host.receipts[0]?.providerMessageId, "c1");
  assert.equal((await call({ callbacks: NONE }, { method: "GET", query })).response.status, 404);
});

test("a callback that cannot be read is refused, and one without news is acknowledged", async () => {
  const statusOf = async (body: string, format = "json"): Promise<number> =>
    (await call({ callbacks: { ...NONE, format } }, { body: Buffer.from(body) })).response.status;
  assert.deepEqual(
    [
      await statusOf("{"),
      await statusOf("[]"),
      await statusOf("null"),
      await statusOf('{"id":"c1"}'),
      await statusOf("a&".repeat(300), "form"),
    ],
    [400, 200, 200, 200, 400],
  );
});

test("a callback with more than a thousand reports is refused as a whole", async () => {
  const table = { callbacks: NONE, receipts: { ...RECEIPTS, items: "$[*]" } };
  const statusOf = async (count: number): Promise<[number, number]> => {
    const body = Buffer.from(JSON.stringify(Array.from({ length: count }, (_, index) => ({ id: `c${index}`, state: "OLD" }))));
    const { response, host } = await call(table, { body });
    return [response.status, host.receipts.length];
  };
  assert.deepEqual(
    [await statusOf(1_000), await statusOf(1_001)],
    [
      [200, 1_000],
      [413, 0],
    ],
  );
});

test("a callback that cannot be committed is not acknowledged, so that the carrier repeats it", async () => {
  const host = new RecordingHost();
  host.behave("rejects");
  assert.equal((await call({ callbacks: NONE }, { body: DELIVERED }, host)).response.status, 503);
});

test("a link without callbacks refuses them", async () => {
  const { response } = await call({ receipts: undefined, inbound: undefined }, { body: DELIVERED });
  assert.equal(response.status, 404);
});

const hmac = (text: string, encoding: "hex" | "base64" = "hex", algorithm = "sha256"): string =>
  createHmac(algorithm, "token-of-ours").update(text).digest(encoding);
const secret = "{{secret.token}}";
const BODY = DELIVERED.toString();
const URL_CALLED = "http://127.0.0.1:9/providers/http/acme?a=1";

for (const [what, verification, request] of [
  ["a token in a header", { type: "token", header: "X-Token", token: secret }, { headers: { "x-token": "token-of-ours" } }],
  ["a token in the query", { type: "query-token", parameter: "t", token: secret }, { query: { t: "token-of-ours" } }],
  ["credentials", { type: "basic", username: "me", password: secret }, { headers: { authorization: `Basic ${btoa("me:token-of-ours")}` } }],
  ["an HMAC in hexadecimal", { type: "hmac", header: "X-Sign", secret }, { headers: { "x-sign": hmac(BODY) } }],
  [
    "an HMAC with a prefix, in base64, by SHA-512",
    { type: "hmac", header: "x-sign", secret, encoding: "base64", algorithm: "sha512", prefix: "v1=" },
    { headers: { "x-sign": `v1=${hmac(BODY, "base64", "sha512")}` } },
  ],
  [
    "an HMAC over the URL and a nonce",
    { type: "hmac", header: "x-sign", secret, signed: "{{url}}|{{url_without_query}}|{{header.X-Nonce}}" },
    {
      url: "http://10.0.0.7/providers/http/acme?a=1",
      headers: { "x-sign": hmac(`${URL_CALLED}|${URL_CALLED.slice(0, -4)}|n1`), "x-nonce": "n1" },
    },
  ],
] as const)
  test(`a callback with ${what} is accepted, and no other`, async () => {
    const table = { callbacks: { verification } };
    const good = await call(table, { body: DELIVERED, ...request });
    assert.equal(good.response.status, 200);
    assert.equal(good.host.receipts.length, 1);
    const changed = Object.fromEntries(
      Object.entries({ ...("headers" in request ? request.headers : {}) }).map(([name, value]) => [name, `${value}x`]),
    );
    for (const wrong of [
      {},
      { headers: changed },
      { headers: { "x-token": "", authorization: "", "x-sign": "" } },
      { query: { t: "wrong" } },
    ]) {
      const bad = await call(table, { body: DELIVERED, ...wrong });
      assert.equal(bad.response.status, verification.type === "basic" ? 401 : 403);
      assert.deepEqual([bad.host.calls, bad.host.messages], [[], []]);
      assert.ok(!bad.host.lines.includes("token-of-ours"));
    }
  });

for (const written of ["http://127.0.0.1:9", "http://127.0.0.1", "http://me:p%2Fw@127.0.0.1:9"])
  test(`a URL that was entered as ${written}/… is the called one`, async () => {
    const verification = { type: "hmac", header: "x-sign", secret, signed: "{{url}}{{body}}" };
    const headers = { "x-sign": hmac(`${written}/providers/http/acme${BODY}`), authorization: `Basic ${btoa("me:p/w")}` };
    const url = "http://10.0.0.7/providers/http/acme";
    const { response } = await call({ callbacks: { verification } }, { url, body: DELIVERED, headers });
    assert.equal(response.status, 200);
    assert.equal(
      (await call({ callbacks: { verification } }, { url, body: Buffer.concat([DELIVERED, Buffer.from(" ")]), headers })).response.status,
      403,
    );
  });

test("an empty secret accepts no callback", async () => {
  const token = "{{value.empty}}";
  for (const verification of [
    { type: "token", header: "x-token", token },
    { type: "query-token", parameter: "t", token },
    { type: "hmac", header: "x-sign", secret: token },
    { type: "jwt", secret: token },
    { type: "ed25519", header: "x-sign", public_key: token },
  ]) {
    const headers = { "x-token": "", "x-sign": createHmac("sha256", "").update(BODY).digest("hex") };
    const { response } = await call({ callbacks: { verification }, values: { empty: "" } }, { body: DELIVERED, headers, query: { t: "" } });
    assert.equal(response.status, 403, verification.type);
  }
});
