/** Traces at a collector: one trace from the accept to the webhook across nodes, and a collector that fails. */
import assert from "node:assert/strict";
import { randomBytes, randomUUID } from "node:crypto";
import type { AddressInfo } from "node:net";
import { once } from "node:events";
import { after, before, describe, test } from "node:test";
import type { IncomingHttpHeaders, Server, ServerResponse } from "node:http";
import { LIMIT_MS, until } from "../support/expect.ts";
import { sms, startGodwit, type Godwit } from "../support/harness.ts";
import { freePort } from "../support/free-port.ts";
import { ALLOW_LOOPBACK, bodyServer, Hook, messageOf, OK, REFUSED } from "../support/hook-server.ts";
import { readMetrics, seriesOf } from "../support/metrics-text.ts";
import { Customer, WITH_WEBHOOKS, type Endpoint } from "../support/webhook-customer.ts";

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

type SeenSpan = Omit<Written, "attributes"> & { attributes: Record<string, unknown>; resource: Record<string, unknown> };

class Collector {
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

const SERVER = 2;
const CLIENT = 3;
const CONSUMER = 5;
const NAMES = [
  "POST /v1/messages",
  "commit",
  "receipt",
  "send simulator",
  "webhook message.delivered",
  "webhook message.queued",
  "webhook message.sending",
  "webhook message.sent",
];

const newTraceId = (): string => randomBytes(16).toString("hex");
const PARENT_SPAN = "00f067aa0ba902b7";
const sendWithin = (customer: Customer, traceId: string, flags = "01", fields: object = {}) =>
  customer.godwit.request("POST", "/v1/messages", {
    key: customer.key,
    idempotencyKey: randomUUID(),
    body: { ...sms(), ...fields },
    headers: { traceparent: `00-${traceId}-${PARENT_SPAN}-${flags}` },
  });

const namesOf = (spans: readonly SeenSpan[]): string[] => spans.map(({ name }) => name).toSorted();
const named = (spans: readonly SeenSpan[], name: string): SeenSpan => {
  const span = spans.find((each) => each.name === name);
  assert.ok(span !== undefined, `${name} is not among ${namesOf(spans).join(", ")}`);
  return span;
};

/** Waits for the whole trace of a delivered message, including all webhooks. */
const wholeTrace = (collector: Collector, traceId: string): Promise<SeenSpan[]> =>
  until(`the spans of ${traceId}`, () => (collector.of(traceId).length >= NAMES.length ? collector.of(traceId) : undefined));

function assertOneTrace(spans: readonly SeenSpan[], parentSpanId: string | undefined): void {
  assert.deepEqual(namesOf(spans), NAMES);
  const root = named(spans, "POST /v1/messages");
  assert.equal(root.kind, SERVER);
  assert.equal(root.parentSpanId, parentSpanId);
  for (const span of spans) if (span !== root) assert.equal(span.parentSpanId, root.spanId, span.name);
  assert.equal(new Set(spans.map(({ spanId }) => spanId)).size, spans.length);
}

describe("a message on one node", () => {
  let collector: Collector;
  let hook: Hook;
  let godwit: Godwit;
  let customer: Customer;
  let endpoint: Endpoint;
  before(async () => {
    collector = await Collector.listen();
    hook = await Hook.listen();
    godwit = await startGodwit({
      ...WITH_WEBHOOKS,
      env: { ...ALLOW_LOOPBACK, OTEL_EXPORTER_OTLP_ENDPOINT: `${collector.url}/`, OTEL_EXPORTER_OTLP_HEADERS: "x-tenant=a%20b" },
    });
    customer = await Customer.of(godwit);
    endpoint = await customer.endpoint(hook, ["message.*"]);
  });
  after(async () => {
    await godwit.stop();
    await hook[Symbol.asyncDispose]();
    await collector[Symbol.asyncDispose]();
  });

  test("is one trace from the span of the caller to those of the webhooks", async () => {
    const traceId = newTraceId();
    const { json } = await sendWithin(customer, traceId, "01", { body: "a secret text", recipient: "+14155550199" });
    const spans = await wholeTrace(collector, traceId);
    assertOneTrace(spans, PARENT_SPAN);
    const commits = "select count(*)::integer as events, count(distinct xmin::text)::integer as commits from events where type = any ($1)";
    assert.deepEqual(
      await godwit.rows(commits, [["message.queued", "message.sending"]]),
      [{ events: 2, commits: 2 }],
      "the message becomes sending in a separate commit",
    );
    const { attributes, resource } = named(spans, "POST /v1/messages");
    assert.equal(attributes["http.response.status_code"], 202);
    assert.equal(attributes["http.route"], "/v1/messages");
    assert.match(String(attributes["godwit.request_id"]), /^req_/);
    assert.equal(resource["service.name"], "godwit");
    const attempt = named(spans, "send simulator");
    assert.equal(attempt.kind, CLIENT);
    assert.deepEqual(
      [attempt.attributes["godwit.link"], attempt.attributes["godwit.outcome"], attempt.attributes["godwit.attempt"]],
      ["simulator", "accepted", 1],
    );
    for (const name of ["commit", "send simulator", "receipt"])
      assert.equal(named(spans, name).attributes["godwit.message_id"], json["id"]);
    assert.equal(named(spans, "receipt").kind, CONSUMER);
    const calls = endpoint.calls.filter((call) => messageOf(call)["id"] === json["id"]);
    assert.deepEqual(
      calls.map(({ headers }) => String(headers["traceparent"])).toSorted(),
      spans
        .filter(({ name }) => name.startsWith("webhook "))
        .map(({ spanId }) => `00-${traceId}-${spanId}-01`)
        .toSorted(),
      "a call has the id of its span",
    );
    const [first] = collector.requests;
    assert.equal(first?.path, "/v1/traces");
    assert.equal(first.headers["content-type"], "application/json");
    assert.equal(first.headers["x-tenant"], "a b");
    for (const { text } of collector.requests)
      for (const secret of ["a secret text", "4155550199", customer.key, endpoint.secret, endpoint.path])
        assert.ok(!text.includes(secret), secret);
  });

  test("starts a trace if the caller sends none, and webhooks have it", async () => {
    const { id } = await customer.send();
    const call = await until("a call arrives", () => endpoint.calls.find((each) => messageOf(each)["id"] === id));
    const traceId = String(call.headers["traceparent"]).split("-")[1] ?? "";
    assertOneTrace(await wholeTrace(collector, traceId), undefined);
  });

  test("in a trace that is not sampled has no span, and webhooks are not sampled", async () => {
    const traceId = newTraceId();
    const { json } = await sendWithin(customer, traceId, "00");
    const calls = await until("its calls arrive", () => {
      const found = endpoint.calls.filter((call) => messageOf(call)["id"] === json["id"]);
      return found.length >= 4 ? found : undefined;
    });
    for (const { headers } of calls)
      assert.match(String(headers["traceparent"]), new RegExp(`^00-${traceId}-(?!${PARENT_SPAN})[0-9a-f]{16}-00$`));
    // A later trace has arrived, so an earlier one would have, too.
    const later = newTraceId();
    await sendWithin(customer, later);
    await wholeTrace(collector, later);
    assert.deepEqual(collector.of(traceId), []);
  });

  test("that an endpoint refuses at first has a span for each call", async () => {
    const traceId = newTraceId();
    const other = await customer.endpoint(hook, ["message.failed"]);
    let refusals = 1;
    hook.behave = ({ path }) => (path === other.path && refusals-- > 0 ? REFUSED : OK);
    await sendWithin(customer, traceId, "01", { recipient: "+15005550002" });
    await other.attempted(1);
    await other.makeDue();
    await other.attempted(2);
    const spansOfEndpoint = (): SeenSpan[] =>
      collector.of(traceId).filter(({ attributes }) => attributes["godwit.endpoint_id"] === other.id);
    const spans = await until("both spans arrive", () => (spansOfEndpoint().length >= 2 ? spansOfEndpoint() : undefined));
    assert.deepEqual(
      spans.map(({ attributes, status }) => [attributes["godwit.attempt"], attributes["http.response.status_code"], status.code]),
      [
        [1, 500, 2],
        [2, 200, undefined],
      ],
    );
    const attempt = named(collector.of(traceId), "send simulator");
    assert.deepEqual(
      [attempt.attributes["godwit.outcome"], attempt.attributes["godwit.error_code"], attempt.status.code],
      ["refused", "invalid_destination", 2],
    );
  });

  test("without a credential has no span", async () => {
    const [refused, later] = [newTraceId(), newTraceId()];
    const headers = { traceparent: `00-${refused}-${PARENT_SPAN}-01` };
    assert.equal((await godwit.request("POST", "/v1/messages", { body: sms(), headers })).status, 401);
    assert.equal((await godwit.request("POST", "/v1/messages", { key: "gw_test_nobody", body: sms(), headers })).status, 401);
    await sendWithin(customer, later);
    await wholeTrace(collector, later);
    assert.deepEqual(collector.of(refused), []);
  });

  test("of a batch and of a verification has spans for its commit and its attempts", async () => {
    for (const [path, body, name] of [
      ["/v1/batches", { defaults: { channel: "sms", body: "Hello" }, items: [{ recipient: "+14155550142" }] }, "POST /v1/batches"],
      ["/v1/verifications", { recipient: "+14155550143", channels: ["sms"] }, "POST /v1/verifications"],
    ] as const) {
      const traceId = newTraceId();
      const headers = { traceparent: `00-${traceId}-${PARENT_SPAN}-01` };
      const reply = await godwit.request("POST", path, { key: customer.key, idempotencyKey: randomUUID(), body, headers });
      assert.ok(reply.status < 300, reply.text);
      assert.deepEqual(namesOf(await wholeTrace(collector, traceId)), [...NAMES.slice(1), name].toSorted());
    }
  });
});

test("a message that one node accepts, another sends and a third reports is one trace", async () => {
  await using collector = await Collector.listen();
  await using hook = await Hook.listen();
  const env = { ...ALLOW_LOOPBACK, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${collector.url}/here` };
  await using accepting = await startGodwit({ env: { ...env, OTEL_SERVICE_NAME: "accepting" } });
  const { databaseUrl } = accepting;
  await using sending = await startGodwit({ databaseUrl, roles: "dispatch", env: { ...env, OTEL_SERVICE_NAME: "sending" } });
  await using notifying = await startGodwit({ databaseUrl, roles: "webhooks", env: { ...env, OTEL_SERVICE_NAME: "notifying" } });
  const customer = await Customer.of(accepting);
  await customer.endpoint(hook, ["message.*"]);
  const traceId = newTraceId();
  await sendWithin(customer, traceId);
  const spans = await wholeTrace(collector, traceId);
  assertOneTrace(spans, PARENT_SPAN);
  const services = Object.fromEntries(spans.map(({ name, resource }) => [name.split(" ")[0], resource["service.name"]]));
  assert.deepEqual(services, { POST: "accepting", commit: "accepting", send: "sending", receipt: "sending", webhook: "notifying" });
  assert.ok(collector.requests.every(({ path }) => path === "/here"));
  for (const node of [accepting, sending, notifying]) assert.deepEqual(Object.keys(await spansOf(node)), ['{outcome="exported"}']);
});

const spansOf = async (godwit: Godwit): Promise<Record<string, number>> => seriesOf(await readMetrics(godwit), "godwit_spans_total");

test("an unavailable collector is logged once, and gets the waiting spans when it is available", async () => {
  const port = await freePort();
  const godwit = await startGodwit({
    ...WITH_WEBHOOKS,
    env: { ...ALLOW_LOOPBACK, OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}` },
  });
  const customer = await Customer.of(godwit);
  const traceId = newTraceId();
  assert.equal((await sendWithin(customer, traceId)).status, 202);
  const failureCount = (): number => godwit.logs.filter(({ event }) => event === "tracing.export_failed").length;
  await until("the failure is logged", () => (failureCount() > 0 ? true : undefined));
  await using collector = await Collector.listen(port);
  await until("the spans arrive", () => (collector.of(traceId).length >= 4 ? true : undefined));
  assert.equal(failureCount(), 1);
  assert.ok(((await spansOf(godwit))['{outcome="exported"}'] ?? 0) >= 4);
  assert.equal((await spansOf(godwit))['{outcome="dropped"}'], undefined);
  assert.equal(await godwit.stop(), 0);
});

