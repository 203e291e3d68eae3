/** The endpoints that fail or that failures have disabled. */
import type { WebhookEndpoint } from "godwit-sdk";
import type { JSX } from "preact";
import { endpointName } from "../lib/format.ts";
import { useResource } from "../lib/resource.ts";
import { Link } from "../lib/router.tsx";
import { take } from "../lib/take.ts";
import { useInterval } from "../lib/timing.ts";
import { useApi } from "../session/use-session.ts";
import { Ago } from "../ui/moment.tsx";
import { Empty, Loaded } from "../ui/page.tsx";
import { Status } from "../ui/status.tsx";

const REFRESH_MS = 10_000;
const MAX_ENDPOINTS = 1_000;

/** Whether the endpoint fails. An endpoint that was disabled on request is not a failure. */
const isInTrouble = ({ failing_since: since, status, disabled_reason: reason }: WebhookEndpoint): boolean =>
  since !== null || (status === "disabled" && reason !== "requested");

export function FailingEndpoints(): JSX.Element {
  const api = useApi();
  const endpoints = useResource("endpoints", (signal) => take(api.webhookEndpoints.list({ limit: 100 }, { signal }), MAX_ENDPOINTS));
  useInterval(endpoints.reload, REFRESH_MS);
  return (
    <section class="card" aria-label="Failing endpoints">
      <div class="card-head">
        <h2>Failing endpoints</h2>
        <Link to="endpoints">All</Link>
      </div>
      <Loaded resource={endpoints} lines={2}>
        {(all) => {
          const failing = all.filter(isInTrouble);
          if (failing.length === 0) return <Empty title={all.length === 0 ? "No endpoints" : "No failing endpoints"} />;
          return (
            <ul class="plain-list">
              {failing.map((endpoint) => (
                <li key={endpoint.id}>
                  <Link to={`endpoints/${endpoint.id}`}>{endpointName(endpoint)}</Link>
                  {endpoint.status === "disabled" ? (
                    <Status of="disabled" />
                  ) : (
                    endpoint.failing_since !== null && <FailingSince iso={endpoint.failing_since} />
                  )}
                </li>
              ))}
            </ul>
          );
        }}
      </Loaded>
    </section>
  );
}

const FailingSince = ({ iso }: { iso: string }): JSX.Element => (
  <span>
    <Status of="failing" /> <Ago iso={iso} />
  </span>
);
