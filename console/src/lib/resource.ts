/** Something that is fetched for a component: on the way, there, or not to be had. */
import { useCallback, useEffect, useRef, useState } from "preact/hooks";

export type Resource<T> = {
  /** The last answer; it stays while the next one is on its way. */
  data: T | undefined;
  error: unknown;
  isLoading: boolean;
  reload: () => void;
  /** Puts in place what is known by another way: an answer to a change, or an event. */
  set: (change: (data: T | undefined) => T | undefined) => void;
};

type State<T> = { data: T | undefined; error: unknown; isLoading: boolean };

/** Fetched anew whenever `key` changes; null fetches nothing. What was asked for by an earlier key is dropped. */
export function useResource<T>(key: string | null, fetchIt: (signal: AbortSignal) => PromiseLike<T>): Resource<T> {
  const [state, setState] = useState<State<T>>({ data: undefined, error: undefined, isLoading: key !== null });
  const [turn, setTurn] = useState(0);
  const latest = useRef(fetchIt);
  latest.current = fetchIt;
  const shownKey = useRef(key);

  useEffect(() => {
    const isOther = shownKey.current !== key;
    shownKey.current = key;
    if (key === null) {
      setState({ data: undefined, error: undefined, isLoading: false });
      return undefined;
    }
    const leaving = new AbortController();
    setState((before) => ({ data: isOther ? undefined : before.data, error: undefined, isLoading: true }));
    const load = async (): Promise<void> => {
      try {
        const data = await latest.current(leaving.signal);
        if (!leaving.signal.aborted) setState({ data, error: undefined, isLoading: false });
      } catch (error) {
        if (!leaving.signal.aborted) setState((before) => ({ ...before, error, isLoading: false }));
      }
    };
    void load();
    return () => leaving.abort();
  }, [key, turn]);

  const reload = useCallback(() => setTurn((before) => before + 1), []);
  const set = useCallback(
    (change: (data: T | undefined) => T | undefined) => setState((before) => ({ ...before, data: change(before.data) })),
    [],
  );
  return { ...state, reload, set };
}

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
    const turn = (): void => {
      latest.current();
      timer.current = window.setTimeout(() => {
        timer.current = undefined;
        if (!isWaiting.current) return;
        isWaiting.current = false;
        turn();
      }, everyMs);
    };
    turn();
  }, [everyMs]);
}

/** The value, once it has not changed for so long. */
export function useSettled<T>(value: T, afterMs: number): T {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), afterMs);
    return () => clearTimeout(timer);
  }, [value, afterMs]);
  return settled;
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

/** The value; while there is none, the last one that was there. */
export function useLast<T>(value: T | undefined): T | undefined {
  const last = useRef(value);
  if (value !== undefined) last.current = value;
  return last.current;
}