test("a collector that never responds delays neither requests nor the stop", async () => {
  await using collector = await Collector.listen();
  collector.status = null;
  const godwit = await startGodwit({ ...WITH_WEBHOOKS, env: { ...ALLOW_LOOPBACK, OTEL_EXPORTER_OTLP_ENDPOINT: collector.url } });
  const customer = await Customer.of(godwit);
  await sendWithin(customer, newTraceId());
  await until("the collector is called", () => collector.requests[0]);
  const startedAt = performance.now();
  for (let count = 0; count < 20; count += 1) assert.equal((await sendWithin(customer, newTraceId())).status, 202);
  assert.ok(performance.now() - startedAt < LIMIT_MS);
  const stoppedAt = performance.now();
  assert.equal(await godwit.stop(), 0);
  assert.ok(performance.now() - stoppedAt < LIMIT_MS, "the service stops");
  assert.ok(godwit.logs.some(({ event }) => event === "tracing.spans_dropped"));
});

test("spans that a collector refuses are dropped and counted", async () => {
  await using collector = await Collector.listen();
  collector.status = 400;
  await using godwit = await startGodwit({ ...WITH_WEBHOOKS, env: { ...ALLOW_LOOPBACK, OTEL_EXPORTER_OTLP_ENDPOINT: collector.url } });
  const customer = await Customer.of(godwit);
  await sendWithin(customer, newTraceId());
  await until("the spans are counted", async () => ((await spansOf(godwit))['{outcome="dropped"}'] ?? 0) > 0 || undefined);
});

test("the last spans are sent when the service stops", async () => {
  await using collector = await Collector.listen();
  const godwit = await startGodwit({ ...WITH_WEBHOOKS, env: { ...ALLOW_LOOPBACK, OTEL_EXPORTER_OTLP_ENDPOINT: collector.url } });
  const customer = await Customer.of(godwit);
  const traceId = newTraceId();
  await sendWithin(customer, traceId);
  await godwit.stop();
  named(collector.of(traceId), "POST /v1/messages");
});

test("with a sampling ratio of zero no trace starts here, and those of callers are still recorded", async () => {
  await using collector = await Collector.listen();
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_TRACES_SAMPLER_ARG: "0" };
  const godwit = await startGodwit({ ...WITH_WEBHOOKS, env });
  const customer = await Customer.of(godwit);
  await customer.send();
  const traceId = newTraceId();
  await sendWithin(customer, traceId);
  assert.deepEqual(await godwit.rows("select count(trace)::integer as traced, count(*)::integer as sent from messages"), [
    { traced: 1, sent: 2 },
  ]);
  await godwit.stop();
  assert.ok(collector.of(traceId).length > 0);
  assert.deepEqual(new Set(collector.spans.map((span) => span.traceId)), new Set([traceId]));
});
