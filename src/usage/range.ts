/** The range of a request for usage: all hours that it touches, or all minutes if the interval is a minute. */
import { Problem } from "../http/problem.ts";
import type { UsageInterval, UsageRange } from "./queries.ts";
import { HOUR_MS, MINUTE_MS } from "./usage.ts";

const DAY_MS = 24 * HOUR_MS;

export const DEFAULT_DAYS = 30;
// Counts are kept for 400 days. A month of hours has 744 rows for each kind of message, about as many as half a day of minutes.
export const MAX_DAYS = { minute: 1, hour: 31, day: 400 } as const;
// A client that requests the last 24 hours computed them earlier, by another clock.
const MINUTES_GRACE_MS = 5 * MINUTE_MS;

const IN_WORDS = { minute: "24 hours", hour: `${MAX_DAYS.hour} days`, day: `${MAX_DAYS.day} days` } as const;

export type AskedRange = { created_after?: string | null; created_before?: string | null; interval?: UsageInterval | null };

export function rangeOf({ created_after: after, created_before: before, interval: asked }: AskedRange, nowMs: number): UsageRange {
  const interval = asked ?? "day";
  const unitMs = interval === "minute" ? MINUTE_MS : HOUR_MS;
  const isOpen = typeof before !== "string";
  const beforeMs = isOpen ? nowMs : Date.parse(before);
  const afterMs = typeof after === "string" ? Date.parse(after) : defaultAfter(beforeMs, interval);
  checkRange(afterMs, beforeMs, interval, nowMs);
  // The current hour or minute is included, even if it has just begun.
  const toMs = isOpen ? floorTo(unitMs, nowMs) + unitMs : Math.ceil(beforeMs / unitMs) * unitMs;
  return { fromMs: bounded(floorTo(unitMs, afterMs)), toMs: bounded(toMs), interval };
}

const defaultAfter = (beforeMs: number, interval: UsageInterval): number =>
  interval === "minute" ? floorTo(MINUTE_MS, beforeMs - HOUR_MS) : floorTo(DAY_MS, beforeMs - DEFAULT_DAYS * DAY_MS);

function checkRange(afterMs: number, beforeMs: number, interval: UsageInterval, nowMs: number): void {
  if (afterMs >= beforeMs) throw refused("must be earlier than created_before, which is now unless it is given");
  const maxMs = MAX_DAYS[interval] * DAY_MS + (interval === "minute" ? MINUTES_GRACE_MS : 0);
  if (interval === "minute" && afterMs < nowMs - maxMs) {
    throw refused(`must be at most ${IN_WORDS.minute} ago where interval is minute: what is older is counted by the hour`);
  }
  if (beforeMs - afterMs > maxMs)
    throw refused(`must be at most ${IN_WORDS[interval]} before created_before where interval is ${interval}`);
}

/** Every fault of a range is reported for its start. */
export const refused = (detail: string): Problem =>
  new Problem("invalid_request_payload", { errors: [{ parameter: "created_after", code: "out_of_range", detail }] });

const floorTo = (unitMs: number, timeMs: number): number => Math.floor(timeMs / unitMs) * unitMs;

// No message is older than the epoch of its id, and no time has a year of five digits.
const LAST_HOUR_MS = Date.UTC(9999, 11, 31, 23);
const bounded = (timeMs: number): number => Math.min(Math.max(timeMs, 0), LAST_HOUR_MS);
