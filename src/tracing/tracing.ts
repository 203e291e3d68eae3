/** The contract for recording traces. `tracing` is undefined if no collector is configured; then the recorder is not loaded. */
import type { Trace } from "../lib/trace.ts";

export type SpanKind = "internal" | "server" | "client" | "consumer";

/** Attributes are ids, codes, names of links and numbers. Never a text, a recipient, a URL of a customer or a secret. */
export type Attributes = Readonly<Record<string, string | number | boolean>>;

/** A running operation that is being recorded. */
export type Span = {
  /** The trace for further spans, with this span as the parent. */
  readonly trace: Trace;
  end(attributes?: Attributes, isError?: boolean): void;
};

export type Tracing = {
  /** Begins a span of a trace. Undefined if there is no trace, or it is not recorded. */
  begin(name: string, kind: SpanKind, parent: Trace | null, attributes: Attributes): Span | undefined;
  /** Begins our first span of a trace. Without a parent, a new trace begins. Undefined if the trace is not recorded. */
  beginTrace(name: string, kind: SpanKind, parent: Trace | undefined, attributes: Attributes): Span | undefined;
};
