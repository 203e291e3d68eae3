/** What the sync of templates counts, for Prometheus. */
import { Counter, type Registry } from "prom-client";
import type { SyncWatch } from "./keep-syncing.ts";

export function syncWatch(registry: Registry): SyncWatch {
  const syncs = new Counter({
    name: "godwit_template_syncs_total",
    help: "Visits to the accounts at carriers that review templates, by what became of them.",
    labelNames: ["link", "outcome"],
    registers: [registry],
  });
  return { synced: (link, outcome) => syncs.inc({ link, outcome }) };
}
