/** The overview page: figures, charts, errors, carriers and endpoints, and the first steps of a new account. */
import type { JSX } from "preact";
import { useResource } from "../lib/resource.ts";
import { replaceQuery, useAddress } from "../lib/router.tsx";
import { preset, readTimeRange, withTimeRange, type TimeRange } from "../lib/time-range.ts";
import { useInterval, useThrottled } from "../lib/timing.ts";
import { toUsagePeriod, type UsagePeriod } from "../lib/usage-period.ts";
import { useEvents } from "../session/live.tsx";
import { useApi, useMay } from "../session/use-session.ts";
import { Loaded, Page } from "../ui/page.tsx";
import { TimeRangeField } from "../ui/time-range-field.tsx";
import { Charts } from "./charts.tsx";
import { Checklist } from "./checklist.tsx";
import { Errors } from "./errors.tsx";
import { FailingEndpoints } from "./failing-endpoints.tsx";
import { LinkStates } from "./link-states.tsx";
import { Tiles } from "./tiles.tsx";

// Events trigger a reload, but never more often than this.
const RELOAD_MS = 2_000;
const REFRESH_MS = 15_000;

// The bars of a chart stay wide enough to point at.
const MAX_INTERVALS = 200;

const toPeriod = (range: TimeRange): UsagePeriod => toUsagePeriod(range, { maxIntervals: MAX_INTERVALS }, Date.now());

export function OverviewPage(): JSX.Element {
  const api = useApi();
  const { query } = useAddress();
  const range = readTimeRange(query, preset("1h"));
  const { fault } = toPeriod(range);
  const usage = useResource(fault === undefined ? `usage ${JSON.stringify(range)}` : null, (signal) => {
    const { intervals: _, fault: __, ...asked } = toPeriod(range);
    return api.usage.get(asked, { signal });
  });
  const [mayReadLinks, mayReadHooks] = [useMay("links:read"), useMay("webhooks:read")];
  const queue = useResource("queue", (signal) => api.queue.get({ signal }));
  const reload = (): void => {
    usage.reload();
    queue.reload();
  };
  useEvents(useThrottled(reload, RELOAD_MS));
  useInterval(reload, REFRESH_MS);
  return (
    <Page title="Overview">
      <div class="filters">
        <TimeRangeField range={range} fault={fault} onRange={(chosen) => replaceQuery(withTimeRange(query, chosen))} />
      </div>
      {mayReadLinks && <Checklist />}
      <Loaded resource={queue} lines={2}>
        {(depth) => <Tiles usage={usage.data} queue={depth} range={range} />}
      </Loaded>
      <Loaded resource={usage} lines={8}>
        {(counts) => (
          <>
            <Charts usage={counts} />
            <div class="columns">
              <Errors usage={counts} />
              <div>
                {mayReadLinks && <LinkStates />}
                {mayReadHooks && <FailingEndpoints />}
              </div>
            </div>
          </>
        )}
      </Loaded>
    </Page>
  );
}
