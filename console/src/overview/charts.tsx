/** Charts of throughput, delivery rate and time to delivered, over the selected range. */
import type { Usage } from "godwit-sdk";
import type { JSX } from "preact";
import { formatCount, formatDuration, formatPercent } from "../lib/format.ts";
import { countOutcomes, type Outcome } from "../lib/outcomes.ts";
import { Chart } from "../ui/chart.tsx";
import { toBuckets, type Interval, type RangeName } from "./ranges.ts";

export function Charts({ usage, range }: { usage: Usage; range: RangeName }): JSX.Element {
  const buckets = toBuckets(usage, range);
  const times = buckets.map(({ time }) => time);
  const of = <T,>(read: (interval: Interval | undefined) => T): T[] => buckets.map(({ interval }) => read(interval));
  const count = (outcome: Outcome): number[] => of((interval) => countOutcomes(interval?.by_status ?? {})[outcome]);
  return (
    <div class="charts">
      <section class="card wide" aria-label="Throughput">
        <Chart
          title="Messages over time"
          kind="bars"
          times={times}
          format={formatCount}
          series={[
            { name: "Delivered", tone: "good", values: count("delivered") },
            { name: "In progress", tone: "busy", values: count("inProgress") },
            { name: "Other", tone: "wait", values: count("other") },
            { name: "Not delivered", tone: "bad", values: count("notDelivered") },
          ]}
        />
      </section>
      <section class="card" aria-label="Delivery rate">
        <Chart
          title="Delivery rate"
          kind="lines"
          times={times}
          top={1}
          format={formatPercent}
          series={[{ name: "Delivered", tone: "good", values: of((interval) => interval?.delivery_rate ?? null) }]}
        />
      </section>
      <section class="card" aria-label="Time to delivered">
        <Chart
          title="Time to delivered"
          kind="lines"
          times={times}
          format={formatDuration}
          series={[
            { name: "p50", tone: "busy", values: of((interval) => interval?.time_to_delivered_ms?.p50 ?? null) },
            { name: "p95", tone: "wait", values: of((interval) => interval?.time_to_delivered_ms?.p95 ?? null) },
          ]}
        />
      </section>
    </div>
  );
}
