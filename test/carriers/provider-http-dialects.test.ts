/** Links of the provider `http` to carriers that respond in plain text or XML, give no ids, or expect a certain response to their callbacks. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { readPlan } from "../../src/links/plan.ts";
import { http, type HttpSettings } from "../../src/providers/http/http.ts";
import type { CarrierResponse, CarrierRequest, Connection, SendOutcome } from "../../src/providers/provider.ts";
import { HttpCarrierServer, type Seen } from "../support/fakes/http-carrier.ts";
import { RecordingHost, mayLeave, outgoing, settled, type OutgoingFields } from "../support/recording-host.ts";

type Table = Readonly<Record<string, unknown>>;

const REQUEST: Table = { url: "http://127.0.0.1:1/send", body: { to: "{{recipient}}" } };

function readLink(table: Table): { settings: HttpSettings; faults: string[] } {
  const faults: string[] = [];
  const link = { name: "acme", provider: "http", rate: 10_000, request: REQUEST, response: { id: "$.id" }, ...table };
  const { links } = readPlan({ link: [link] }, () => "token-of-ours", faults);
  return { settings: links[0]?.settings as HttpSettings, faults };
}

function settingsOf(table: Table): HttpSettings {
  const { settings, faults } = readLink(table);
  assert.deepEqual(faults, []);
  return settings;
}

/** Sends one message to a carrier that responds so. */
async function exchange(
  table: Table,
  [status, body]: readonly [status: number, body: string],
  fields: OutgoingFields = {},
): Promise<{ outcome: SendOutcome; connection: Connection; seen: Seen }> {
  const carrier = await new HttpCarrierServer(() => ({ kind: "responds", status, body })).listen();
  const request = { ...REQUEST, ...(table["request"] as Table | undefined), url: `${carrier.url}/send` };
  const connection = await http.open(settingsOf({ ...table, request }), new RecordingHost());
  try {
    const outcome = await settled(
      connection.send(outgoing({ recipient: "+4915112345678", ...fields }), new AbortController().signal, mayLeave),
      "a send",
    );
    return { outcome, connection, seen: carrier.seen[0] ?? assert.fail("no request") };
  } finally {
    await settled(connection.close(), "close");
    await carrier.close();
  }
}

function summary(outcome: SendOutcome, connection: Connection): string {
  if (outcome.kind === "accepted") return `accepted ${outcome.providerMessageId}`;
  if (outcome.kind === "refused") return `refused ${outcome.code} ${outcome.providerCode}${outcome.isPermanent ? "" : " temporarily"}`;
  if (outcome.kind === "throttled") return `${connection.state?.kind} ${outcome.providerCode}`;
  return outcome.kind;
}

const JASMIN: Table = {
  response: {
    format: "text",
    pattern: '^(?:Success "(?P<id>[^"]+)"|Error "(?P<error>[^":_]+))',
    id: "$.id",
    error_code: "$.error",
    paused: { statuses: [403] },
    transient: { codes: ["No route found"] },
  },
};
const PIPES: Table = {
  response: {
    format: "text",
    pattern: "^(?P<code>[0-9]{4})(?:[|](?P<number>[0-9]+)[|](?P<id>[0-9A-Za-z-]+))?",
    id: "$.id",
    error_code: "$.code",
    accepted_when: { path: "$.code", equals: ["1701"] },
    paused: { codes: ["1703", "1025"] },
    final: { codes: ["1706", "1702"] },
  },
  errors: { 1706: "invalid_destination" },
};
const XML: Table = {
  response: {
    format: "xml",
    id: "$.response.message.@id",
    error_code: "$.response.error.code",
    accepted_when: { path: "$.response.message" },
    final: { codes: ["105"] },
    throttled: { codes: ["130"] },
  },
  errors: { 105: "invalid_destination" },
};
const FORM: Table = { response: { format: "form", id: "$.ID", error_code: "$.ERR", final: { codes: ["105"] } } };

