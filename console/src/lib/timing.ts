/** Hooks that decide when something runs: throttled, debounced, at an interval, or on a change. */
import { useCallback, useEffect, useRef, useState } from "preact/hooks";

/** Calls at once, then no more often than so, and once more at the end for what came meanwhile. */
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

/** The value, once it has not changed for so long. */
export function useDebounced<T>(value: T, afterMs: number): T {
  const [debounced, setDebounced] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setDebounced(value), afterMs);
    return () => clearTimeout(timer);
  }, [value, afterMs]);
  return debounced;
}

/** Runs again and again while the page is looked at. */
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

/** Runs whenever a value has become another, and not the first time. */
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
