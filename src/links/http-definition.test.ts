import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { parse as parseToml } from "smol-toml";
import type { HttpSettings } from "../providers/http/http.ts";
import { carrierPath, CARRIERS, withCarrierFiles } from "./carrier-files.ts";
import { readPlan } from "./plan.ts";

type Table = Readonly<Record<string, unknown>>;

const REQUEST: Table = { url: "https://api.example/send", body: { to: "{{recipient}}" } };
const LINK: Table = { name: "acme", provider: "http", request: REQUEST, response: { id: "$.id" } };
const CALLBACKS: Table = { verification: { type: "none" } };
const HMAC: Table = { type: "hmac", header: "x-sign", secret: "x" };
const INBOUND: Table = { from: "$.from", to: "$.to", text: "$.text" };
const RECEIPTS: Table = { id: "$.id", status: "$.s", statuses: {} };

function faultsOf(table: Table): string[] {
  const faults: string[] = [];
  readPlan({ link: [{ ...LINK, ...table }] }, () => undefined, faults);
  return faults;
}

for (const [what, table, fault] of [
  ["no request", { request: undefined }, "request: is required"],
  ["no id in the response", { response: {} }, "response.id: is required"],
  ["an unknown field", { request: { ...REQUEST, uri: "x" } }, "request.uri: is not a known field; did you mean url?"],
  [
    "an unknown variable",
    { request: { ...REQUEST, body: { to: [{ x: "{{recipent}}" }] } } },
    "request.body.to.0.x: {{recipent}} is not a variable here; known are recipient, recipient_digits, sender, sender_digits, body, id, expires_seconds, expires_at, encoding, value.NAME, secret.NAME",
  ],
  [
    "a text in a header",
    { request: { ...REQUEST, headers: { "x-text": "{{body}}" } } },
    "request.headers.x-text: {{body}} is not a variable here; known are recipient, recipient_digits, id, value.NAME, secret.NAME",
  ],
  [
    "a secret that is not declared",
    { request: { ...REQUEST, auth: { type: "bearer", token: "{{secret.api_key}}" } } },
    "request.auth.token: the secret api_key is not set: write api_key_env under [link.secrets]",
  ],
  [
    "a secret that is not in the environment",
    { secrets: { token_env: "ACME_TOKEN" } },
    "secrets.token_env: the variable ACME_TOKEN is not set",
  ],
  ["a secret in place of its variable", { secrets: { token: "TOKEN" } }, "secrets.token: must be a name that ends with _env"],
  [
    "a value that is not set",
    { request: { ...REQUEST, query: { plan: "{{value.plan}}" } } },
    "request.query.plan: the value plan is not set: write plan under [link.values]",
  ],
  ["no public URL", { request: { ...REQUEST, body: { url: "{{callback_url}}" } } }, "request.body.url: {{callback_url}} needs public_url"],
  [
    "a host that depends on the message",
    { request: { url: "https://{{recipient}}.example/" } },
    "request.url: {{recipient}} is not a variable here; known are value.NAME, secret.NAME",
  ],
  [
    "a URL with credentials",
    { request: { url: "https://me:secret@api.example/" } },
    "request.url: must be a URL without credentials and fragment",
  ],
  [
    "a URL without TLS",
    { request: { url: "http://api.example/" } },
    "request.url: is http:// on another machine; write https://, or allow_plaintext = true if the network in between is trusted",
  ],
  [
    "a body of a GET",
    { request: { ...REQUEST, method: "GET" } },
    "request.body: a GET has no body; write its fields under [link.request.query]",
  ],
  [
    "a table in a form",
    { request: { ...REQUEST, format: "form", body: { a: { b: "c" } } } },
    "request.body.a: must be a text or a number in a form",
  ],
  ["a bad path", { response: { id: "id" } }, `response.id: "id" is not a path such as $.messages[0].id, $['message-id'] or ?parameter`],
  [
    "a bad path in a list",
    { response: { id: "$.id", error_code: ["$.a", "b"] } },
    `response.error_code.1: "b" is not a path such as $.messages[0].id, $['message-id'] or ?parameter`,
  ],
  [
    "a status of a server's fault",
    { response: { id: "$.id", transient: { statuses: [503] } } },
    "response.transient.statuses.0: must be at most 499",
  ],
  [
    "a code in two lists",
    { response: { id: "$.id", final: { codes: ["1"] }, paused: { codes: ["1"] } } },
    "response.final: 1 is in two lists",
  ],
  [
    "an unknown kind of credentials",
    { request: { ...REQUEST, auth: { type: "digest" } } },
    "request.auth.type: must be one of basic, bearer, oauth2, hmac, sigv4",
  ],
  [
    "credentials without a password",
    { request: { ...REQUEST, auth: { type: "basic", username: "x" } } },
    "request.auth.password: is required with type basic",
  ],
  [
    "receipts without a verification",
    { receipts: RECEIPTS },
    "callbacks: is needed with receipts or inbound: write how callbacks are verified",
  ],
  ["callbacks without a verification", { callbacks: {} }, "callbacks.verification: is required"],
  [
    "an unknown verification",
    { callbacks: { verification: { type: "md5" } } },
    "callbacks.verification.type: must be one of none, token, query-token, basic, hmac, ed25519, jwt",
  ],
  [
    "a field of another verification",
    { callbacks: { verification: { type: "token", header: "x", token: "x", secret: "x" } } },
    "callbacks.verification.secret: is not a known field with type token",
  ],
  [
    "an unknown algorithm",
    { callbacks: { verification: { type: "hmac", header: "x", secret: "x", algorithm: "md5" } } },
    "callbacks.verification.algorithm: must be one of sha1, sha256, sha512",
  ],
  [
    "a public key of another length",
    { callbacks: { verification: { type: "ed25519", header: "x", public_key: "abcd" } } },
    "callbacks.verification.public_key: must be an Ed25519 key of 32 bytes in base64",
  ],
  [
    "a time that is not signed",
    { callbacks: { verification: { ...HMAC, signed: "{{body}}{{header.x-nonce}}", timestamp_header: "x-time" } } },
    "callbacks.verification.timestamp_header: is not signed, so that anyone could change it: write {{header.x-time}} in signed",
  ],
  [
    "a time beside a signature over the body only",
    { callbacks: { verification: { type: "ed25519", header: "x", public_key: "A".repeat(43) + "=", timestamp_header: "x-time" } } },
    "callbacks.verification.timestamp_header: is not signed, so that anyone could change it: write {{header.x-time}} in signed",
  ],
  [
    "an unknown status",
    { callbacks: CALLBACKS, receipts: { ...RECEIPTS, statuses: { done: ["x"] } } },
    "receipts.statuses.done: is not a known field",
  ],
  [
    "a status in two lists",
    { callbacks: CALLBACKS, receipts: { ...RECEIPTS, statuses: { sent: ["x"], delivered: ["x"] } } },
    'receipts.statuses.delivered: "x" is in two lists',
  ],
  [
    "receipts that name no message",
    { callbacks: CALLBACKS, receipts: { ...RECEIPTS, id: undefined } },
    "receipts: needs id or reference, to find the message",
  ],
  [
    "a kind of inbound messages without a writer",
    { callbacks: CALLBACKS, inbound: [INBOUND, { ...INBOUND, from: undefined }] },
    "inbound.1.from: is required",
  ],
  [
    "a bad path in a kind of inbound messages",
    { callbacks: CALLBACKS, inbound: [INBOUND, { ...INBOUND, text: "text" }] },
    `inbound.1.text: "text" is not a path such as $.messages[0].id, $['message-id'] or ?parameter`,
  ],
] as const)
  test(`${what} is one fault, in one sentence`, () => assert.deepEqual(faultsOf(table), [`link acme: ${fault}`]));

