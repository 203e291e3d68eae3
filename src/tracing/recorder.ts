/** Records spans and hands them to the exporter. Loaded only where a collector is configured. */
import { newTrace, isSampled, sampledChildOf, spanIdOf, traceIdOf, type Trace } from "../lib/trace.ts";
import type { Log } from "../lib/log.ts";
import { VERSION } from "../version.ts";
import { Exporter, type SpanWatch } from "./exporter.ts";
import { toOtlp, type EndedSpan } from "./otlp.ts";
import type { Sampling, TracingSettings } from "./settings.ts";
import type { Attributes, Span, SpanKind, Tracing } from "./tracing.ts";

export class Recorder implements Tracing {
  readonly #exporter: Exporter;
  readonly #sampling: Sampling;
  /** Between the process's own clock, which never jumps, and the time of day. */
  #offsetMs = 0;
  #offsetAt = -Infinity;

  constructor(
    { url, headers, serviceName, sampling }: TracingSettings,
    { node, watch, log }: { node: string; watch: SpanWatch; log: Log },
  ) {
    this.#sampling = sampling;
    const resource = { "service.name": serviceName, "service.version": VERSION, "service.instance.id": node };
    const write = (spans: readonly EndedSpan[]): string => toOtlp(resource, { name: "godwit", version: VERSION }, spans);
    this.#exporter = new Exporter({ url, headers, write, watch, log });
  }

  begin(name: string, kind: SpanKind, parent: Trace | null, attributes: Attributes): Span | undefined {
    return parent === null ? undefined : this.beginTrace(name, kind, parent, attributes);
  }

  beginTrace(name: string, kind: SpanKind, parent: Trace | undefined, attributes: Attributes): Span | undefined {
    const trace = parent === undefined ? newTrace() : sampledChildOf(parent);
    if (!isRecorded(this.#sampling, trace, parent)) return undefined;
    const startMs = this.#nowMs();
    const parentSpanId = parent && spanIdOf(parent);
    return {
      trace,
      end: (more = {}, isError = false) => {
        // The offset may have been set anew meanwhile, and nothing ends before it begins.
        const endMs = Math.max(startMs, this.#nowMs());
        this.#exporter.add({ name, kind, trace, parentSpanId, startMs, endMs, attributes: { ...attributes, ...more }, isError });
      },
    };
  }

  /** After all that records has stopped. */
  stop(): Promise<void> {
    return this.#exporter.stop();
  }

  #nowMs(): number {
    const now = performance.now();
    if (now - this.#offsetAt > OFFSET_MS) {
      this.#offsetMs = Date.now() - now;
      this.#offsetAt = now;
    }
    return now + this.#offsetMs;
  }
}

// The clock of a machine may be set; finer than its milliseconds is only the process's own.
const OFFSET_MS = 60_000;

/** By the last 56 bits, which are random, so that every node decides the same of a trace. */
function isRecorded({ isParentBased, ratio }: Sampling, trace: Trace, parent: Trace | undefined): boolean {
  if (isParentBased && parent !== undefined) return isSampled(parent);
  return Number.parseInt(traceIdOf(trace).slice(18), 16) >= (1 - ratio) * 2 ** 56;
}
