/** Hooks that decide when something runs: throttled, debounced, at an interval, or on a change. */
import { useCallback, useEffect, useRef, useState } from "preact/hooks";

/** Throttles calls: runs immediately, then at most once per `everyMs`, and once at the end for the calls in between. */
export function useThrottled(run: () => void, everyMs: number): () => void {
  const latest = useRef(run);
  latest.current = run;
  const timer = useRef<number | undefined>(undefined);
  const isWaiting = useRef(false);
  useEffect(() => () => clearTimeout(timer.current), []);
  return useCallback(() => {
    if (timer.current !== undefined) {
      isWaiting.current = true;
      return;
    }
    const runNow = (): void => {
      latest.current();
      timer.current = window.setTimeout(() => {
        timer.current = undefined;
        if (!isWaiting.current) return;
        isWaiting.current = false;
        runNow();
      }, everyMs);
    };
    runNow();
  }, [everyMs]);
}

/** Returns the value after it has not changed for `afterMs`. */
export function useDebounced<T>(value: T, afterMs: number): T {
  const [debounced, setDebounced] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setDebounced(value), afterMs);
    return () => clearTimeout(timer);
  }, [value, afterMs]);
  return debounced;
}

/** Runs at an interval while the page is visible. Null stops it. */
export function useInterval(run: () => void, everyMs: number | null): void {
  const latest = useRef(run);
  latest.current = run;
  useEffect(() => {
    if (everyMs === null) return undefined;
    const timer = setInterval(() => {
      if (document.visibilityState === "visible") latest.current();
    }, everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
}

/** Runs when the value changes, but not at the first render. */
export function useOnChange(value: unknown, run: () => void): void {
  const seen = useRef(value);
  const latest = useRef(run);
  latest.current = run;
  useEffect(() => {
    if (seen.current === value) return;
    seen.current = value;
    latest.current();
  }, [value]);
}
