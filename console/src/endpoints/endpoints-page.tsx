/** The list of webhook endpoints. */
import type { WebhookEndpoint } from "godwit-sdk";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { endpointName } from "../lib/format.ts";
import { Link } from "../lib/router.tsx";
import { useInterval } from "../lib/timing.ts";
import { useApi, useMay } from "../session/use-session.ts";
import { Ago } from "../ui/moment.tsx";
import { Empty, Loaded, Page } from "../ui/page.tsx";
import { More, useList } from "../ui/pages.tsx";
import { Table, type Column } from "../ui/table.tsx";
import { AddEndpoint } from "./add-endpoint.tsx";
import { EndpointStatus, EventTypes } from "./endpoint-summary.tsx";

const PAGE = 100;
const REFRESH_MS = 10_000;

export function EndpointsPage(): JSX.Element {
  const api = useApi();
  const mayWrite = useMay("webhooks:write");
  const [isAdding, setAdding] = useState(false);
  const list = useList("endpoints", (cursor, signal) => api.webhookEndpoints.list({ limit: PAGE }, { signal }).page(cursor));
  const { data, isLoading, reload } = list.resource;
  // No event reports that an endpoint starts to fail, so the list is polled. After "Load more" it is not, so that rows stay where they are.
  useInterval(() => void (isLoading || reload()), data !== undefined && data.items.length <= PAGE ? REFRESH_MS : null);
  return (
    <Page
      title="Webhooks"
      lead="Your URLs that receive signed events. Failed deliveries are retried."
      actions={
        mayWrite && (
          <button type="button" class="primary" onClick={() => setAdding(true)}>
            Add an endpoint
          </button>
        )
      }
    >
      <section class="card" aria-label="Endpoints">
        <Loaded resource={list.resource}>
          {({ items }) =>
            items.length === 0 ? (
              <Empty title="No endpoints yet">
                <p>
                  An endpoint receives events about the status of messages, and inbound messages.{" "}
                  <a href="/docs/webhooks">About webhooks</a>
                </p>
              </Empty>
            ) : (
              <Table label="Endpoints" columns={COLUMNS} rows={items} keyOf={({ id }) => id} />
            )
          }
        </Loaded>
        <More list={list} />
      </section>
      {isAdding && <AddEndpoint onClose={() => setAdding(false)} />}
    </Page>
  );
}

const COLUMNS: readonly Column<WebhookEndpoint>[] = [
  {
    name: "URL",
    isRecord: true,
    cell: (endpoint) => (
      <Link to={`endpoints/${endpoint.id}`} class="url">
        {endpointName(endpoint)}
      </Link>
    ),
  },
  { name: "Description", cell: ({ description }) => description ?? <span class="quiet">–</span> },
  { name: "Status", cell: (endpoint) => <EndpointStatus of={endpoint} /> },
  { name: "Event types", cell: ({ event_types: types }) => <EventTypes of={types} /> },
  { name: "Created", cell: ({ created_at: at }) => <Ago iso={at} /> },
];
