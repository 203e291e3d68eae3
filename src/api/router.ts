/** Finds the row of a request by its method and path. */
import findMyWay, { type HTTPMethod } from "find-my-way";
import { Problem } from "../http/problem.ts";
import type { Exchange, Matched } from "./exchange.ts";

/** The work for the requests of one path. */
export type RoutedRow = Matched & {
  method: HTTPMethod;
  /** Checks a request before its body is read. Throws, or returns a promise, if the request is refused or has to wait. */
  admit: (exchange: Exchange) => Promise<void> | undefined;
  respond: (exchange: Exchange) => Promise<void>;
};

/** A path with a longer parameter is unknown. */
export const MAX_PARAMETER_LENGTH = 200;

/** Returns a function that finds the row of a request and reads the parameters of its path and query. Undefined: no row. Throws for a URL that
 *  cannot be decoded. */
export function createRouter(rows: readonly RoutedRow[]): (exchange: Exchange) => RoutedRow | undefined {
  const router = findMyWay({ maxParamLength: MAX_PARAMETER_LENGTH, onBadUrl: () => undefined });
  for (const row of rows) router.on(row.method === "GET" ? ["GET", "HEAD"] : row.method, row.path, () => undefined, row);
  return (exchange) => {
    const found = router.find(exchange.method as HTTPMethod, exchange.url);
    if (found === null) return undefined;
    const row = found.store as RoutedRow | null;
    if (row === null) throw new Problem("invalid_request_payload", { detail: "the URL is not valid" });
    exchange.matched = row;
    exchange.params = found.params as Readonly<Record<string, string>>;
    exchange.query = found.searchParams;
    return row;
  };
}

/** The path of a route in the form of the router: `/v1/messages/:id`. */
export const routerPath = (path: string): string => path.replaceAll(/\{(\w+)\}/g, ":$1");
