/** The state of every link, for Prometheus. Every node reports the same values. */
import { Gauge, type Registry } from "prom-client";
import { remembered } from "../lib/remembered.ts";
import type { Clock } from "../database/database-clock.ts";
import type { Database } from "../database/database.ts";
import type { LinkDirectory } from "./directory.ts";
import { gaugesOfDatabase } from "../lib/metrics.ts";
import { readQuality } from "../quality/figures.ts";
import { LINK_STATES, listLinks } from "./link-record.ts";

const TRUST_MS = 5_000;

export type WatchedLinks = { db: Database; clock: Clock; linkDirectory: LinkDirectory };

export function watchLinks(registry: Registry, { db, clock, linkDirectory }: WatchedLinks): void {
  const states: Gauge = new Gauge({
    name: "godwit_link_state",
    help: "1 for the state that the link is in, 0 for the others.",
    labelNames: ["link", "source", "state"],
    registers: [registry],
    aggregator: "first",
    collect: () => refresh(),
  });
  const refresh = remembered(TRUST_MS, async () => {
    try {
      const links = await listLinks(db, linkDirectory.current.links, clock.now());
      // A link that was removed from the configuration has no state.
      states.reset();
      for (const { name, state, account } of links) {
        const source = account === null ? "file" : "api";
        for (const each of LINK_STATES) states.set({ link: name, source, state: each }, each === state ? 1 : 0);
      }
    } catch {
      // Other metrics report a database that is unavailable. These keep their last value.
    }
  });
}

/** How well each link has delivered in the last quarter of an hour. A link without outcomes has no value. */
export function watchQuality(registry: Registry, { db, clock, linkDirectory }: WatchedLinks): void {
  const gauge = gaugesOfDatabase(registry, async () => {
    const qualities = await readQuality(db, null, clock.now());
    for (const each of [rate, seconds]) each.reset();
    for (const { name: link } of linkDirectory.current.links) {
      const quality = qualities.get(link);
      if (typeof quality?.delivery_rate === "number") rate.set({ link }, quality.delivery_rate);
      if (typeof quality?.seconds_to_receipt === "number") seconds.set({ link }, quality.seconds_to_receipt);
    }
  });
  const rate = gauge("godwit_link_delivery_rate", "Share of the messages with a result that were delivered, in the last 15 minutes.", [
    "link",
  ]);
  const seconds = gauge("godwit_link_seconds_to_receipt", "Mean time until a carrier reported a delivery, in the last 15 minutes.", [
    "link",
  ]);
}
