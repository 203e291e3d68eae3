/** The intervals of the charts, including those without messages. */
import type { Usage } from "godwit-sdk";
import { floorTo, INTERVAL_MS, type Interval } from "../lib/usage-period.ts";

export type UsageInterval = Usage["intervals"][number];
export type Bucket = {
  /** The label on the time axis. */
  time: string;
  interval: UsageInterval | undefined;
};

const DAY_MS = 86_400_000;
const CLOCK = { hour: "2-digit", minute: "2-digit" } as const;
const DATE = { day: "numeric", month: "short" } as const;
const TIME = new Intl.DateTimeFormat(undefined, CLOCK);
const DATE_AND_TIME = new Intl.DateTimeFormat(undefined, { ...DATE, ...CLOCK });
// Days are counted in UTC.
const UTC_DATE = new Intl.DateTimeFormat(undefined, { ...DATE, timeZone: "UTC" });

export const intervalOf = ({ interval }: Usage): Interval => (interval in INTERVAL_MS ? (interval as Interval) : "hour");

export function toBuckets(usage: Usage): Bucket[] {
  const stepMs = INTERVAL_MS[intervalOf(usage)];
  const [fromMs, toMs] = [floorTo(stepMs, Date.parse(usage.from)), Date.parse(usage.to)];
  // As many units as are needed to distinguish the first time from the last.
  const format = stepMs === DAY_MS ? UTC_DATE : toMs - fromMs <= DAY_MS ? TIME : DATE_AND_TIME;
  const known = new Map(usage.intervals.map((interval) => [Date.parse(interval.start), interval]));
  const buckets: Bucket[] = [];
  for (let at = fromMs; at < toMs; at += stepMs) buckets.push({ time: format.format(at), interval: known.get(at) });
  return buckets;
}
