/** Wraps `load` so that calls within `trustMs` share one result, also while it is being loaded. */
export function remembered<T>(trustMs: number, load: () => Promise<T>): () => Promise<T> {
  let value: Promise<T> | undefined;
  let loadedAt = 0;
  return () => {
    if (value === undefined || performance.now() - loadedAt >= trustMs) {
      loadedAt = performance.now();
      value = load();
    }
    return value;
  };
}
