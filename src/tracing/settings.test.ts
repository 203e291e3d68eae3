import assert from "node:assert/strict";
import { test } from "node:test";
import { readTracing, TRACING_SETTINGS, type TracingSettings } from "./settings.ts";

type Texts = Partial<Record<keyof typeof TRACING_SETTINGS, string>>;

function read(texts: Texts): { settings: TracingSettings | undefined; faults: string[] } {
  const faults: string[] = [];
  const settings = readTracing((name) => {
    const row: { env: string; fallback?: string } = TRACING_SETTINGS[name];
    return { text: texts[name] ?? row.fallback, from: row.env };
  }, faults);
  return { settings, faults };
}

test("without an endpoint nothing is recorded, with any other settings", () => {
  assert.deepEqual(read({ serviceName: "x", tracesSampler: "jaeger_remote", otlpHeaders: "sesame" }), { settings: undefined, faults: [] });
});

for (const [what, texts, url] of [
  ["below the endpoint", { otlpEndpoint: "http://collector:4318" }, "http://collector:4318/v1/traces"],
  ["below a path of it", { otlpEndpoint: "https://collector/otlp/" }, "https://collector/otlp/v1/traces"],
  ["to the endpoint of traces unchanged", { otlpEndpoint: "http://a", otlpTracesEndpoint: "http://b/x" }, "http://b/x"],
] as const)
  test(`traces go ${what}`, () => assert.equal(read(texts).settings?.url, url));

test("the default sampler of OpenTelemetry records all traces that begin here", () => {
  const { settings, faults } = read({ otlpEndpoint: "http://a", tracesSampler: "parentbased_always_on" });
  assert.deepEqual([settings?.ratio, faults], [1, []]);
});

test("the argument of the sampler is the share of the traces that begin here", () => {
  const { settings, faults } = read({ otlpEndpoint: "http://a", tracesSampler: "parentbased_traceidratio", tracesSamplerArg: "0.25" });
  assert.deepEqual([settings?.ratio, faults], [0.25, []]);
});

test("by default every trace that begins here is recorded", () => {
  assert.equal(read({ otlpEndpoint: "http://a" }).settings?.ratio, 1);
});

test("headers are pairs with percent escapes", () => {
  const { settings, faults } = read({ otlpEndpoint: "http://a", otlpHeaders: "Authorization=Basic%20YTpi, x-a = 1%2C2 ," });
  assert.deepEqual([settings?.headers, faults], [{ authorization: "Basic YTpi", "x-a": "1,2" }, []]);
});

for (const [texts, fault] of [
  [{ otlpEndpoint: "collector:4318" }, /^OTEL_EXPORTER_OTLP_ENDPOINT: must be an http or https URL/],
  [{ otlpTracesEndpoint: "http://u:p@a" }, /^OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: must be an http or https URL/],
  [
    { otlpEndpoint: "http://a", tracesSampler: "jaeger_remote" },
    /^OTEL_TRACES_SAMPLER: must be parentbased_traceidratio, not "jaeger_remote"/,
  ],
  [{ otlpEndpoint: "http://a", tracesSampler: "always_on" }, /^OTEL_TRACES_SAMPLER: must be parentbased_traceidratio, not "always_on"/],
  [{ otlpEndpoint: "http://a", tracesSamplerArg: "2" }, /^OTEL_TRACES_SAMPLER_ARG: must be a number from 0 to 1/],
  [{ otlpEndpoint: "http://a", otlpHeaders: "sesame" }, /^OTEL_EXPORTER_OTLP_HEADERS: must be pairs/],
  [{ otlpEndpoint: "http://a", otlpHeaders: "a=%zz" }, /^OTEL_EXPORTER_OTLP_HEADERS: must be pairs/],
  [{ otlpEndpoint: "http://a", otlpHeaders: "a=b%0d%0ac" }, /^OTEL_EXPORTER_OTLP_HEADERS: must be pairs/],
] as const)
  test(`${JSON.stringify(texts)} is a fault`, () => {
    const { faults } = read(texts);
    assert.equal(faults.length, 1);
    assert.match(faults[0] ?? "", fault);
    assert.ok(!/sesame|%zz|u:p/.test(faults[0] ?? ""), "a fault repeats no secret");
  });
