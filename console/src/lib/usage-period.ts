/** The request for the usage of a period: its start and end, and the interval by which it is counted. */
import { PRESETS, rangeFault, type TimeRange } from "./time-range.ts";

export type Interval = "minute" | "hour" | "day";

export type UsagePeriod = {
  created_after: string;
  created_before?: string;
  interval: Interval;
  /** The intervals by which the API can count the period, the shortest first. */
  intervals: readonly Interval[];
  fault: string | undefined;
};

const [MINUTE_MS, HOUR_MS, DAY_MS] = [60_000, 3_600_000, 86_400_000];
export const INTERVAL_MS: Readonly<Record<Interval, number>> = { minute: MINUTE_MS, hour: HOUR_MS, day: DAY_MS };

// The limits of the API.
const MAX_DAYS: Readonly<Record<Interval, number>> = { minute: 1, hour: 31, day: 400 };
const DEFAULT_DAYS = 30;

type Choice = {
  /** The interval that the user has chosen, if any. */
  asked?: string | null;
  /** Without a choice, the shortest interval that gives at most so many rows. */
  maxIntervals: number;
};

export function toUsagePeriod(range: TimeRange, { asked, maxIntervals }: Choice, nowMs: number): UsagePeriod {
  const [startMs, endMs] = limitsOf(range, nowMs);
  const intervals = availableIntervals(startMs, endMs, nowMs);
  const fitting = intervals.find((each) => (endMs - startMs) / INTERVAL_MS[each] <= maxIntervals);
  const interval = intervals.find((each) => each === asked) ?? fitting ?? intervals.at(-1) ?? "day";
  // A preset begins with a whole interval, and the current interval is its last one.
  const first = range.kind === "custom" ? startMs : floorTo(INTERVAL_MS[interval], startMs + INTERVAL_MS[interval]);
  return {
    created_after: toIso(first),
    ...(range.kind === "custom" && range.before !== undefined ? { created_before: range.before } : {}),
    interval,
    intervals,
    fault: rangeFault(range) ?? lengthFault(endMs - startMs),
  };
}

function limitsOf(range: TimeRange, nowMs: number): [startMs: number, endMs: number] {
  if (range.kind === "preset") return [nowMs - PRESETS[range.name].lengthMs, nowMs];
  const { after, before } = range.kind === "custom" ? range : {};
  const endMs = toMs(before) ?? nowMs;
  return [toMs(after) ?? endMs - DEFAULT_DAYS * DAY_MS, endMs];
}

/** Minutes are counted for the last 24 hours only. */
const availableIntervals = (startMs: number, endMs: number, nowMs: number): Interval[] =>
  (Object.keys(INTERVAL_MS) as Interval[]).filter((each) => {
    const isKept = each !== "minute" || startMs >= nowMs - DAY_MS;
    return isKept && endMs - startMs <= MAX_DAYS[each] * DAY_MS;
  });

const lengthFault = (lengthMs: number): string | undefined =>
  lengthMs > MAX_DAYS.day * DAY_MS ? `The period must be at most ${MAX_DAYS.day} days long.` : undefined;

const toMs = (iso: string | undefined): number | undefined => {
  const time = Date.parse(iso ?? "");
  return Number.isNaN(time) ? undefined : time;
};
const toIso = (timeMs: number): string => new Date(timeMs).toISOString();
export const floorTo = (unitMs: number, timeMs: number): number => Math.floor(timeMs / unitMs) * unitMs;
