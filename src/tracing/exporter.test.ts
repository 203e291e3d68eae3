import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { test, type TestContext } from "node:test";
import pino from "pino";
import { newTrace } from "../lib/trace.ts";
import { Exporter } from "./exporter.ts";
import type { EndedSpan } from "./otlp.ts";

const span: EndedSpan = {
  name: "x",
  kind: "internal",
  trace: newTrace(),
  parentSpanId: undefined,
  startMs: 1,
  endMs: 2,
  attributes: {},
  isError: false,
};

/** Starts a collector that responds with a status, or never, and an exporter with its counts. */
async function start(context: TestContext, status: number | null, flushMs?: number) {
  const server = createServer((request, response) => {
    request.resume();
    if (status !== null) request.on("end", () => response.writeHead(status).end());
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  context.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const counts = { exported: 0, dropped: 0, largest: 0 };
  const exporter = new Exporter({
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/traces`,
    headers: {},
    write: (spans) => {
      counts.largest = Math.max(counts.largest, spans.length);
      return JSON.stringify(spans);
    },
    watch: { exported: (count) => (counts.exported += count), dropped: (count) => (counts.dropped += count) },
    log: pino({ enabled: false }),
    ...(flushMs !== undefined && { flushMs }),
  });
  return { exporter, counts };
}

test("the number of waiting spans is limited, and further spans are dropped and counted", async (context) => {
  const { exporter, counts } = await start(context, null);
  for (let count = 0; count < 10_000; count += 1) exporter.add(span);
  assert.equal(counts.dropped, 10_000 - 8_192);
  const startedAt = performance.now();
  await exporter.stop();
  assert.ok(performance.now() - startedAt < 9_000, "the stop does not wait for a response");
  assert.deepEqual([counts.exported, counts.dropped], [0, 10_000]);
});

test("all waiting spans are sent at the stop, in requests of limited size", async (context) => {
  const { exporter, counts } = await start(context, 200, 120_000);
  for (let count = 0; count < 2_000; count += 1) exporter.add(span);
  await exporter.stop();
  assert.deepEqual(counts, { exported: 2_000, dropped: 0, largest: 512 });
  exporter.add(span);
  assert.equal(counts.dropped, 1, "a span after the stop is dropped");
});

test("a collector that asks for a later attempt gets no further request at the stop", async (context) => {
  const { exporter, counts } = await start(context, 503);
  for (let count = 0; count < 600; count += 1) exporter.add(span);
  await exporter.stop();
  assert.deepEqual([counts.exported, counts.dropped], [0, 600]);
});
