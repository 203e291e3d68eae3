/** Every carrier file with recorded examples from the carrier's documentation, through the real code: requests over HTTP to a peer that plays the
 *  recorded responses, and callbacks over HTTP. */
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { parse as parseToml } from "smol-toml";
import { CARRIERS, carrierPath, withCarrierFiles } from "../../src/links/carrier-files.ts";
import { readPlan } from "../../src/links/plan.ts";
import {
  EXAMPLE_MS,
  exampleFaults,
  exampleMessage,
  exampleSecret,
  messageText,
  outcomeText,
  receiptText,
  type CallbackExample,
  type Examples,
  type SendExample,
} from "../../src/providers/http/examples.ts";
import { http, type HttpSettings } from "../../src/providers/http/http.ts";
import { CallbackServer, HttpCarrierServer, respond, type CarrierBehavior, type Seen } from "../support/fakes/http-carrier.ts";
import { mayLeave, RecordingHost, settled } from "../support/recording-host.ts";

/** Compared with the SDK of the carrier in a test of their own. */
const WITH_SDK = new Set(["aws", "sinch", "telnyx", "vonage"]);

class HostAtFixedTime extends RecordingHost {
  override now(): number {
    return EXAMPLE_MS;
  }
}

type File = { request: { url: string; auth?: { token_url?: string } }; secrets?: Record<string, string> };

const examplesPath = (carrier: string): string => join(carrierPath(carrier), "..", "..", "carrier-examples", `${carrier}.toml`);

/** The settings of a link with the carrier file, which sends to `origin` in place of the carrier's hosts. */
function settingsOf(carrier: string, { values = {} }: Examples, origin: string): HttpSettings {
  const { request, secrets = {} } = parseToml(readFileSync(carrierPath(carrier), "utf8")) as unknown as File;
  const { auth } = request;
  const table = {
    name: "main",
    provider: "http",
    carrier,
    public_url: "https://godwit.example",
    values,
    rate: 10_000,
    request: {
      url: request.url.replace(/^https?:\/\/[^/]+/, origin),
      ...(auth?.token_url === undefined ? {} : { auth: { token_url: `${origin}/oauth/token` } }),
    },
  };
  const names = new Map(Object.entries(secrets).map(([name, variable]) => [variable, name.replace(/_env$/, "")]));
  const faults: string[] = [];
  const { links } = readPlan(
    withCarrierFiles({ link: [table] }, undefined, faults),
    (variable) => exampleSecret(names.get(variable) ?? variable),
    faults,
  );
  assert.deepEqual(faults, []);
  return links[0]?.settings as HttpSettings;
}

/** JSON and forms are compared by their contents, which may be in another order. */
function contents(body: string): unknown {
  if (body.startsWith("{")) return JSON.parse(body) as unknown;
  return Object.fromEntries(new URLSearchParams(body));
}

function compareRequest(expected: NonNullable<SendExample["request"]>, seen: Seen): void {
  const { method, path, headers = {}, body } = expected;
  if (method !== undefined) assert.equal(seen.method, method);
  if (path !== undefined) assert.equal(seen.path, path);
  if (body !== undefined) assert.deepEqual(contents(seen.body), contents(body));
  for (const [name, value] of Object.entries(headers)) assert.equal(seen.headers[name], value);
}

async function trySend(carrier: string, examples: Examples, example: SendExample): Promise<void> {
  const { status, body } = example.response;
  const behavior = ({ path }: Seen): CarrierBehavior =>
    path === "/oauth/token" ? respond({ access_token: "t", expires_in: 3_600 }) : { kind: "responds", status, body };
  const peer = await new HttpCarrierServer(behavior).listen();
  const connection = await http.open(settingsOf(carrier, examples, peer.url), new HostAtFixedTime());
  try {
    const outcome = await settled(connection.send(exampleMessage(example), new AbortController().signal, mayLeave), "a send");
    const isPaused = outcome.kind === "throttled" && connection.state?.kind === "paused";
    assert.equal(isPaused ? `paused ${outcome.providerCode}` : outcomeText(outcome), example.outcome);
    const seen = peer.seen.find(({ path }) => path !== "/oauth/token") ?? assert.fail("no request");
    if (example.request !== undefined) compareRequest(example.request, seen);
  } finally {
    await connection.close();
    await peer.close();
  }
}

async function tryCallback(carrier: string, examples: Examples, example: CallbackExample): Promise<void> {
  const host = new HostAtFixedTime();
  const settings = settingsOf(carrier, examples, "http://127.0.0.1:1");
  const server = await CallbackServer.open(async (request) => http.handleRequest?.(settings, request, host) ?? assert.fail("no response"));
  const call = async (query: string, headers: Record<string, string>): Promise<Response> => {
    const { method = "POST", body = "" } = example;
    return fetch(server.url(`/providers/http/main?${query}`), { method, headers, ...(method === "GET" ? {} : { body }) });
  };
  try {
    const response = await call(example.query ?? "", example.headers ?? {});
    assert.equal(response.status, 200);
    const text = await response.text();
    if (example.response !== undefined) assert.equal(text, example.response);
    assert.deepEqual(host.receipts.map(receiptText), example.receipts ?? []);
    assert.deepEqual(host.messages.map(messageText), example.messages ?? []);
    const forged = await call((example.query ?? "").replace(/token=[^&]*/, "token=wrong"), {});
    assert.ok(forged.status === 403 || forged.status === 401, "without credentials");
  } finally {
    await server.close();
  }
}

test("every carrier file has examples, or a test with the SDK of its carrier", () => {
  assert.deepEqual(
    CARRIERS.filter((carrier) => WITH_SDK.has(carrier) === existsSync(examplesPath(carrier))),
    [],
  );
  assert.ok(CARRIERS.length >= 12);
});

for (const carrier of CARRIERS.filter((each) => !WITH_SDK.has(each))) {
  const file = parseToml(readFileSync(examplesPath(carrier), "utf8"));
  test(`the examples of ${carrier} are in their form, and have a send, a receipt and a refusal`, () => {
    assert.deepEqual(exampleFaults(file), []);
    const { send = [], callback = [] } = file as Examples;
    assert.ok(send.some(({ outcome, request }) => outcome.startsWith("accepted") && request !== undefined));
    assert.ok(send.some(({ outcome }) => /^(refused|paused)/.test(outcome)));
    assert.ok(callback.some(({ receipts = [] }) => receipts.length > 0));
  });
  const examples = file as Examples;
  for (const example of examples.send ?? []) test(`${carrier}: ${example.name}`, () => trySend(carrier, examples, example));
  for (const example of examples.callback ?? [])
    test(`${carrier}, callback: ${example.name}`, () => tryCallback(carrier, examples, example));
}
