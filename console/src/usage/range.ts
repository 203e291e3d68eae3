/** The range of the usage page: read from the address, and converted to a query. Days and hours are UTC, as the service counts them. */
import type { QueryOf } from "godwit-sdk";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
// The limits of the API.
const MAX_DAYS = { hour: 31, day: 400 } as const;

const RANGES = ["24h", "7d", "30d", "dates"] as const;
type RangeName = (typeof RANGES)[number];
type Interval = "hour" | "day";

export type Range = {
  name: RangeName;
  interval: Interval;
  /** The intervals that the range can be divided into. */
  intervals: readonly Interval[];
  /** Only for `dates`: the first and the last day, both inclusive. */
  from: string;
  to: string;
  fault: string | undefined;
};

const INTERVALS: Readonly<Record<Exclude<RangeName, "dates">, readonly Interval[]>> = {
  "24h": ["hour"],
  "7d": ["day", "hour"],
  "30d": ["day"],
};

export function readUsageRange(query: URLSearchParams, nowMs: number): Range {
  const name = RANGES.find((one) => one === query.get("range")) ?? "7d";
  const from = query.get("from") ?? toDay(nowMs - 6 * DAY_MS);
  const to = query.get("to") ?? toDay(nowMs);
  const days = (Date.parse(to) - Date.parse(from)) / DAY_MS + 1;
  const intervals = name === "dates" ? availableIntervals(days) : INTERVALS[name];
  const interval = intervals.find((one) => one === query.get("interval")) ?? intervals[0] ?? "day";
  return { name, interval, intervals, from, to, fault: name === "dates" ? rangeFault(days) : undefined };
}

const availableIntervals = (days: number): Interval[] => (days <= MAX_DAYS.hour ? ["day", "hour"] : ["day"]);

function rangeFault(days: number): string | undefined {
  if (Number.isNaN(days)) return "Enter both days.";
  if (days < 1) return "The first day must not be after the last.";
  return days > MAX_DAYS.day ? `The range must have at most ${MAX_DAYS.day} days.` : undefined;
}

/** Returns the start of a range. The current hour or day is the last interval. */
const RANGE_STARTS: Readonly<Record<Exclude<RangeName, "dates">, (nowMs: number, interval: Interval) => number>> = {
  "24h": (nowMs) => floorTo(HOUR_MS, nowMs) - 23 * HOUR_MS,
  "7d": (nowMs, interval) => (interval === "day" ? floorTo(DAY_MS, nowMs) - 6 * DAY_MS : floorTo(HOUR_MS, nowMs) - 167 * HOUR_MS),
  "30d": (nowMs) => floorTo(DAY_MS, nowMs) - 29 * DAY_MS,
};

export function toUsageQuery({ name, interval, from, to }: Range, channel: string, nowMs: number): QueryOf<"get_usage"> {
  const times =
    name === "dates"
      ? { created_after: toIso(Date.parse(from)), created_before: toIso(Date.parse(to) + DAY_MS) }
      : { created_after: toIso(RANGE_STARTS[name](nowMs, interval)) };
  return { ...times, interval, ...(channel === "" ? {} : { channel: channel as "sms" }) };
}

const floorTo = (unitMs: number, timeMs: number): number => Math.floor(timeMs / unitMs) * unitMs;
const toIso = (timeMs: number): string => new Date(timeMs).toISOString();
const toDay = (timeMs: number): string => toIso(timeMs).slice(0, 10);
