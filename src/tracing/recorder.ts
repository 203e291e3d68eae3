/** Records spans and passes them to the exporter. Loaded only if a collector is configured. */
import type { Log } from "../model/log.ts";
import { isSampled, newTrace, sampledChildOf, spanIdOf, traceIdOf, type Trace } from "../lib/trace.ts";
import { VERSION } from "../version.ts";
import { Exporter, type SpanWatch } from "./exporter.ts";
import { toOtlp, type EndedSpan } from "./otlp.ts";
import type { TracingSettings } from "./settings.ts";
import type { Attributes, Span, SpanKind, Tracing } from "./tracing.ts";

export class Recorder implements Tracing {
  readonly #exporter: Exporter;
  readonly #ratio: number;
  /** The difference between the process's monotonic clock and the time of day. */
  #offsetMs = 0;
  #offsetAt = -Infinity;

  constructor({ url, headers, serviceName, ratio }: TracingSettings, { node, watch, log }: { node: string; watch: SpanWatch; log: Log }) {
    this.#ratio = ratio;
    const resource = { "service.name": serviceName, "service.version": VERSION, "service.instance.id": node };
    const write = (spans: readonly EndedSpan[]): string => toOtlp(resource, { name: "godwit", version: VERSION }, spans);
    this.#exporter = new Exporter({ url, headers, write, watch, log });
  }

  begin(name: string, kind: SpanKind, parent: Trace | null, attributes: Attributes): Span | undefined {
    return parent === null ? undefined : this.beginTrace(name, kind, parent, attributes);
  }

  beginTrace(name: string, kind: SpanKind, parent: Trace | undefined, attributes: Attributes): Span | undefined {
    const trace = parent === undefined ? newTrace() : sampledChildOf(parent);
    if (!isRecorded(this.#ratio, trace, parent)) return undefined;
    const startMs = this.#nowMs();
    const parentSpanId = parent && spanIdOf(parent);
    return {
      trace,
      end: (more = {}, isError = false) => {
        // The offset may have changed meanwhile, and a span must not end before it begins.
        const endMs = Math.max(startMs, this.#nowMs());
        this.#exporter.add({ name, kind, trace, parentSpanId, startMs, endMs, attributes: { ...attributes, ...more }, isError });
      },
    };
  }

  /** Called when nothing records spans any more. */
  stop(): Promise<void> {
    return this.#exporter.stop();
  }

  #nowMs(): number {
    const now = performance.now();
    if (now - this.#offsetAt > OFFSET_TRUST_MS) {
      this.#offsetMs = Date.now() - now;
      this.#offsetAt = now;
    }
    return now + this.#offsetMs;
  }
}

// The system clock may be set, so the offset is read again after this time. Only the monotonic clock is finer than a millisecond.
const OFFSET_TRUST_MS = 60_000;

/** The caller decides about its traces. Others are decided by the last 56 bits of the trace id, which are random, so that all nodes decide the
 *  same for a trace. */
const isRecorded = (ratio: number, trace: Trace, parent: Trace | undefined): boolean =>
  parent === undefined ? Number.parseInt(traceIdOf(trace).slice(18), 16) >= (1 - ratio) * 2 ** 56 : isSampled(parent);
