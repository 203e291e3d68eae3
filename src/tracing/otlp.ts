/** Spans in the JSON form of OTLP: https://opentelemetry.io/docs/specs/otlp. */
import { spanIdOf, stateOf, traceIdOf, type Trace } from "../lib/trace.ts";
import type { Attributes, SpanKind } from "./tracing.ts";

/** A span that has ended. Times are milliseconds since 1970, with fractions. */
export type EndedSpan = {
  name: string;
  kind: SpanKind;
  trace: Trace;
  parentSpanId: string | undefined;
  startMs: number;
  endMs: number;
  attributes: Attributes;
  isError: boolean;
};

const KIND: Readonly<Record<SpanKind, number>> = { internal: 1, server: 2, client: 3, consumer: 5 };
const STATUS_ERROR = 2;

export const toOtlp = (resource: Attributes, scope: { name: string; version: string }, spans: readonly EndedSpan[]): string =>
  JSON.stringify({
    resourceSpans: [{ resource: { attributes: toPairs(resource) }, scopeSpans: [{ scope, spans: spans.map(toSpan) }] }],
  });

const toSpan = ({ name, kind, trace, parentSpanId, startMs, endMs, attributes, isError }: EndedSpan): object => ({
  traceId: traceIdOf(trace),
  spanId: spanIdOf(trace),
  traceState: stateOf(trace),
  ...(parentSpanId === undefined ? {} : { parentSpanId }),
  name,
  kind: KIND[kind],
  startTimeUnixNano: toNanos(startMs),
  endTimeUnixNano: toNanos(endMs),
  attributes: toPairs(attributes),
  status: isError ? { code: STATUS_ERROR } : {},
});

const toPairs = (attributes: Attributes): object[] => Object.entries(attributes).map(([key, value]) => ({ key, value: toValue(value) }));

function toValue(value: string | number | boolean): object {
  if (typeof value === "string") return { stringValue: value };
  if (typeof value === "boolean") return { boolValue: value };
  // OTLP writes 64-bit integers as strings.
  return Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value };
}

/** A string, since a number cannot hold that many digits. */
function toNanos(ms: number): string {
  const whole = Math.floor(ms);
  return `${whole}${String(Math.floor((ms - whole) * 1_000_000)).padStart(6, "0")}`;
}
