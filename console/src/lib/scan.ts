/** Reads a list of the API page by page, newest first, up to a limit. For searches and exports that the API has no filter for. */
import { useCallback, useEffect, useRef, useState } from "preact/hooks";

type Page<T> = { data: readonly T[]; next_cursor: string | null };
type FetchPage<T> = (cursor: string | undefined, signal: AbortSignal) => PromiseLike<Page<T>>;

type ScanProgress<T> = {
  found: readonly T[];
  /** The number of items read so far. */
  read: number;
  isRunning: boolean;
  /** Whether there are items that have not been read. */
  hasMore: boolean;
  error: unknown;
};

export type Scan<T> = ScanProgress<T> & { stop: () => void; continue: () => void };

type ScanOptions<T> = {
  fetchPage: FetchPage<T>;
  isWanted: (item: T) => boolean;
  /** The scan pauses after so many pages. A page of a filtered list may be short. */
  maxPages: number;
  /** The scan pauses after so many found items. */
  maxFound: number;
};

const START = { found: [], read: 0, isRunning: true, hasMore: true, error: undefined } as const;

/** Starts a scan whenever `key` changes. It pauses at its limits, on `stop` and on an error; `continue` reads on from there. */
export function useScan<T>(key: string, options: ScanOptions<T>): Scan<T> {
  const [progress, setProgress] = useState<ScanProgress<T>>(START);
  const latest = useRef(options);
  latest.current = options;
  const cursor = useRef<string | undefined>(undefined);
  const running = useRef<AbortController | undefined>(undefined);

  const start = useCallback(async (): Promise<void> => {
    const leaving = new AbortController();
    running.current?.abort();
    running.current = leaving;
    const update = (change: (before: ScanProgress<T>) => ScanProgress<T>): void => {
      if (!leaving.signal.aborted) setProgress(change);
    };
    update((before) => ({ ...before, isRunning: true, error: undefined }));
    try {
      for (let [pages, found] = [1, 0]; !leaving.signal.aborted; pages += 1) {
        const page = await latest.current.fetchPage(cursor.current, leaving.signal);
        if (leaving.signal.aborted) return;
        const wanted = page.data.filter((item) => latest.current.isWanted(item));
        found += wanted.length;
        cursor.current = page.next_cursor ?? undefined;
        const hasMore = page.next_cursor !== null;
        const isRunning = hasMore && pages < latest.current.maxPages && found < latest.current.maxFound;
        update((before) => ({ ...before, found: [...before.found, ...wanted], read: before.read + page.data.length, hasMore, isRunning }));
        if (!isRunning) return;
      }
    } catch (error) {
      update((before) => ({ ...before, isRunning: false, error }));
    }
  }, []);

  const stop = useCallback(() => {
    running.current?.abort();
    setProgress((before) => ({ ...before, isRunning: false }));
  }, []);

  useEffect(() => {
    cursor.current = undefined;
    setProgress(START);
    void start();
    return () => running.current?.abort();
  }, [key, start]);

  return { ...progress, stop, continue: () => void start() };
}
