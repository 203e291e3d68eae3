/** The validating proxy reports every deviation from the document and nothing else, so that a contract run proves something. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, test } from "node:test";
import { ContractProxy } from "../support/contract-proxy.ts";

const REQUEST_ID = "req_01k9zs3v8mf4tb2xg1qj6n0d5c";
const JWKS = "/.well-known/jwks.json";
const KEYS = { keys: [] };
const PROBLEM = { type: "/errors/not_found", title: "Not found", status: 404, code: "not_found", detail: "No.", request_id: REQUEST_ID };

type Lie = { status?: number; type?: string; body?: unknown; hasId?: boolean };
/** How the response deviates from the document, by the header `x-lie`. */
const LIES: Record<string, Lie> = {
  status: { status: 418 },
  type: { type: "text/plain" },
  schema: { body: { keys: [{ kty: 7 }] } },
  header: { hasId: false },
  json: { body: undefined },
};

function respond(response: ServerResponse, honest: Required<Lie>, lie: Lie): void {
  const { status, type, body, hasId } = { ...honest, ...lie };
  response.writeHead(status, { "content-type": `${type}; charset=utf-8`, ...(hasId ? { "x-request-id": REQUEST_ID } : {}) });
  response.end(body === undefined ? "{" : JSON.stringify(body));
}

let server: Server;
before(async () => {
  server = createServer(({ method, url, headers }, response) => {
    const isKnown = method === "GET" && url === JWKS;
    const honest = isKnown
      ? { status: 200, type: "application/json", body: KEYS, hasId: true }
      : { status: Number(headers["x-status"] ?? 404), type: "application/problem+json", body: PROBLEM, hasId: true };
    respond(response, honest, LIES[String(headers["x-lie"])] ?? {});
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
});
after(() => server.close());

type Request = { method?: string; path: string; headers?: Record<string, string>; body?: string };

/** The report of the proxy about these requests. */
async function judged(requests: readonly Request[]): Promise<string[]> {
  const proxy = await ContractProxy.start(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  for (const { path, ...options } of requests) await (await fetch(`${proxy.url}${path}`, options)).text();
  return proxy.close();
}

const withKey = { authorization: "Bearer gw_test_x" };
const lying = (lie: string): Request => ({ path: JWKS, headers: { "x-lie": lie } });

test("a response as declared passes, and so does a refused request", async () => {
  const violations = await judged([
    { path: JWKS },
    { path: "/v1/messages/msg_x", headers: withKey },
    { path: "/v1/no_such_path" },
    { method: "DELETE", path: "/v1/messages", headers: { ...withKey, "x-status": "405" } },
    { path: "/v1/messages?no_such_parameter=1", headers: { ...withKey, "x-status": "400" } },
    { path: "/v1/messages", headers: { "x-status": "401" } },
    { method: "POST", path: "/v1/messages", headers: { ...withKey, "content-type": "application/json", "x-status": "400" }, body: "{" },
    { path: "/a/page/of/no/api" },
  ]);
  assert.deepEqual(violations, []);
});

test("a wrong status, media type, body or header is a violation", async () => {
  const violations = await judged(["status", "type", "schema", "json", "header"].map(lying));
  const expected = [
    /^GET \/\.well-known\/jwks\.json → 418: no such status is declared$/,
    /→ 200: text\/plain is not declared$/,
    /→ 200: .*must be .*string.* \(schema-consistency, \/keys\/0\/kty\)$|→ 200: .*\(schema-consistency, \/keys\/0\/kty\)$/,
    /→ 200: Response body is not valid JSON/,
    /→ 200: without X-Request-ID$/,
  ];
  for (const pattern of expected)
    assert.ok(
      violations.some((each) => pattern.test(each)),
      `${pattern}\n${violations.join("\n")}`,
    );
});

test("an invalid request that succeeds, or a request to an undeclared path, is a violation", async () => {
  const well = { "x-status": "200" };
  const violations = await judged([
    { path: "/v1/no_such_path", headers: well },
    { path: "/v1/messages", headers: well },
    { path: "/v1/messages?no_such_parameter=1", headers: { ...withKey, ...well } },
    {
      method: "POST",
      path: "/v1/messages",
      headers: { ...withKey, ...well, "content-type": "application/json" },
      body: '{"channel":"fax"}',
    },
  ]);
  const expected = [
    "Undocumented endpoint: GET /v1/no_such_path",
    "Request does not satisfy documented OpenAPI security requirements",
    'Undocumented query parameter in traffic: "no_such_parameter"',
    'Request is missing required field "recipient"',
  ];
  for (const text of expected)
    assert.ok(
      violations.some((each) => each.includes(text)),
      `${text}\n${violations.join("\n")}`,
    );
});
