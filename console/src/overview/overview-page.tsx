/** The overview page: figures, charts, errors, carriers and endpoints, and the first steps of a new account. */
import type { JSX } from "preact";
import { useResource } from "../lib/resource.ts";
import { replaceQuery, useAddress } from "../lib/router.tsx";
import { useInterval, useThrottled } from "../lib/timing.ts";
import { useEvents } from "../session/live.tsx";
import { useApi, useMay } from "../session/use-session.ts";
import { Loaded, Page } from "../ui/page.tsx";
import { Charts } from "./charts.tsx";
import { Checklist } from "./checklist.tsx";
import { Errors } from "./errors.tsx";
import { FailingEndpoints } from "./failing-endpoints.tsx";
import { LinkStates } from "./link-states.tsx";
import { RANGES, readRange, type RangeName } from "./ranges.ts";
import { Tiles } from "./tiles.tsx";

// Events trigger a reload, but never more often than this.
const RELOAD_MS = 2_000;
const REFRESH_MS = 15_000;

export function OverviewPage(): JSX.Element {
  const api = useApi();
  const range = readRange(useAddress().query.get("range"));
  const { interval, lengthMs } = RANGES[range];
  const usage = useResource(`usage ${range}`, (signal) =>
    api.usage.get({ interval, created_after: new Date(Date.now() - lengthMs).toISOString() }, { signal }),
  );
  const [mayReadLinks, mayReadHooks] = [useMay("links:read"), useMay("webhooks:read")];
  const queue = useResource("queue", (signal) => api.queue.get({ signal }));
  const reload = (): void => {
    usage.reload();
    queue.reload();
  };
  useEvents(useThrottled(reload, RELOAD_MS));
  useInterval(reload, REFRESH_MS);
  return (
    <Page title="Overview" actions={<RangeTabs range={range} />}>
      {mayReadLinks && <Checklist />}
      <Loaded resource={queue} lines={2}>
        {(depth) => <Tiles usage={usage.data} queue={depth} range={range} />}
      </Loaded>
      <Loaded resource={usage} lines={8}>
        {(counts) => (
          <>
            <Charts usage={counts} range={range} />
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

const RangeTabs = ({ range }: { range: RangeName }): JSX.Element => (
  <div class="tabs" role="group" aria-label="Time">
    {(Object.keys(RANGES) as RangeName[]).map((name) => (
      <button key={name} type="button" aria-pressed={name === range} onClick={() => replaceQuery(new URLSearchParams({ range: name }))}>
        {RANGES[name].title}
      </button>
    ))}
  </div>
);
