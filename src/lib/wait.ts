/** Waiting with a limit. */
import { setTimeout as sleep } from "node:timers/promises";

/** Resolves after the time, or as soon as the signal is aborted: the caller looks at the signal. */
export function pause(ms: number, signal: AbortSignal): Promise<undefined> {
  // The only error of this wait is the abort.
  return sleep(ms, undefined, { signal }).catch(() => undefined);
}

/** Asks again and again until the answer is not undefined. Undefined when the time is over. */
export async function poll<T>(
  ask: () => Promise<T | undefined>,
  { timeoutMs, everyMs }: { timeoutMs: number; everyMs: number },
): Promise<T | undefined> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const answer = await ask();
    if (answer !== undefined || performance.now() >= deadline) return answer;
    await sleep(everyMs);
  }
}

/** The promise's value, or undefined when it takes longer than `timeoutMs`. */
export async function within<T>(promise: Promise<T>, timeoutMs: number): Promise<T | undefined> {
  const limit = new AbortController();
  const timedOut = pause(timeoutMs, limit.signal);
  try {
    return await Promise.race([promise, timedOut]);
  } finally {
    limit.abort();
  }
}
