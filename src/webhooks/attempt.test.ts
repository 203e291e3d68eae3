import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { uuidFromText } from "../lib/uuid.ts";
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
    assert.equal(calls, made);
  } finally {
    await client.close();
    server.close();
  }
});
