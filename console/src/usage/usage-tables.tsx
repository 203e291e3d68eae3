/** The counts of a range: by interval, by status and by error code. */
import type { Usage } from "godwit-sdk";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { formatCount, formatPercent, formatUtcDay, formatUtcHour } from "../lib/format.ts";
import { Empty } from "../ui/page.tsx";
import { Status } from "../ui/status.tsx";
import { Table, type Column } from "../ui/table.tsx";
import { byInterval, sharesOf, type IntervalCount, type Share } from "./counts.ts";

// A month of hours has 744.
const ROWS_AT_ONCE = 48;

export function IntervalTable({ usage: { interval, data } }: { usage: Usage }): JSX.Element {
  const [most, setMost] = useState(ROWS_AT_ONCE);
  const counts = byInterval(data);
  const title = interval === "hour" ? "By hour" : "By day";
  return (
    <section class="card" aria-label={title}>
      <h2>{title}</h2>
      <Table label={title} columns={intervalColumns(interval)} rows={counts.slice(0, most)} keyOf={({ start }) => start} />
      {counts.length > most && (
        <div class="more">
          <button type="button" onClick={() => setMost(most + ROWS_AT_ONCE)}>
            Show {formatCount(Math.min(ROWS_AT_ONCE, counts.length - most))} more of {formatCount(counts.length)}
          </button>
        </div>
      )}
    </section>
  );
}

const intervalColumns = (interval: string): Column<IntervalCount>[] => [
  interval === "hour"
    ? { name: "Hour", cell: ({ start }) => <time dateTime={start}>{formatUtcHour(start)}</time> }
    : { name: "Day", cell: ({ start }) => <time dateTime={start}>{formatUtcDay(start)}</time> },
  { name: "Messages", isNumber: true, cell: ({ messages }) => formatCount(messages) },
  { name: "Segments", isNumber: true, cell: ({ segments }) => formatCount(segments) },
  { name: "Delivered", isNumber: true, cell: ({ delivered }) => formatCount(delivered) },
  { name: "Failed", isNumber: true, cell: ({ failed }) => formatCount(failed) },
  { name: "Under way", isNumber: true, cell: ({ underWay }) => formatCount(underWay) },
  { name: "Other", isNumber: true, cell: ({ other }) => formatCount(other) },
  { name: "Delivery rate", isNumber: true, cell: ({ deliveryRate }) => formatPercent(deliveryRate) },
];

type ShareProps = { title: string; of: Readonly<Record<string, number>>; all: number; isStatus?: boolean; none: string };

export function ShareTable({ title, of, all, isStatus = false, none }: ShareProps): JSX.Element {
  const shares = sharesOf(of, all);
  const columns: Column<Share>[] = [
    { name: isStatus ? "Status" : "Error code", cell: ({ word }) => (isStatus ? <Status of={word} /> : <code>{word}</code>) },
    { name: "Messages", isNumber: true, cell: ({ messages }) => formatCount(messages) },
    { name: "Share", isNumber: true, cell: ({ share }) => formatPercent(share) },
  ];
  return (
    <section class="card" aria-label={title}>
      <h2>{title}</h2>
      {shares.length === 0 ? <Empty title={none} /> : <Table label={title} columns={columns} rows={shares} keyOf={({ word }) => word} />}
    </section>
  );
}
