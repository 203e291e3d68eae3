/** The usage page: counts of messages by interval, status and error code. */
import type { Usage } from "godwit-sdk";
import type { JSX } from "preact";
import { download } from "../lib/download.ts";
import { formatP95 } from "../lib/outcomes.ts";
import { formatCount, formatDuration, formatPercent, formatUtcHour } from "../lib/format.ts";
import { useResource } from "../lib/resource.ts";
import { useAddress } from "../lib/router.tsx";
import { preset, readTimeRange } from "../lib/time-range.ts";
import { useInterval } from "../lib/timing.ts";
import { toUsagePeriod, type UsagePeriod } from "../lib/usage-period.ts";
import { useApi } from "../session/use-session.ts";
import { Empty, Loaded, Page } from "../ui/page.tsx";
import { csvFileName, toCsv } from "./csv.ts";
import { UsageFilters } from "./usage-filters.tsx";
import { IntervalTable, ShareTable } from "./usage-tables.tsx";

const REFRESH_MS = 60_000;
// As many rows as fit on about two screens.
const MAX_INTERVALS = 60;

export function UsagePage(): JSX.Element {
  const api = useApi();
  const { query } = useAddress();
  const range = readTimeRange(query, preset("7d"));
  const channel = query.get("channel") ?? "";
  const toPeriod = (): UsagePeriod => toUsagePeriod(range, { asked: query.get("interval"), maxIntervals: MAX_INTERVALS }, Date.now());
  const period = toPeriod();
  const { fault } = period;
  const key = JSON.stringify(["usage", range, period.interval, channel]);
  const usage = useResource(fault === undefined ? key : null, (signal) => {
    const { intervals: _, fault: __, ...asked } = toPeriod();
    return api.usage.get({ ...asked, ...(channel === "" ? {} : { channel: channel as "sms" }) }, { signal });
  });
  useInterval(usage.reload, fault !== undefined || usage.isLoading ? null : REFRESH_MS);
  const { data } = usage;
  return (
    <Page
      title="Usage"
      lead="Messages by hour or day of their creation (UTC) and by their current status."
      actions={
        <button
          type="button"
          disabled={data === undefined || data.data.length === 0}
          onClick={() => data && download(csvFileName(data), [toCsv(data)])}
        >
          Download CSV
        </button>
      }
    >
      <UsageFilters query={query} range={range} period={period} />
      {fault === undefined && (
        <Loaded resource={usage} lines={8}>
          {(counted) => <Counted usage={counted} />}
        </Loaded>
      )}
    </Page>
  );
}

function Counted({ usage }: { usage: Usage }): JSX.Element {
  const { totals, from, to } = usage;
  if (usage.data.length === 0)
    return (
      <section class="card" aria-label="Usage">
        <Empty title="No messages in this period">
          <p>
            From {formatUtcHour(from)} to {formatUtcHour(to)} UTC. <a href="/docs/usage">What is counted</a>
          </p>
        </Empty>
      </section>
    );
  return (
    <>
      <Totals totals={totals} />
      <p class="quiet usage-range">
        From {formatUtcHour(from)} to {formatUtcHour(to)} UTC. Intervals without messages are omitted.{" "}
        <a href="/docs/usage">What is counted</a>
      </p>
      <div class="columns">
        <ShareTable title="By status" of={totals.by_status} all={totals.messages} isStatus none="No messages" />
        <ShareTable title="By error code" of={totals.by_error_code} all={totals.messages} none="No message has an error" />
      </div>
      <IntervalTable key={`${usage.interval} ${from}`} usage={usage} />
    </>
  );
}

function Totals({ totals }: { totals: Usage["totals"] }): JSX.Element {
  const { messages, segments, delivery_rate: rate, time_to_delivered_ms: time } = totals;
  const figures = [
    ["Messages", formatCount(messages)],
    ["Segments", formatCount(segments)],
    ["Delivery rate", formatPercent(rate)],
    ["Time to delivered, p50", time === null ? "–" : formatDuration(time.p50)],
    ["Time to delivered, p95", formatP95(totals)],
  ] as const;
  return (
    <dl class="usage-totals" aria-label="Totals">
      {figures.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
