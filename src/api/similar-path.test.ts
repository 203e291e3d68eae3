import assert from "node:assert/strict";
import { test } from "node:test";
import { similarPath } from "./similar-path.ts";

const KNOWN = ["/v1/messages", "/v1/messages/{id}", "/v1/messages/{id}/cancel", "/v1/batches", "/v1/webhook_endpoints", "/v1/oauth/token"];

const MEANT: readonly (readonly [url: string, meant: string | undefined])[] = [
  ["/v1/message", "/v1/messages"],
  ["/v1/mesages?limit=1", "/v1/messages"],
  ["/v1/messages/", "/v1/messages"],
  ["/messages", "/v1/messages"],
  ["/v1/message/msg_01k9zs3v8mf4tb2xg1qj6n0d5c", "/v1/messages/{id}"],
  ["/v1/messages/msg_01k9zs3v8mf4tb2xg1qj6n0d5c/cancle", "/v1/messages/{id}/cancel"],
  ["/v1/webhooks", "/v1/webhook_endpoints"],
  ["/webhooks", "/v1/webhook_endpoints"],
  ["/v1/webhook", "/v1/webhook_endpoints"],
  ["/v1/constructor", undefined],
  ["/v1", undefined],
  ["/v1/webhook-endpoints", "/v1/webhook_endpoints"],
  ["/v2/messages", undefined],
  ["/v1/payments", undefined],
  ["/wp-login.php", undefined],
  ["/", undefined],
  [`/v1/${"messages".repeat(40)}`, undefined],
  ["/".repeat(200), undefined],
];

for (const [url, meant] of MEANT) {
  test(`${url.slice(0, 60)} is ${meant === undefined ? "near no path" : `probably ${meant}`}`, () =>
    assert.equal(similarPath(url, KNOWN), meant));
}
