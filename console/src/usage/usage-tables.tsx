/** The counts of a range: by interval, by status and by error code. */
import type { Usage, UsageInterval } from "godwit-sdk";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { formatCount, formatDuration, formatPercent, formatUtcDay, formatUtcHour } from "../lib/format.ts";
import { countOutcomes, formatP95 } from "../lib/outcomes.ts";
import { MessageErrorCode } from "../ui/error-code.tsx";
import { Empty } from "../ui/page.tsx";
import { Status } from "../ui/status.tsx";
import { Table, type Column } from "../ui/table.tsx";

// A month has 744 hours.
const ROWS_AT_ONCE = 48;

export function IntervalTable({ usage: { interval, intervals } }: { usage: Usage }): JSX.Element {
  const [most, setMost] = useState(ROWS_AT_ONCE);
  const title = `By ${interval}`;
  return (
    <section class="card" aria-label={title}>
      <h2>{title}</h2>
      <Table label={title} columns={intervalColumns(interval)} rows={intervals.slice(0, most)} keyOf={({ start }) => start} />
      {intervals.length > most && (
        <div class="more">
          <button type="button" onClick={() => setMost(most + ROWS_AT_ONCE)}>
            Show {formatCount(Math.min(ROWS_AT_ONCE, intervals.length - most))} more of {formatCount(intervals.length)}
          </button>
        </div>
      )}
    </section>
  );
}

const INTERVAL_NAMES: Readonly<Record<string, string>> = { minute: "Minute", hour: "Hour", day: "Day" };

const intervalColumns = (interval: string): Column<UsageInterval>[] => [
  {
    name: INTERVAL_NAMES[interval] ?? "Start",
    cell: ({ start }) => <time dateTime={start}>{interval === "day" ? formatUtcDay(start) : formatUtcHour(start)}</time>,
  },
  { name: "Messages", isNumber: true, cell: ({ messages }) => formatCount(messages) },
  { name: "Segments", isNumber: true, cell: ({ segments }) => formatCount(segments) },
  { name: "Delivered", isNumber: true, cell: ({ by_status: by }) => formatCount(countOutcomes(by).delivered) },
  { name: "Not delivered", isNumber: true, cell: ({ by_status: by }) => formatCount(countOutcomes(by).notDelivered) },
  { name: "In progress", isNumber: true, cell: ({ by_status: by }) => formatCount(countOutcomes(by).inProgress) },
  { name: "Other", isNumber: true, cell: ({ by_status: by }) => formatCount(countOutcomes(by).other) },
  { name: "Delivery rate", isNumber: true, cell: ({ delivery_rate: rate }) => formatPercent(rate) },
  { name: "p50", isNumber: true, cell: ({ time_to_delivered_ms: time }) => (time === null ? "–" : formatDuration(time.p50)) },
  { name: "p95", isNumber: true, cell: formatP95 },
];

type ShareProps = { title: string; of: Readonly<Record<string, number>>; all: number; isStatus?: boolean; none: string };

export function ShareTable({ title, of, all, isStatus = false, none }: ShareProps): JSX.Element {
  const shares = toShares(of, all);
  const columns: Column<Share>[] = [
    { name: isStatus ? "Status" : "Error code", cell: ({ word }) => (isStatus ? <Status of={word} /> : <MessageErrorCode code={word} />) },
    { name: "Messages", isNumber: true, cell: ({ messages }) => formatCount(messages) },
    { name: "Share", isNumber: true, cell: ({ share }) => formatPercent(share) },
  ];
  return (
    <section class="card" aria-label={title}>
      <h2>{title}</h2>
      {shares.length === 0 ? (
        <Empty title={none} />
      ) : (
        <Table label={title} columns={columns} rows={shares} keyOf={({ word }) => word} isNarrow />
      )}
    </section>
  );
}

type Share = { word: string; messages: number; share: number };

/** Returns counts as shares of the whole, the largest first. */
const toShares = (counts: Readonly<Record<string, number>>, all: number): Share[] =>
  Object.entries(counts)
    .map(([word, messages]) => ({ word, messages, share: all === 0 ? 0 : messages / all }))
    .toSorted((a, b) => b.messages - a.messages || a.word.localeCompare(b.word));
