/** What the parts of the service ask of whoever records traces. Where no collector is configured there is nobody to ask, and nothing
 *  of this is loaded: a part that may record has `tracing` or undefined. */
import type { Trace } from "../lib/trace.ts";

export type SpanKind = "internal" | "server" | "client" | "consumer";

/** Ids, codes, names of links and numbers. Never a text, a recipient, a URL of a customer or a secret. */
export type Attributes = Readonly<Record<string, string | number | boolean>>;

/** Something that takes time, and is being recorded. */
export type Span = {
  /** For what comes of it: the same trace, with this span as the parent. */
  readonly trace: Trace;
  end(attributes?: Attributes, isError?: boolean): void;
};

export type Tracing = {
  /** A part of a trace. None where there is no trace, or it is not recorded. */
  begin(name: string, kind: SpanKind, parent: Trace | null, attributes: Attributes): Span | undefined;
  /** The first part that we have in a trace; without one that we were given, a trace begins here. None where it is not recorded. */
  beginTrace(name: string, kind: SpanKind, parent: Trace | undefined, attributes: Attributes): Span | undefined;
};
