/** A fake OpenTelemetry collector that receives OTLP over HTTP as JSON, with a status that the test sets. */
import assert from "node:assert/strict";
import { once } from "node:events";
import type { IncomingHttpHeaders, Server, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { bodyServer } from "../hook-server.ts";

type Value = { stringValue?: string; intValue?: string; boolValue?: boolean; doubleValue?: number };
type Pair = { key: string; value: Value };
type Written = {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  kind: number;
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  attributes: Pair[];
  status: { code?: number };
};
type Request = { resourceSpans: { resource: { attributes: Pair[] }; scopeSpans: { scope: { name: string }; spans: Written[] }[] }[] };

export type SeenSpan = Omit<Written, "attributes"> & { attributes: Record<string, unknown>; resource: Record<string, unknown> };

export class Collector {
  readonly spans: SeenSpan[] = [];
  readonly requests: { path: string; headers: IncomingHttpHeaders; text: string }[] = [];
  /** The status of the responses; null for no response. */
  status: number | null = 200;
  readonly #server: Server;

  private constructor() {
    this.#server = bodyServer(({ url: path = "", headers }, text, response) => this.#take({ path, headers, text }, response));
  }

  static async listen(port = 0): Promise<Collector> {
    const collector = new Collector();
    collector.#server.listen(port, "127.0.0.1");
    await once(collector.#server, "listening");
    return collector;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** The spans of a trace. */
  of(traceId: string): SeenSpan[] {
    return this.spans.filter((span) => span.traceId === traceId);
  }

  #take(request: { path: string; headers: IncomingHttpHeaders; text: string }, response: ServerResponse): void {
    this.requests.push(request);
    if (this.status === null) return;
    if (this.status === 200) this.#keep(JSON.parse(request.text) as Request);
    response.writeHead(this.status, { "content-type": "application/json" }).end("{}");
  }

  #keep({ resourceSpans }: Request): void {
    for (const { resource, scopeSpans } of resourceSpans)
      for (const { spans } of scopeSpans)
        for (const span of spans) {
          assertForm(span);
          this.spans.push({ ...span, attributes: plain(span.attributes), resource: plain(resource.attributes) });
        }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((closed) => this.#server.close(closed));
  }
}

const plain = (pairs: readonly Pair[]): Record<string, unknown> =>
  Object.fromEntries(pairs.map(({ key, value }) => [key, value.intValue === undefined ? Object.values(value)[0] : Number(value.intValue)]));

function assertForm({ traceId, spanId, parentSpanId, startTimeUnixNano, endTimeUnixNano }: Written): void {
  assert.match(traceId, /^[0-9a-f]{32}$/);
  assert.match(spanId, /^[0-9a-f]{16}$/);
  assert.match(parentSpanId ?? "0".repeat(16), /^[0-9a-f]{16}$/);
  assert.match(startTimeUnixNano, /^\d{19}$/);
  assert.match(endTimeUnixNano, /^\d{19}$/);
  assert.ok(BigInt(endTimeUnixNano) >= BigInt(startTimeUnixNano));
}
