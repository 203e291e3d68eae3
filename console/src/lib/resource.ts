/** Something that is fetched for a component: on the way, there, or not to be had. */
import { ApiError, GodwitError } from "godwit-sdk";
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { useInterval } from "./timing.ts";

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

const RETRY_MS = 8_000;

/** No answer, too many requests, or a service that is not itself: of another time there is another answer. */
export const isRetryable = (error: unknown): boolean =>
  error instanceof ApiError ? error.status >= 500 || error.status === 429 || error.status === 409 : error instanceof GodwitError;

type Load = () => Promise<void>;

const pickRead = <T>(_known: T | undefined, read: T): T => read;

/** Fetched anew whenever `key` changes; null fetches nothing. What was asked for by an earlier key is dropped. `pick` chooses between what is known
 *  and what was read, where something newer may have come while that was on its way. */
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

/** One at a time: what is asked for meanwhile is done once, afterwards. Who asks more often than there are answers gets one answer after another. */
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

/** The value; while there is none, the last one that was there. */
export function useLastDefined<T>(value: T | undefined): T | undefined {
  const last = useRef(value);
  if (value !== undefined) last.current = value;
  return last.current;
}