for (const [name, table, response, expected] of [
  ["Jasmin", JASMIN, [200, 'Success "07033084-5cfd-4812-90a4-e4d24ffb6e3d"'], "accepted 07033084-5cfd-4812-90a4-e4d24ffb6e3d"],
  ["Jasmin", JASMIN, [412, 'Error "No route found"'], "refused carrier_unavailable No route found temporarily"],
  ["Jasmin", JASMIN, [403, 'Error "Authentication failure for username:x"'], "paused Authentication failure for username"],
  ["Jasmin", JASMIN, [200, "<html>"], "unknown"],
  ["Jasmin", JASMIN, [500, 'Success "1"'], "unknown"],
  ["pipes", PIPES, [200, "1701|4915112345678|bc5f7425-c98c"], "accepted bc5f7425-c98c"],
  ["pipes", PIPES, [200, "1701"], "unknown"],
  ["pipes", PIPES, [200, "1706|4915112345678|x"], "refused invalid_destination 1706"],
  ["pipes", PIPES, [200, "1702"], "refused rejected_by_carrier 1702"],
  ["pipes", PIPES, [200, "1025"], "paused 1025"],
  ["pipes", PIPES, [200, "1799"], "unknown"],
  ["XML", XML, [200, '<?xml version="1.0"?><response><message id="m7">ok</message></response>'], "accepted m7"],
  ["XML", XML, [200, "<response><error><code>105</code></error></response>"], "refused invalid_destination 105"],
  ["XML", XML, [400, "<response><error><code> 130 </code></error></response>"], "throttled 130"],
  ["XML", XML, [200, "<response><message/></response>"], "unknown"],
  ["XML", XML, [200, "<response><message id='m7'>"], "unknown"],
  ["a form", FORM, [200, "ID=m7&X=1"], "accepted m7"],
  ["a form", FORM, [400, "ERR=105"], "refused rejected_by_carrier 105"],
] as const)
  test(`${name}: HTTP ${response[0]} with ${response[1]} is ${expected}`, async () => {
    const { outcome, connection } = await exchange(table, response);
    assert.equal(summary(outcome, connection), expected);
  });

const KANNEL: Table = {
  response: {
    format: "text",
    pattern: "^(?P<code>[0-9]+): (?P<text>.*)",
    id: "none",
    success: [202],
    accepted_when: { path: "$.code", equals: ["0", "3"] },
    error_code: "$.text",
  },
  callbacks: { format: "query", verification: { type: "none" } },
  receipts: { reference: "?ref", status: "?type", statuses: { sent: ["8"], delivered: ["1"], undelivered: ["2"] } },
};

test("a carrier without ids accepts a message by our own id, and reports about it with our reference", async () => {
  for (const body of ["0: Accepted for delivery", "3: Queued for later delivery"]) {
    const { outcome } = await exchange(KANNEL, [202, body], { id: "msg_1" });
    assert.deepEqual(outcome, { kind: "accepted", providerMessageId: "msg_1", isOurs: true });
  }
  assert.equal((await exchange(KANNEL, [202, "<html>"])).outcome.kind, "unknown");
  const { host } = await call(KANNEL, { method: "GET", query: { ref: "msg_1", type: "1" } });
  assert.deepEqual(
    host.receipts.map(({ reference, providerMessageId, status }) => [reference, providerMessageId, status]),
    [["msg_1", null, "delivered"]],
  );
});

test("a carrier without ids needs a condition, and a reference in its receipts", () => {
  const { response, receipts } = KANNEL as { response: Table; receipts: Table };
  const { accepted_when: _, ...unconditional } = response;
  const { faults } = readLink({ ...KANNEL, response: unconditional, receipts: { ...receipts, id: "?id", reference: undefined } });
  assert.equal(faults.length, 2, faults.join("\n"));
  assert.match(faults.join("\n"), /response\.accepted_when: is required with id = "none"[^]*receipts\.reference: is required/);
});

