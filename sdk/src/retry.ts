/** When a call is made again, and how long after. */
import { ApiError, ConnectionError, TimeoutError } from "./errors.ts";

export type Limits = { timeoutMs: number; maxRetries: number; totalTimeoutMs: number };

export const LIMITS: Limits = { timeoutMs: 30_000, maxRetries: 4, totalTimeoutMs: 120_000 };

// A timer that is set for longer than 24 days rings at once.
const MAX_LIMIT_MS = 86_400_000;
const MAX_RETRIES = 100;

type GivenLimits = { [Name in keyof Limits]?: Limits[Name] | undefined };

/** Those that are given, and the others. */
export function resolveLimits(given: GivenLimits, others: Limits): Limits {
  const within = (name: keyof Limits, least: number, most: number): number => {
    const value = given[name] ?? others[name];
    if (value >= least && value <= most) return value;
    throw new TypeError(`${name} must be a number from ${least} to ${most}`);
  };
  return {
    timeoutMs: within("timeoutMs", 1, MAX_LIMIT_MS),
    maxRetries: within("maxRetries", 0, MAX_RETRIES),
    totalTimeoutMs: within("totalTimeoutMs", 1, MAX_LIMIT_MS),
  };
}

const FIRST_MS = 500;
const MAX_MS = 30_000;
const RETRYABLE_STATUSES = new Set([429, 500, 502, 503, 504]);

/** What may have passed by the next time. Other refusals will not change. */
export function isRetryable(error: unknown): boolean {
  if (error instanceof ConnectionError || error instanceof TimeoutError) return true;
  if (!(error instanceof ApiError)) return false;
  return RETRYABLE_STATUSES.has(error.status) || error.code === "idempotency_conflict";
}

/** Full jitter, so that those who failed together do not come back together: anything up to a bound that doubles. After what the
 *  server asks for, where it asks. `failures` counts those that failed, from one. */
export function retryDelayMs(failures: number, error: unknown, random: () => number = Math.random): number {
  const jitter = random() * Math.min(MAX_MS, FIRST_MS * 2 ** Math.min(failures - 1, 30));
  const retryAfterMs = error instanceof ApiError ? (error.retryAfterSeconds ?? 0) * 1_000 : 0;
  return retryAfterMs === 0 ? jitter : retryAfterMs + Math.min(jitter, retryAfterMs);
}
