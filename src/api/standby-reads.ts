/** Serves the routes that may lag from a standby of the database (decision 0080). Every other route reads from the primary. */
import type { Registry } from "prom-client";
import type { Served, Standby } from "../database/standby.ts";
import { metricsIn } from "../lib/metrics.ts";
import { markOf, markPage } from "./paging.ts";
import type { Route, RouteResponse } from "./route.ts";

/** `routes` and `onStandby` are the same rows, on the two databases. */
export const preferStandby = (routes: readonly Route[], onStandby: readonly Route[], standby: Standby): Route[] =>
  routes.map((row, index) => {
    const same = onStandby[index];
    return row.mayLag === true && same !== undefined ? { ...row, handle: eitherOf(row, same, standby) } : row;
  });

/** The pages after the first one come from the server of the first one. Another one may lack the rows between the last row of the page and the first
 *  row that it has itself, and the page after a page of the primary would leave out these rows. The primary lacks nothing. */
function eitherOf(row: Route, onStandby: Route, standby: Standby): Route["handle"] {
  return async (call) => {
    const { cursor } = call.query as { cursor?: string | null };
    const { server } = standby;
    const isOurs = typeof cursor !== "string" || markOf(cursor)?.equals(server.mark) === true;
    const found = isOurs ? await standby.read(server, () => onStandby.handle(call) as Promise<RouteResponse>) : undefined;
    if (found === undefined) return row.handle(call);
    return { ...found.value, body: markPage(found.value.body, server.mark) };
  };
}

/** Counts the reads, and watches the standby. Returns the function that counts a read. */
export function watchStandby(registry: Registry, standby: () => Standby): (by: Served) => void {
  const { counter, gauge } = metricsIn(registry);
  const reads = counter(
    "godwit_standby_reads_total",
    "Reads that a standby may serve, by the server that has served them: standby, primary, or repeated: the primary, after the standby failed.",
    { server: ["standby", "primary", "repeated"] },
  );
  gauge("godwit_standby_up", "1 while reads use the standby.", () => (standby().isUsable ? 1 : 0), { aggregator: "min" });
  gauge(
    "godwit_standby_lag_seconds",
    "Time for which the standby may have been without a commit of the primary. At most a second more than its lag.",
    () => standby().lagMs / 1_000,
    { aggregator: "max" },
  );
  return (by) => reads.inc({ server: by });
}