async function call(table: Table, request: Partial<CarrierRequest>): Promise<{ response: CarrierResponse; host: RecordingHost }> {
  const host = new RecordingHost();
  const url = "http://127.0.0.1:9/providers/http/acme";
  const whole = { method: "POST", url, query: {}, headers: {}, body: Buffer.alloc(0), ...request };
  const settings = settingsOf({ public_url: "http://127.0.0.1:9", ...table });
  return { response: (await http.handleRequest?.(settings, whole, host)) ?? assert.fail("no response"), host };
}

const XML_CALLBACKS: Table = {
  callbacks: {
    format: "xml",
    verification: { type: "none" },
    response: { status: 202, content_type: "text/xml", body: "<Response/>" },
  },
  receipts: {
    items: "$.reports.dlr",
    id: "$.@id",
    status: "$.status",
    error_code: "$.error",
    statuses: { delivered: ["DELIVRD"], undelivered: ["UNDELIV"] },
  },
  inbound: { items: "$.reports.mo", id: "$.id", from: "$.from", to: "$.to", text: "$.text" },
  errors: { 27: "recipient_unreachable" },
};

test("callbacks in XML report receipts and messages, one or many, and get the response of the definition", async () => {
  const one = await call(XML_CALLBACKS, {
    body: Buffer.from('<reports><dlr id="a"><status>DELIVRD</status></dlr></reports>'),
  });
  assert.deepEqual(one.response, { status: 202, contentType: "text/xml", body: "<Response/>" });
  const dlr = '<dlr id="b"><status>UNDELIV</status><error>27</error></dlr>';
  const mo = "<mo><id>7</id><from>+49151</from><to>12345</to><text>a &lt; b</text></mo>";
  const many = await call(XML_CALLBACKS, { body: Buffer.from(`<reports>${dlr}${dlr.replace('"b"', '"c"')}${mo}</reports>`) });
  assert.deepEqual(
    [...one.host.receipts, ...many.host.receipts].map(({ providerMessageId, status, error }) => [
      providerMessageId,
      status,
      error?.code ?? null,
    ]),
    [
      ["a", "delivered", null],
      ["b", "undelivered", "recipient_unreachable"],
      ["c", "undelivered", "recipient_unreachable"],
    ],
  );
  assert.deepEqual(
    many.host.messages.map(({ from, to, text }) => [from, to, text]),
    [["+49151", "12345", "a < b"]],
  );
  const broken = await call(XML_CALLBACKS, { body: Buffer.from("<reports>") });
  assert.equal(broken.response.status, 400);
});

test("callbacks in plain text have a report in each line", async () => {
  const table = {
    callbacks: {
      format: "text",
      pattern: "^(?P<id>[^;]+);(?P<status>[A-Z]+)$",
      each_line: true,
      verification: { type: "none" },
      response: { body: "ACK" },
    },
    receipts: { items: "$[*]", id: "$.id", status: "$.status", statuses: { delivered: ["OK"] } },
  };
  const { response, host } = await call(table, { body: Buffer.from("a;OK\nb;WAIT\nc;OK\n") });
  assert.equal(response.body, "ACK");
  assert.deepEqual(
    host.receipts.map(({ providerMessageId }) => providerMessageId),
    ["a", "c"],
  );
});

test("a request in XML or plain text has each value in its place", async () => {
  const body = '<m to="{{recipient}}" key="{{value.key}}">{{body}}</m>';
  const fields = { recipient: "+4915112345678", body: `</m>&"'\u0001]]>é` };
  const accepted = [200, '{"id":"c1"}'] as const;
  const written = await exchange({ request: { format: "xml", body }, values: { key: "a<b" } }, accepted, fields);
  assert.equal(written.seen.body, '<m to="+4915112345678" key="a&lt;b">&lt;/m&gt;&amp;&quot;&apos;]]&gt;é</m>');
  assert.match(written.seen.headers["content-type"] ?? "", /^application\/xml/);
  const plain = await exchange({ request: { format: "text", body: "{{recipient}};{{body}}" } }, accepted, { ...fields, body: "<&>" });
  assert.equal(plain.seen.body, "+4915112345678;<&>");
});
