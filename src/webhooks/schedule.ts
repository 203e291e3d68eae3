/** When a delivery is tried again. */

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;

/** Between one try and the next. The first is made at once. */
const DELAYS_MS = [
  5 * SECOND_MS,
  30 * SECOND_MS,
  2 * MINUTE_MS,
  10 * MINUTE_MS,
  30 * MINUTE_MS,
  2 * HOUR_MS,
  5 * HOUR_MS,
  10 * HOUR_MS,
  14 * HOUR_MS,
  20 * HOUR_MS,
  24 * HOUR_MS,
] as const;

export const MAX_ATTEMPTS = DELAYS_MS.length + 1;
const JITTER = 0.2;
const MAX_DELAY_MS = 24 * HOUR_MS;

/** An endpoint with nothing but failures for so long is disabled. */
export const GIVE_UP_AFTER_MS = 5 * 24 * HOUR_MS;

/** How long to wait after the given number of tries; undefined when there is no further one. An endpoint that asks for more time
 *  gets it, up to a day; one that asks for less does not use up its tries the sooner. */
export function retryDelayMs(attempts: number, retryAfterMs: number | null, random: () => number = Math.random): number | undefined {
  const delay = DELAYS_MS[attempts - 1];
  if (delay === undefined) return undefined;
  const spread = delay * (1 - JITTER + 2 * JITTER * random());
  return Math.round(Math.max(spread, Math.min(retryAfterMs ?? 0, MAX_DELAY_MS)));
}

/** `Retry-After` in milliseconds from now: a number of seconds or a date; null for anything else. */
export function parseRetryAfter(text: string | undefined, nowMs: number): number | null {
  if (text === undefined) return null;
  if (/^\d{1,9}$/.test(text.trim())) return Number(text) * SECOND_MS;
  const at = /^[A-Za-z]{3}, \d{2} [A-Za-z]{3} \d{4} /.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(at) ? null : Math.max(0, at - nowMs);
}
