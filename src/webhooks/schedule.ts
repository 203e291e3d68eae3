/** The schedule of retries. */

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;

/** The delays between one attempt and the next. The first attempt is immediate. */
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

export const MAX_DELIVERY_ATTEMPTS = DELAYS_MS.length + 1;
const JITTER = 0.2;
const MAX_DELAY_MS = 24 * HOUR_MS;

/** An endpoint whose attempts all fail for this long is disabled. */
export const GIVE_UP_AFTER_MS = 5 * 24 * HOUR_MS;

/** Returns how long to wait after this many attempts; undefined when there is no further one. A longer `Retry-After` counts, up to a
 *  day. A shorter one does not, so that an endpoint does not use up its attempts sooner. */
export function retryDelayMs(attempts: number, retryAfterMs: number | null, random: () => number = Math.random): number | undefined {
  const delay = DELAYS_MS[attempts - 1];
  if (delay === undefined) return undefined;
  const spread = delay * (1 - JITTER + 2 * JITTER * random());
  return Math.round(Math.max(spread, Math.min(retryAfterMs ?? 0, MAX_DELAY_MS)));
}
