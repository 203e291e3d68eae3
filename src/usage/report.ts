/** Usage as the API reports it: one row for each kind of message in each minute, hour or day, and their totals. */
import { nullable, openEnum, timestamp, Type, type Static } from "../http/schema.ts";
import { isoTime } from "../lib/time.ts";
import type { Environment } from "../storage/owner.ts";
import type { UsageRange, UsageRow } from "./queries.ts";
import { quantileMs, type Histogram } from "./usage.ts";

/** The channels and statuses of messages. They are passed in, because messages have a higher rank than usage. */
export type Words = { channels: readonly string[]; statuses: readonly string[] };

export const INTERVALS = ["minute", "hour", "day"] as const;

const TimeToDelivered = nullable(
  Type.Object(
    { p50: Type.Integer(), p95: Type.Integer() },
    { description: "Milliseconds within which half, and 95 of 100, were delivered; to within a fifth or so. Null when none was." },
  ),
);

const usageCount = ({ channels, statuses }: Words) =>
  Type.Object(
    {
      start: timestamp("When the minute, hour or day begins, UTC."),
      channel: openEnum(channels),
      status: openEnum(statuses, "What the messages are now."),
      error_code: nullable(Type.String({ description: "The error they have; null for none." })),
      messages: Type.Integer(),
      segments: Type.Integer({ description: "Parts on the wire. Channels without parts add none." }),
      time_to_delivered_ms: TimeToDelivered,
    },
    { title: "UsageCount" },
  );

const Totals = Type.Object({
  messages: Type.Integer(),
  segments: Type.Integer(),
  by_status: Type.Record(Type.Integer(), { description: "Messages by status; a status that no message has is left out." }),
  by_error_code: Type.Record(Type.Integer(), { description: "Messages by error code; those without one are left out." }),
  delivery_rate: nullable(
    Type.Number({
      minimum: 0,
      maximum: 1,
      description:
        "Delivered or read, as a share of those whose end is known: delivered, read, undelivered, failed, expired. Null when there is none.",
    }),
  ),
  time_to_delivered_ms: TimeToDelivered,
});

const Interval = Type.Object(
  { start: timestamp("When the minute, hour or day begins, UTC."), ...Totals.properties },
  { title: "UsageInterval", description: "What one minute, hour or day comes to." },
);

export const usageReport = (words: Words) =>
  Type.Object(
    {
      object: Type.Literal("usage"),
      environment: openEnum(["test", "live"]),
      interval: openEnum(INTERVALS),
      from: timestamp("The first hour that is counted; the first minute where `interval` is `minute`."),
      to: timestamp("The hour, or minute, before which counting ends."),
      data: Type.Array(usageCount(words), { description: "Newest first, then by channel, status and error code." }),
      intervals: Type.Array(Interval, { description: "The sums of each interval, newest first; those without messages are left out." }),
      totals: Totals,
    },
    { title: "Usage", description: "Messages by the minute, hour or day in which they were created, and by what they are now." },
  );

type UsageReport = Static<ReturnType<typeof usageReport>>;
type Totals = Static<typeof Totals>;

export const toReport = (environment: Environment, { fromMs, toMs, interval }: UsageRange, rows: readonly UsageRow[]): UsageReport => ({
  object: "usage",
  environment,
  interval,
  from: isoTime(fromMs),
  to: isoTime(toMs),
  data: rows.map((row) => ({
    start: isoTime(row.start.getTime()),
    channel: row.channel,
    status: row.status,
    error_code: row.error_code === "" ? null : row.error_code,
    messages: row.messages,
    segments: row.segments,
    time_to_delivered_ms: timeToDelivered(histogramOf([row])),
  })),
  intervals: intervalsOf(rows),
  totals: totalsOf(rows),
});

/** The intervals, in the order of the rows, which are sorted by time. */
const intervalsOf = (rows: readonly UsageRow[]): Static<typeof Interval>[] =>
  [...Map.groupBy(rows, ({ start }) => start.getTime())].map(([start, within]) => ({ start: isoTime(start), ...totalsOf(within) }));

const DELIVERED: ReadonlySet<string> = new Set(["delivered", "read"]);
const NOT_DELIVERED: ReadonlySet<string> = new Set(["undelivered", "failed", "expired"]);

function totalsOf(rows: readonly UsageRow[]): Totals {
  const delivered = sumOf(rows.filter(({ status }) => DELIVERED.has(status)));
  const ended = delivered + sumOf(rows.filter(({ status }) => NOT_DELIVERED.has(status)));
  return {
    messages: sumOf(rows),
    segments: rows.reduce((sum, { segments }) => sum + segments, 0),
    by_status: sumsBy(rows, ({ status }) => status),
    by_error_code: sumsBy(
      rows.filter((row) => row.error_code !== ""),
      (row) => row.error_code,
    ),
    // Four digits are a hundredth of a per cent. More digits would only look exact.
    delivery_rate: ended === 0 ? null : Math.round((delivered / ended) * 10_000) / 10_000,
    time_to_delivered_ms: timeToDelivered(histogramOf(rows)),
  };
}

const sumOf = (rows: readonly UsageRow[]): number => rows.reduce((sum, { messages }) => sum + messages, 0);

function sumsBy(rows: readonly UsageRow[], wordOf: (row: UsageRow) => string): Record<string, number> {
  const sums = new Map<string, number>();
  for (const row of rows) sums.set(wordOf(row), (sums.get(wordOf(row)) ?? 0) + row.messages);
  return Object.fromEntries([...sums].toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

function histogramOf(rows: readonly UsageRow[]): Histogram {
  const histogram = new Map<number, number>();
  for (const { buckets } of rows) {
    for (const [bucket, messages] of Object.entries(buckets ?? {})) {
      histogram.set(Number(bucket), (histogram.get(Number(bucket)) ?? 0) + messages);
    }
  }
  return histogram;
}

function timeToDelivered(histogram: Histogram): Static<typeof TimeToDelivered> {
  const [p50, p95] = [quantileMs(histogram, 0.5), quantileMs(histogram, 0.95)];
  return p50 === null || p95 === null ? null : { p50, p95 };
}
