/** How every link is doing, for Prometheus: the same on every node. */
import { Gauge, type Registry } from "prom-client";
import { remembered } from "../lib/remembered.ts";
import type { LinkChooser } from "./choose-links.ts";
import type { Database } from "../storage/database.ts";
import { LINK_STATES, listLinks } from "./link-record.ts";

const TRUST_MS = 5_000;

export function watchLinks(registry: Registry, db: Database, linkChooser: LinkChooser): void {
  const states: Gauge = new Gauge({
    name: "godwit_link_state",
    help: "1 for the state that the link is in, 0 for the others.",
    labelNames: ["link", "state"],
    registers: [registry],
    collect: () => refresh(),
  });
  const refresh = remembered(TRUST_MS, async () => {
    try {
      const links = await listLinks(db, linkChooser.links);
      // One that the configuration no longer names has no state.
      states.reset();
      for (const { name, state } of links) for (const each of LINK_STATES) states.set({ link: name, state: each }, each === state ? 1 : 0);
    } catch {
      // Without a database there are other figures that tell; these keep their last value.
    }
  });
}
