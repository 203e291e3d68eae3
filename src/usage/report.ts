/** Usage as the API reports it: one row for each kind of message in each minute, hour or day, and their totals. */
import { environmentField, nullable, openEnum, timestamp, Type, type Static } from "../http/schema.ts";
import { isoTime } from "../lib/time.ts";
import type { Environment } from "../model/owner.ts";
import type { UsageRange, UsageRow } from "./queries.ts";
import { quantileMs, type Histogram } from "./usage.ts";

/** The channels and statuses of messages. They are passed in, because messages have a higher rank than usage. */
export type Words = { channels: readonly string[]; statuses: readonly string[] };

export const INTERVALS = ["minute", "hour", "day"] as const;

const TimeToDelivered = nullable(
  Type.Object(
    {
      p50: Type.Integer({ description: "Half of the messages were delivered within this time." }),
      p95: Type.Integer({ description: "95% of the messages were delivered within this time." }),
    },
    { description: "The time from creation to delivery in milliseconds, with an accuracy of about 20%. Null if no message was delivered." },
  ),
);

const usageCount = ({ channels, statuses }: Words) =>
  Type.Object(
    {
      start: timestamp("The start of the minute, hour or day, in UTC."),
      channel: openEnum(channels, "The channel of the messages."),
      status: openEnum(statuses, "The current status of the messages."),
      error_code: nullable(Type.String({ description: "The error code of the messages. Null for messages without an error." })),
      messages: Type.Integer({ description: "The number of messages." }),
      segments: Type.Integer({ description: "The number of segments. Only SMS has segments." }),
      time_to_delivered_ms: TimeToDelivered,
    },
    { title: "UsageCount", description: "The messages of one interval, channel, status and error code." },
  );

const Totals = Type.Object(
  {
    messages: Type.Integer({ description: "The number of messages." }),
    segments: Type.Integer({ description: "The number of segments." }),
    by_status: Type.Record(Type.Integer(), { description: "The number of messages by status. Statuses without messages are absent." }),
    by_error_code: Type.Record(Type.Integer(), {
      description: "The number of messages by error code. Messages without an error are not counted.",
    }),
    delivery_rate: nullable(
      Type.Number({
        minimum: 0,
        maximum: 1,
        description:
          "The share of delivered and read messages among those that are delivered, read, undelivered, failed or expired, from 0 to 1. Null if there are none.",
      }),
    ),
    time_to_delivered_ms: TimeToDelivered,
  },
  { description: "The totals of all rows." },
);

const Interval = Type.Object(
  { start: timestamp("The start of the minute, hour or day, in UTC."), ...Totals.properties },
  { title: "UsageInterval", description: "The totals of one minute, hour or day." },
);

const MediaUsage = Type.Object(
  {
    bytes: Type.Integer({ description: "The bytes of the stored files, now. Files with the same bytes count once." }),
    quota_bytes: Type.Integer({ description: "The bytes that the files may have together." }),
  },
  { title: "MediaUsage", description: "The stored files of the environment, whatever the range is." },
);
export type MediaUsage = Static<typeof MediaUsage>;

export const usageReport = (words: Words) =>
  Type.Object(
    {
      object: Type.Literal("usage"),
      environment: environmentField,
      interval: openEnum(INTERVALS, "The interval of each row."),
      from: timestamp("The start of the range, on a full hour, or on a full minute if `interval` is `minute`."),
      to: timestamp("The end of the range, which is not included."),
      data: Type.Array(usageCount(words), { description: "The counts, newest first, then by channel, status and error code." }),
      intervals: Type.Array(Interval, { description: "The totals of each interval with messages, newest first." }),
      totals: Totals,
      media: MediaUsage,
    },
    { title: "Usage", description: "The number of messages by minute, hour or day of their creation, and by their current status." },
  );

type UsageReport = Static<ReturnType<typeof usageReport>>;
type Totals = Static<typeof Totals>;

export const toReport = (
  environment: Environment,
  { fromMs, toMs, interval }: UsageRange,
  rows: readonly UsageRow[],
  media: MediaUsage,
): UsageReport => ({
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
  media,
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
