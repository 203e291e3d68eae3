/** The time ranges of the overview, each with its interval. */
import type { Usage } from "godwit-sdk";

export type RangeName = "hour" | "day" | "week";
type Range = { title: string; interval: "minute" | "hour"; stepMs: number; lengthMs: number };

const [MINUTE_MS, HOUR_MS] = [60_000, 3_600_000];

export const RANGES: Readonly<Record<RangeName, Range>> = {
  hour: { title: "Last hour", interval: "minute", stepMs: MINUTE_MS, lengthMs: HOUR_MS },
  day: { title: "Last day", interval: "hour", stepMs: HOUR_MS, lengthMs: 24 * HOUR_MS },
  week: { title: "Last week", interval: "hour", stepMs: HOUR_MS, lengthMs: 168 * HOUR_MS },
};

export const readRange = (text: string | null): RangeName => (text === "day" || text === "week" ? text : "hour");

export type Interval = Usage["intervals"][number];
export type Bucket = { time: string; interval: Interval | undefined };

// As many units as are needed to distinguish the first time from the last.
const CLOCK = { hour: "2-digit", minute: "2-digit" } as const;
const FORMATS: Readonly<Record<RangeName, Intl.DateTimeFormat>> = {
  hour: new Intl.DateTimeFormat(undefined, CLOCK),
  day: new Intl.DateTimeFormat(undefined, { weekday: "short", ...CLOCK }),
  week: new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", ...CLOCK }),
};

/** Returns every interval of the range, including those without messages. */
export function toBuckets(usage: Usage, name: RangeName): Bucket[] {
  const { stepMs } = RANGES[name];
  const known = new Map(usage.intervals.map((interval) => [Date.parse(interval.start), interval]));
  const buckets: Bucket[] = [];
  for (let at = Date.parse(usage.from); at < Date.parse(usage.to); at += stepMs)
    buckets.push({ time: FORMATS[name].format(at), interval: known.get(at) });
  return buckets;
}
