/** Creates the metrics of a registry, for Prometheus. */
import { Counter, Gauge, Histogram, type Aggregator, type Registry } from "prom-client";
import { remembered } from "./remembered.ts";

/** `aggregator`: how the values of several workers become one. The sum is the default. */
type GaugeOptions = { labelNames?: string[]; aggregator?: Aggregator };

export function metricsIn(registry: Registry) {
  const registers = [registry];
  return {
    /** A label can list its values. Each of them is 0 from the start: Prometheus sees no increase in a series that begins with 1. */
    counter: (name: string, help: string, labels: readonly string[] | Readonly<Record<string, readonly string[]>> = []) => {
      const known = Array.isArray(labels) ? [] : Object.entries(labels as Readonly<Record<string, readonly string[]>>);
      const labelNames = known.length === 0 ? [...(labels as readonly string[])] : known.map(([label]) => label);
      const made = new Counter({ name, help, labelNames, registers });
      for (const [label, values] of known) for (const value of values) made.inc({ [label]: value }, 0);
      return made;
    },
    histogram: (name: string, help: string, buckets: number[], labelNames: string[] = []) =>
      new Histogram({ name, help, buckets, labelNames, registers }),
    /** A gauge that is read at each scrape. `read` returns its value, or sets the values of its labels. */
    gauge: (name: string, help: string, read: (gauge: Gauge) => unknown, options: GaugeOptions = {}) =>
      new Gauge({
        name,
        help,
        ...options,
        registers,
        async collect() {
          const value = await read(this);
          if (typeof value === "number") this.set(value);
        },
      }),
  };
}

// Counting a long queue is expensive. All scrapes within this time get the same values.
const TRUST_MS = 5_000;

/** Returns a function that creates gauges which one call of `refresh` sets, from the database: all nodes report the same values. Every gauge waits for
 *  the same call; otherwise it would report the values of the previous scrape. */
export function gaugesOfDatabase(registry: Registry, refresh: () => Promise<void>) {
  // Other metrics show that the database is unavailable. These gauges keep their last values.
  const collect = remembered(TRUST_MS, () => refresh().catch(() => undefined));
  return (name: string, help: string, labelNames: string[] = []): Gauge =>
    new Gauge({ name, help, labelNames, registers: [registry], aggregator: "first", collect });
}
