/** The key figures at the top of the overview. */
import type { Queue, Usage } from "godwit-sdk";
import type { ComponentChildren, JSX } from "preact";
import { formatCount, formatDuration, formatPercent, plural } from "../lib/format.ts";
import { formatP95, p95Of } from "../lib/outcomes.ts";
import { PRESETS, type TimeRange } from "../lib/time-range.ts";

export function Tiles({ usage, queue, range }: { usage: Usage | undefined; queue: Queue; range: TimeRange }): JSX.Element {
  const totals = usage?.totals;
  const times = totals?.time_to_delivered_ms ?? null;
  const perMinute = usage === undefined ? 0 : usage.totals.messages / ((Date.parse(usage.to) - Date.parse(usage.from)) / 60_000);
  return (
    <div class="tiles">
      <Tile name="Messages" value={totals === undefined ? "…" : formatCount(totals.messages)}>
        {perMinute >= 1
          ? `${formatCount(Math.round(perMinute))} per minute`
          : range.kind === "preset"
            ? PRESETS[range.name].title.toLowerCase()
            : "in this period"}
      </Tile>
      <Tile name="Delivery rate" value={totals === undefined ? "…" : formatPercent(totals.delivery_rate)}>
        of completed messages
      </Tile>
      <Tile name="Time to delivered" value={times === null ? "–" : formatDuration(times.p50)}>
        {totals === undefined || times === null
          ? "no delivered messages"
          : p95Of(totals) === null
            ? "median; too few messages for p95"
            : `median; p95: ${formatP95(totals)}`}
      </Tile>
      <Tile name="In the queue" value={formatCount(queue.queued + queue.sending)}>
        {queue.scheduled > 0 ? `${plural(queue.scheduled, "message")} scheduled` : "none scheduled"}
      </Tile>
      <Tile name="Oldest waiting" value={queue.oldest_due_at === null ? "–" : formatDuration(queue.oldest_due_seconds * 1_000)}>
        {queue.oldest_due_at === null ? "no messages waiting" : "in the queue"}
      </Tile>
    </div>
  );
}

const Tile = ({ name, value, children }: { name: string; value: string; children: ComponentChildren }): JSX.Element => (
  <div class="tile">
    <h2>{name}</h2>
    <p class="figure">{value}</p>
    <p class="quiet">{children}</p>
  </div>
);
