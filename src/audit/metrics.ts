/** The metric of the audit log, for Prometheus. */
import { Counter, type Registry } from "prom-client";

/** Counts sealed entries by their action. One node seals at a time, so each entry is counted once. */
export function auditCounter(registry: Registry): (action: string) => void {
  const counter = new Counter({
    name: "godwit_audit_events_total",
    help: "Entries of the audit log, by action.",
    labelNames: ["action"],
    registers: [registry],
  });
  return (action) => counter.inc({ action });
}
