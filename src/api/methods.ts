/** Which methods a path takes: for requests that found no route. */
import { METHODS } from "node:http";

/** As the router reads it. */
export function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

/** Which methods a path takes: off the hot path, so by trying each pattern. */
export function methodTable(rows: readonly { method: string; path: string }[]): (path: string) => string[] {
  const patterns = rows.map(({ method, path }) => ({
    method,
    pattern: new RegExp(`^${path.replaceAll(".", "\\.").replaceAll(/\{\w+\}/g, "[^/]+")}$`),
  }));
  return (path) => {
    const methods = new Set(patterns.filter(({ pattern }) => pattern.test(path)).map(({ method }) => method));
    if (methods.has("GET")) methods.add("HEAD");
    return METHODS.filter((method) => methods.has(method)).toSorted();
  };
}
