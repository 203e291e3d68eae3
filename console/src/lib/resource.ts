/** A hook that fetches data for a component, with its state: loading, loaded or failed. */
import { ApiError, GodwitError } from "godwit-sdk";
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { useInterval } from "./timing.ts";

export type Resource<T> = {
  /** The last response. It stays while the next one is loading. */
  data: T | undefined;
  error: unknown;
  isLoading: boolean;
  reload: () => void;
  /** Replaces the data with a newer state from another source: the response to a change, or an event. */
  set: (change: (data: T | undefined) => T | undefined) => void;
};

type State<T> = { data: T | undefined; error: unknown; isLoading: boolean };

const RETRY_MS = 8_000;

/** Whether a later attempt may succeed: after no response, too many requests, a conflict, or a failure of the service. */
export const isRetryable = (error: unknown): boolean =>
  error instanceof ApiError ? error.status >= 500 || error.status === 429 || error.status === 409 : error instanceof GodwitError;

type Load = () => Promise<void>;

const pickRead = <T>(_known: T | undefined, read: T): T => read;

/** Fetches whenever `key` changes; null fetches nothing. A response for an earlier key is dropped. `pick` chooses between the known data
 *  and the response, because an event may have brought newer data while the request was running. */
export function useResource<T>(
  key: string | null,
  fetchData: (signal: AbortSignal) => PromiseLike<T>,
  pick: (known: T | undefined, read: T) => T = pickRead,
): Resource<T> {
  const [state, setState] = useState<State<T>>({ data: undefined, error: undefined, isLoading: key !== null });
  const latest = useRef({ fetchData, pick });
  latest.current = { fetchData, pick };
  const shownKey = useRef(key);
  const current = useRef<Load | undefined>(undefined);

  useEffect(() => {
    const isOther = shownKey.current !== key;
    shownKey.current = key;
    setState((before) => (isOther || key === null ? { data: undefined, error: undefined, isLoading: key !== null } : before));
    if (key === null) return undefined;
    const leaving = new AbortController();
    const end = (change: (before: State<T>) => State<T>): void => {
      if (!leaving.signal.aborted) setState(change);
    };
    const load = oneAtATime(async () => {
      end((before) => ({ ...before, isLoading: true }));
      try {
        const read = await latest.current.fetchData(leaving.signal);
        end(({ data }) => ({ data: latest.current.pick(data, read), error: undefined, isLoading: false }));
      } catch (error) {
        end((before) => ({ ...before, error, isLoading: false }));
      }
    });
    current.current = load;
    void load();
    return () => {
      current.current = undefined;
      leaving.abort();
    };
  }, [key]);

  const reload = useCallback(() => void current.current?.(), []);
  useInterval(reload, isRetryable(state.error) ? RETRY_MS : null);
  const set = useCallback(
    (change: (data: T | undefined) => T | undefined) => setState((before) => ({ ...before, data: change(before.data) })),
    [],
  );
  return { ...state, reload, set };
}

/** Runs the work one at a time. All calls during a run cause one further run, so that frequent calls cannot starve the responses. */
function oneAtATime(work: Load): Load {
  let isBusy = false;
  let isRequestedAgain = false;
  return async () => {
    isRequestedAgain = isBusy;
    if (isBusy) return;
    isBusy = true;
    do {
      isRequestedAgain = false;
      await work();
    } while (isRequestedAgain as boolean);
    isBusy = false;
  };
}

/** Returns the value, or the last defined one while it is undefined. */
export function useLastDefined<T>(value: T | undefined): T | undefined {
  const last = useRef(value);
  if (value !== undefined) last.current = value;
  return last.current;
}
