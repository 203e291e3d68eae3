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

const TIME_EXAMPLE = "2030-01-31T09:00:00Z";

/** Says why a text is no time in a request: the nearest cause, or the form. */
export function explainTime(text: string): string {
  const form = `must be an RFC 3339 time such as ${TIME_EXAMPLE}`;
  if (/^\d{9,13}$/.test(text)) return `${form}, and not a number of seconds`;
  if (/^\d{4}-\d\d-\d\d$/.test(text)) return `${form}, and not only a date`;
  if (/ \d\d:?\d\d$/.test(text) && isDateTime(text.replace(/ (\d\d:?\d\d)$/, "+$1"))) return `${form}; write its + as %2B in a URL`;
  if (isDateTime(`${text}Z`)) return `${form}: it needs Z or an offset such as +02:00 at the end`;
  if (isDateTime(text.replace(" ", "T"))) return `${form}, with a T between the date and the time`;
  if (/[+-]\d{4}$/.test(text)) return `${form}; an offset has a colon, as in +02:00`;
  return DATE_TIME.test(text) ? `${form}: this month has fewer days` : form;
}

export function isDateTime(text: string): boolean {
  const match = DATE_TIME.exec(text);
  return match !== null && Number(match[3]) <= new Date(Date.UTC(Number(match[1]), Number(match[2]), 0)).getUTCDate();
}
