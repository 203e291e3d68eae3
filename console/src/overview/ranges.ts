/** The times that the overview looks back on, and how finely. */
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

const CLOCK = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
const DAY_AND_CLOCK = new Intl.DateTimeFormat(undefined, { weekday: "short", hour: "2-digit", minute: "2-digit" });

/** Every interval of the answer's time, also those in which nothing was sent. */
export function bucketsOf(usage: Usage, name: RangeName): Bucket[] {
  const { stepMs } = RANGES[name];
  const known = new Map(usage.intervals.map((interval) => [Date.parse(interval.start), interval]));
  const format = name === "week" ? DAY_AND_CLOCK : CLOCK;
  const buckets: Bucket[] = [];
  for (let at = Date.parse(usage.from); at < Date.parse(usage.to); at += stepMs)
    buckets.push({ time: format.format(at), interval: known.get(at) });
  return buckets;
}
