/** Decides whether a call is retried, and after which wait. */
import { ApiError, ConnectionError, TimeoutError } from "./errors.ts";

export type Limits = { timeoutMs: number; maxRetries: number; totalTimeoutMs: number };

export const LIMITS: Limits = { timeoutMs: 30_000, maxRetries: 4, totalTimeoutMs: 120_000 };

// A timer for more than 24 days would fire at once.
const MAX_LIMIT_MS = 86_400_000;
const MAX_RETRIES = 100;

type GivenLimits = { [Name in keyof Limits]?: Limits[Name] | undefined };

/** Returns the given limits, and `others` for those that are not given. Throws for a limit out of range. */
export function resolveLimits(given: GivenLimits, others: Limits): Limits {
  const within = (name: keyof Limits, least: number, most: number): number =>
    checkNumber(name, given[name] ?? others[name], { least, most, isWhole: name === "maxRetries" });
  return {
    timeoutMs: within("timeoutMs", 1, MAX_LIMIT_MS),
    maxRetries: within("maxRetries", 0, MAX_RETRIES),
    totalTimeoutMs: within("totalTimeoutMs", 1, MAX_LIMIT_MS),
  };
}

type Range = { least: number; most: number; isWhole?: boolean };

/** Returns the number of an option. Throws for one out of range, and for a text, which JavaScript compares like a number. */
export function checkNumber(name: string, value: unknown, { least, most, isWhole = false }: Range): number {
  if (typeof value === "number" && value >= least && value <= most && !(isWhole && !Number.isInteger(value))) return value;
  const shown = typeof value === "string" ? JSON.stringify(value) : String(value);
  throw new TypeError(`${name} must be a ${isWhole ? "whole " : ""}number from ${least} to ${most}, and is ${shown}`);
}

const FIRST_MS = 500;
const MAX_MS = 30_000;
const RETRYABLE_STATUSES = new Set([408, 429, 500, 502, 503, 504]);

/** Whether another attempt may succeed. Other refusals would be the same again. */
export function isRetryable(error: unknown): boolean {
  if (error instanceof ConnectionError || error instanceof TimeoutError) return true;
  if (!(error instanceof ApiError)) return false;
  return RETRYABLE_STATUSES.has(error.status) || error.code === "idempotency_conflict";
}

/** Returns a random wait below a bound that doubles with each failure, so that clients that failed together do not retry together
 *  (full jitter). A Retry-After of the server is added. `failures` counts the failed attempts, from one. */
export function retryDelayMs(failures: number, error: unknown, random: () => number = Math.random): number {
  const jitter = random() * Math.min(MAX_MS, FIRST_MS * 2 ** Math.min(failures - 1, 30));
  const retryAfterMs = error instanceof ApiError ? (error.retryAfterSeconds ?? 0) * 1_000 : 0;
  return retryAfterMs === 0 ? jitter : retryAfterMs + Math.min(jitter, retryAfterMs);
}
