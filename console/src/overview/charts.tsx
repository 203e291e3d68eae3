/** Charts of throughput, delivery rate and time to delivered, over the selected period. */
import type { Usage } from "godwit-sdk";
import type { JSX } from "preact";
import { formatCount, formatDuration, formatPercent } from "../lib/format.ts";
import { countOutcomes, p95Of, type Outcome } from "../lib/outcomes.ts";
import { Chart } from "../ui/chart.tsx";
import { intervalOf, toBuckets, type UsageInterval } from "./buckets.ts";

// Below this average of completed messages in an interval, a single failure changes the rate by more than 5 points.
const FEW_COMPLETED = 20;

const completedOf = (interval: UsageInterval | undefined): { delivered: number; all: number } => {
  const { delivered, notDelivered } = countOutcomes(interval?.by_status ?? {});
  return { delivered, all: delivered + notDelivered };
};

export function Charts({ usage }: { usage: Usage }): JSX.Element {
  const buckets = toBuckets(usage);
  const times = buckets.map(({ time }) => time);
  const of = <T,>(read: (interval: UsageInterval | undefined) => T): T[] => buckets.map(({ interval }) => read(interval));
  const count = (outcome: Outcome): number[] => of((interval) => countOutcomes(interval?.by_status ?? {})[outcome]);
  const completed = of(completedOf);
  const measured = completed.filter(({ all }) => all > 0);
  const hasFew = measured.reduce((sum, { all }) => sum + all, 0) < FEW_COMPLETED * measured.length;
  return (
    <div class="charts">
      <section class="card wide" aria-label="Throughput">
        <Chart
          title="Messages over time"
          unit={`messages per ${intervalOf(usage)}`}
          kind="bars"
          times={times}
          values="count"
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
          unit="of completed messages"
          kind={hasFew ? "points" : "lines"}
          times={times}
          values="share"
          format={formatPercent}
          series={[
            {
              name: "Delivered",
              tone: "good",
              values: of((interval) => interval?.delivery_rate ?? null),
              notes: completed.map(({ delivered, all }) => `${formatCount(delivered)} of ${formatCount(all)}`),
            },
          ]}
        />
      </section>
      <section class="card" aria-label="Time to delivered">
        <Chart
          title="Time to delivered"
          unit="p50 and p95"
          kind="lines"
          times={times}
          values="duration"
          format={formatDuration}
          series={[
            { name: "p50", tone: "busy", values: of((interval) => interval?.time_to_delivered_ms?.p50 ?? null) },
            { name: "p95", tone: "wait", values: of((interval) => (interval === undefined ? null : p95Of(interval))) },
          ]}
        />
      </section>
    </div>
  );
}