test("a definition without faults has none", () => {
  assert.deepEqual(faultsOf({ callbacks: CALLBACKS, receipts: RECEIPTS }), []);
  const verification = { ...HMAC, signed: "{{ header.X-Time }}.{{body}}", timestamp_header: "x-time" };
  assert.deepEqual(faultsOf({ callbacks: { verification }, receipts: RECEIPTS }), []);
});

test("the tables of a link replace those of its carrier file, member by member", () => {
  const folder = mkdtempSync(join(tmpdir(), "godwit-carriers-"));
  try {
    writeFileSync(
      join(folder, "acme.toml"),
      `rate = 7\n[request]\nurl = "https://api.example/{{value.plan}}"\nformat = "form"\nbody = { to = "{{recipient}}" }\n[response]\nid = "$.id"\n[values]\nplan = "a"\n`,
    );
    const faults: string[] = [];
    const link = { name: "acme", provider: "http", carrier: "./acme.toml", request: { body: { text: "{{body}}" } }, values: { plan: "b" } };
    const tables = withCarrierFiles({ link: [link] }, join(folder, "godwit.toml"), faults);
    const { links } = readPlan(tables, () => undefined, faults);
    assert.deepEqual(faults, []);
    const { definition, values, baseUrl, partsPerSecond } = (links[0] ?? assert.fail()).settings as HttpSettings;
    assert.deepEqual(definition.request, {
      url: "https://api.example/{{value.plan}}",
      format: "form",
      body: { to: "{{recipient}}", text: "{{body}}" },
    });
    assert.deepEqual([values, baseUrl, partsPerSecond], [{ plan: "b" }, "https://api.example", 7]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("a carrier file that does not exist, or that has members of a link, is a fault", () => {
  const faults: string[] = [];
  withCarrierFiles({ link: [{ name: "acme", provider: "http", carrier: "nowhere" }] }, undefined, faults);
  assert.match(faults.join("\n"), /^link acme: carrier: .*packaging\/carriers\/nowhere\.toml: ENOENT/);
});

for (const name of CARRIERS)
  test(`the shipped file ${name} has no fault but missing secrets and values`, () => {
    const faults: string[] = [];
    const link = { name: "x", provider: "http", carrier: name, public_url: "https://godwit.example" };
    readPlan(withCarrierFiles({ link: [link] }, undefined, faults), () => "", faults);
    for (const fault of faults) assert.match(fault, /the value \w+ is not set/);
  });

/** Gateways that pass on numbers as the carrier behind them writes them. */
const GATEWAYS = new Set(["jasmin", "kannel"]);

for (const name of CARRIERS.filter((each) => !GATEWAYS.has(each)))
  test(`the shipped file ${name} says that numbers are international, so that its links need no country`, () => {
    const { inbound = [] } = parseToml(readFileSync(carrierPath(name), "utf8")) as unknown as { inbound?: Table | Table[] };
    for (const each of [inbound].flat()) assert.equal(each["number_type"], "international");
  });
