import assert from "node:assert/strict";
import { test } from "node:test";
import { serviceFailure } from "./client.ts";
import { eventLine } from "./follow-events.ts";

const line = (message: object): string =>
  eventLine({ id: "evt_1", type: "message.received", data: JSON.stringify({ timestamp: "2030-01-31T09:00:00.000Z", data: { message } }) });

test("the line of an event has the number of the person, for both directions", () => {
  const outbound = line({ id: "msg_1", direction: "outbound", recipient: "+14155550123", sender: "+14155550100" });
  assert.ok(outbound.includes("msg_1  +14155550123") && !outbound.includes("+14155550100"), outbound);
  const inbound = line({ id: "msg_2", direction: "inbound", recipient: "+14155550100", sender: "+14155550123" });
  assert.ok(inbound.includes("msg_2  +14155550123") && !inbound.includes("+14155550100"), inbound);
});

test("the line of an event has the error of its message or its file", () => {
  const lineOf = (type: string, data: object): string => eventLine({ id: "evt_1", type, data: JSON.stringify({ data }) });
  const message = { id: "msg_1", recipient: "+14155550123", error: { code: "blocked_by_carrier" } };
  assert.ok(lineOf("message.undelivered", { message }).includes("blocked_by_carrier"));
  assert.ok(lineOf("media.failed", { media: { id: "media_1", error: "media_refused" } }).includes("media_refused"));
  assert.ok(!lineOf("media.ready", { media: { id: "media_1", error: null } }).includes("null"));
});

test("a refused connection asks whether the service is running", () => {
  const refused = Object.assign(new Error("connect ECONNREFUSED 127.0.0.1:8080"), { code: "ECONNREFUSED" });
  assert.equal(
    serviceFailure(new TypeError("fetch failed", { cause: refused })),
    "connect ECONNREFUSED 127.0.0.1:8080: is the service running? godwit serve starts it",
  );
});

test("a refused connection names every address of the host", () => {
  const refused = ["::1:8080", "127.0.0.1:8080"].map((address) => new Error(`connect ECONNREFUSED ${address}`));
  const cause = Object.assign(new AggregateError(refused, ""), { code: "ECONNREFUSED" });
  assert.equal(
    serviceFailure(new TypeError("fetch failed", { cause })),
    "connect ECONNREFUSED ::1:8080, connect ECONNREFUSED 127.0.0.1:8080: is the service running? godwit serve starts it",
  );
});
