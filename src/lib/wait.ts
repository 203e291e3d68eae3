/** Waits with a limit. */
import { setTimeout as sleep } from "node:timers/promises";

/** Resolves after the time, or as soon as the signal is aborted. The caller checks the signal. */
export function pause(ms: number, signal: AbortSignal): Promise<undefined> {
  // The only possible error is the abort.
  return sleep(ms, undefined, { signal }).catch(() => undefined);
}

/** Calls `check` repeatedly until it returns a value. Returns undefined after `timeoutMs`. */
export async function poll<T>(
  check: () => Promise<T | undefined>,
  { timeoutMs, everyMs }: { timeoutMs: number; everyMs: number },
): Promise<T | undefined> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const value = await check();
    if (value !== undefined || performance.now() >= deadline) return value;
    await sleep(everyMs);
  }
}

/** Returns the promise's value, or undefined after `timeoutMs`, or as soon as `stop` is aborted. */
export async function within<T>(promise: Promise<T>, timeoutMs: number, stop?: AbortSignal): Promise<T | undefined> {
  const limit = new AbortController();
  const end = (): void => limit.abort();
  if (stop?.aborted === true) end();
  stop?.addEventListener("abort", end);
  try {
    return await Promise.race([promise, pause(timeoutMs, limit.signal)]);
  } finally {
    end();
    stop?.removeEventListener("abort", end);
  }
}
