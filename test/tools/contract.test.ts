/** The check of every exchange reports each deviation from the document and nothing else, so that a green test proves something. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { violationsOf, type Response, type SentRequest } from "../support/contract.ts";

const REQUEST_ID = "req_01k9zs3v8mf4tb2xg1qj6n0d5c";
const JWKS = "/.well-known/jwks.json";
const PROBLEM = { type: "/errors/not_found", title: "Not found", status: 404, code: "not_found", detail: "No.", request_id: REQUEST_ID };

const withKey = { authorization: "Bearer gw_test_x" };

type Reply = { status?: number; type?: string; json?: unknown; hasId?: boolean };

const response = ({ status = 404, type = "application/problem+json", json = PROBLEM, hasId = true }: Reply): Response => ({
  status,
  headers: new Headers({ "content-type": `${type}; charset=utf-8`, ...(hasId ? { "x-request-id": REQUEST_ID } : {}) }),
  json,
  text: JSON.stringify(json),
});

const judged = (request: Partial<SentRequest> & { path: string }, reply: Reply = {}): string =>
  violationsOf({ method: "GET", headers: {}, ...request }, response(reply)).join("\n");

const keySet = (deviation: Reply): string =>
  judged({ path: JWKS }, { status: 200, type: "application/json", json: { keys: [] }, ...deviation });

test("a response as declared passes, and so does a refused request", () => {
  assert.equal(keySet({}), "");
  assert.equal(judged({ path: "/v1/messages/msg_x", headers: withKey }), "");
  assert.equal(judged({ path: "/v1/no_such_path" }), "");
  assert.equal(judged({ method: "DELETE", path: "/v1/messages", headers: withKey }, { status: 405 }), "");
  assert.equal(judged({ path: "/v1/messages?no_such_parameter=1", headers: withKey }, { status: 400 }), "");
  assert.equal(judged({ path: "/v1/messages" }, { status: 401 }), "");
  assert.equal(judged({ method: "POST", path: "/v1/messages", headers: withKey, body: "{" }, { status: 400 }), "");
  assert.equal(judged({ path: "/a/page/of/no/api" }), "");
});

test("a wrong status, media type, body or header is a violation", () => {
  assert.equal(keySet({ status: 418 }), `GET ${JWKS} → 418: no such status is declared`);
  assert.match(keySet({ type: "text/plain" }), /→ 200: text\/plain is not declared$/);
  assert.match(keySet({ json: { keys: [{ kty: 7 }] } }), /→ 200: .*\/keys\/0.*$/);
  assert.match(keySet({ json: null }), /→ 200: /);
  assert.match(keySet({ hasId: false }), /→ 200: without X-Request-ID$/);
});

test("an invalid request that succeeds, or a request to an undeclared path, is a violation", () => {
  const list = { status: 200, type: "application/json", json: { data: [], has_more: false, next_cursor: null } };
  assert.match(judged({ path: "/v1/no_such_path" }, list), /GET \/v1\/no_such_path is not declared/);
  assert.match(judged({ path: "/v1/messages" }, list), /the request has no credentials/);
  assert.match(judged({ path: "/v1/messages?no_such_parameter=1", headers: withKey }, list), /no_such_parameter is not declared/);
  const invalid = { method: "POST", path: "/v1/messages", headers: withKey, body: '{"channel":"fax"}' };
  assert.match(judged(invalid, { ...list, status: 202 }), /must have required property 'recipient'/);
});
