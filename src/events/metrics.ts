/** The Prometheus metric of the event stream's progress. */
import { Gauge, type Registry } from "prom-client";
import type { EventPositions } from "./positions.ts";

export function watchPositions(registry: Registry, positions: EventPositions): void {
  const stalled: Gauge = new Gauge({
    name: "godwit_event_stream_stalled_seconds",
    help: "Time for which an open transaction that has written events has delayed the event streams.",
    registers: [registry],
    aggregator: "max",
    async collect() {
      // Without the database nothing is known; other metrics report that.
      await positions.settled().catch(() => undefined);
      stalled.set(positions.stalledMs / 1_000);
    },
  });
}
