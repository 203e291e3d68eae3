import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { newUuid, uuidFromText } from "../lib/uuid.ts";
import { HttpClient, type HttpOutcome, type HttpRequest } from "../outbound/http-client.ts";
import { attemptDelivery, CALLBACK_LIMITS, type AttemptParts, type ClaimedDelivery } from "./attempt.ts";

test("all calls of a callback, and what follows them, end within its limit", async () => {
  let calls = 0;
  const server = createServer((_, response) => {
    calls += 1;
    setTimeout(() => response.end(), 5);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const client = new HttpClient(CALLBACK_LIMITS);
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const ended = Promise.withResolvers<HttpOutcome>();
  const parts = {
    client,
    clock: { now: Date.now },
    forms: new Map([
      [
        "twilio",
        async (_: ClaimedDelivery, call: (request: HttpRequest) => Promise<HttpOutcome>) => {
          // As slow redirects do. The last step is no call.
          for (;;) {
            const outcome = await call({ origin, path: "/", method: "GET", headers: {}, body: "" });
            if (outcome.kind === "response") continue;
            ended.resolve(outcome);
            return new Promise(() => undefined);
          }
        },
      ],
    ]),
  } as unknown as AttemptParts;
  const id = uuidFromText("01890000-0000-7000-8000-000000000001");
  const row = { id, event_id: id, endpoint_id: id, type: "message.received", record: "{}", attempts: 0, trace: null };
  const delivery = { row, endpoint: { id, source: "twilio" } } as unknown as ClaimedDelivery;
  try {
    const { settlement } = await attemptDelivery(parts, delivery, { signal: new AbortController().signal, limitMs: 350.5 });
    const [attempt] = JSON.parse(settlement.attempt) as { error: string }[];
    assert.deepEqual([settlement.outcome, attempt?.error], ["later", "timeout"]);
    assert.equal((await ended.promise).kind, "no_response");
    const made = calls;
    await new Promise((resolve) => setTimeout(resolve, 50));
    // The last call may have been on its way to the server.
    assert.ok(calls - made <= 1, `${calls - made} calls after the end`);
  } finally {
    await client.close();
    server.close();
  }
});

test("a callback that must wait for a file is looked at again, and is no attempt", async () => {
  const parts = {
    clock: { now: Date.now },
    forms: new Map([["twilio", async (_: unknown, __: unknown, mayWait: boolean) => (mayWait ? { kind: "not_yet" } : undefined)]]),
  } as unknown as AttemptParts;
  const settle = async (ageMs: number) => {
    const id = newUuid(Date.now() - ageMs);
    const row = { id, event_id: id, endpoint_id: id, type: "message.received", record: "{}", attempts: 2, trace: null };
    const delivery = { row, endpoint: { id, source: "twilio" } } as unknown as ClaimedDelivery;
    return attemptDelivery(parts, delivery, { signal: new AbortController().signal, limitMs: 10_000 });
  };
  const [young, older, last, old] = [await settle(0), await settle(10_000), await settle(550_000), await settle(600_000)];
  for (const { settlement, reply } of [young, older, last])
    assert.deepEqual([settlement.outcome, settlement.attempts, settlement.attempt, reply], ["later", 2, "[]", undefined]);
  assert.ok((young.settlement.delayMs ?? 0) >= 1_000 && (young.settlement.delayMs ?? 0) < 10_000);
  assert.ok((older.settlement.delayMs ?? 0) >= 10_000 && (older.settlement.delayMs ?? 0) < 60_000);
  assert.ok((last.settlement.delayMs ?? 0) <= 50_000);
  assert.equal(old.settlement.outcome, "dropped", "after ten minutes the form must decide");
});
