/** The metrics of tracing. */
import { Counter, type Registry } from "prom-client";
import type { SpanWatch } from "./exporter.ts";

export function spanWatch(registry: Registry): SpanWatch {
  const spans = new Counter({
    name: "godwit_spans_total",
    help: "Spans of traces: exported to the collector, or dropped because it was unreachable, slow or refused them.",
    labelNames: ["outcome"],
    registers: [registry],
  });
  return {
    exported: (count) => spans.inc({ outcome: "exported" }, count),
    dropped: (count) => spans.inc({ outcome: "dropped" }, count),
  };
}
