/** The request log: the API requests of the last seven days in this environment, newest first. */
import type { LoggedRequest } from "godwit-sdk";
import type { JSX } from "preact";
import { Link, replaceQuery, useAddress } from "../lib/router.tsx";
import { useDebounced } from "../lib/timing.ts";
import { useApi, useSession } from "../session/use-session.ts";
import { ErrorCode } from "../ui/error-code.tsx";
import { Path } from "../ui/id.tsx";
import { Moment } from "../ui/moment.tsx";
import { Empty, Loaded, Page } from "../ui/page.tsx";
import { More, useList } from "../ui/pages.tsx";
import { ResourceLink } from "../ui/resource-link.tsx";
import { ResponseStatus } from "../ui/status.tsx";
import { Table, type Column } from "../ui/table.tsx";
import { readFilters, RequestFilters, toQuery, type Filters } from "./request-filters.tsx";

const COLUMNS: readonly Column<LoggedRequest>[] = [
  { name: "Time", cell: ({ created_at: at }) => <Moment iso={at} /> },
  {
    name: "Request",
    isRecord: true,
    cell: ({ id, method, path }) => (
      <Link to={`requests/${id}`}>
        <code>
          {method}&nbsp;
          <Path of={path} />
        </code>
      </Link>
    ),
  },
  { name: "Status", cell: ({ status }) => <ResponseStatus of={status} /> },
  { name: "Error", cell: ({ code }) => (code === null ? <span class="quiet">–</span> : <ErrorCode code={code} />), isShort: true },
  { name: "Key", cell: ({ key }) => <ResourceLink type="key" id={key.id} name={key.name ?? undefined} /> },
  { name: "Took", cell: ({ duration_ms: ms }) => `${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms`, isShort: true },
];

export function RequestsPage(): JSX.Element {
  const api = useApi();
  const { identity } = useSession();
  const { query } = useAddress();
  const debouncedText = useDebounced(JSON.stringify(readFilters(query)), 300);
  const list = useList(`requests ${debouncedText}`, (cursor, signal) =>
    api.requests.list({ ...toQuery(JSON.parse(debouncedText) as Filters, Date.now()), limit: 50 }, { signal }).page(cursor),
  );
  return (
    <Page
      title="Requests"
      lead={
        <>
          The API requests of the last seven days in {identity.environment}, newest first. Recipients and texts are masked.{" "}
          <a href="/docs/http#request-log">What the log keeps</a>
        </>
      }
      actions={
        <button type="button" onClick={list.resource.reload}>
          Refresh
        </button>
      }
    >
      <RequestFilters filters={readFilters(query)} />
      <section class="card" aria-label="Requests" aria-busy={list.resource.isLoading}>
        <Loaded resource={list.resource} lines={8}>
          {({ items, cursor }) =>
            items.length === 0 ? (
              <NoRequests isFiltered={debouncedText !== "{}"} hasMore={cursor !== null} />
            ) : (
              <Table label="Requests" columns={COLUMNS} rows={items} keyOf={({ id }) => id} />
            )
          }
        </Loaded>
        <More list={list} />
      </section>
    </Page>
  );
}

function NoRequests({ isFiltered, hasMore }: { isFiltered: boolean; hasMore: boolean }): JSX.Element {
  if (!isFiltered)
    return (
      <Empty title="No requests yet">
        <p>A request with a key of this environment appears here about a second after its response.</p>
      </Empty>
    );
  return (
    <Empty title={hasMore ? "None among the newest" : "No request matches these filters"}>
      <p>{hasMore ? "A search reads a limited number of requests at a time. Load more to search older ones." : "Widen or remove them."}</p>
      <button type="button" onClick={() => replaceQuery(new URLSearchParams())}>
        Remove the filters
      </button>
    </Empty>
  );
}
