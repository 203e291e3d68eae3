/** Times as text. */
import { BoundedMap } from "./bounded-map.ts";

const MINUTE_MS = 60_000;
const MAX_MINUTES = 64;
// All but the seconds is the same for a whole minute, and formatting thousands of dates is expensive.
const prefixes = new BoundedMap<number, string>(MAX_MINUTES);

function minutePrefix(minute: number): string {
  let prefix = prefixes.get(minute);
  if (prefix === undefined) {
    prefix = new Date(minute * MINUTE_MS).toISOString().slice(0, -"00.000Z".length);
    prefixes.set(minute, prefix);
  }
  return prefix;
}

/** RFC 3339 in UTC with milliseconds, the same text as `toISOString`. */
export function isoTime(timeMs: number): string {
  const minute = Math.floor(timeMs / MINUTE_MS);
  const rest = timeMs - minute * MINUTE_MS;
  const seconds = Math.floor(rest / 1_000);
  const millis = rest - seconds * 1_000;
  return `${minutePrefix(minute)}${seconds < 10 ? "0" : ""}${seconds}.${millis < 10 ? "00" : millis < 100 ? "0" : ""}${millis}Z`;
}

export type Moment = { monotonicMs: number; wallMs: number };

export const moment = (): Moment => ({ monotonicMs: performance.now(), wallMs: Date.now() });

/** The time since a moment, even if this process was suspended meanwhile: by the clock that moved further. The monotonic clock stands still while
 *  the machine is suspended, and the wall clock can be set back. */
export const msSince = ({ monotonicMs, wallMs }: Moment): number => Math.max(performance.now() - monotonicMs, Date.now() - wallMs);

// RFC 3339, with the ranges that a pattern can check; the length of the month is checked below. Leap seconds are refused: JavaScript
// and PostgreSQL do not support them, and they are going to be abolished.
const DATE_TIME =
  /^(\d{4})-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])[Tt]([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,9})?([Zz]|[+-]([01]\d|2[0-3]):[0-5]\d)$/;

export function isDateTime(text: string): boolean {
  const match = DATE_TIME.exec(text);
  return match !== null && Number(match[3]) <= new Date(Date.UTC(Number(match[1]), Number(match[2]), 0)).getUTCDate();
}
