/** A paginated list: the first page, and further pages on request. */
import type { JSX } from "preact";
import { useAction, type Action } from "../lib/action.ts";
import { useResource, type Resource } from "../lib/resource.ts";
import { Problem } from "./problem.tsx";

export type Listed<T> = { items: readonly T[]; cursor: string | null };
type Page<T> = { data: readonly T[]; next_cursor: string | null };

/** A list of one record, for the page of a single resource that is shown like the others. */
export const singlePage = <T,>(item: T): Page<T> => ({ data: [item], next_cursor: null });

export type List<T> = { resource: Resource<Listed<T>>; more: Action<[]> };

/** Fetches a list. `fetchPage` gets the cursor of the page, or undefined for the first page. */
export function useList<T>(
  key: string | null,
  fetchPage: (cursor: string | undefined, signal: AbortSignal) => PromiseLike<Page<T>>,
  pick?: (known: Listed<T> | undefined, read: Listed<T>) => Listed<T>,
): List<T> {
  const toListed = ({ data, next_cursor: cursor }: Page<T>): Listed<T> => ({ items: data, cursor });
  const resource = useResource(key, async (signal) => toListed(await fetchPage(undefined, signal)), pick);
  const more = useAction(async () => {
    const cursor = resource.data?.cursor;
    if (typeof cursor !== "string") return;
    const next = toListed(await fetchPage(cursor, AbortSignal.timeout(60_000)));
    // The list may have changed or been reloaded while this page was loading.
    resource.set((before) => (before?.cursor === cursor ? { items: [...before.items, ...next.items], cursor: next.cursor } : before));
  });
  return { resource, more };
}

export function More<T>({ list: { resource, more } }: { list: List<T> }): JSX.Element | null {
  if (typeof resource.data?.cursor !== "string") return null;
  return (
    <div class="more">
      <Problem error={more.error} />
      <button type="button" onClick={() => void more.run()} disabled={more.isRunning}>
        {more.isRunning ? "Loading…" : "Load more"}
      </button>
    </div>
  );
}
