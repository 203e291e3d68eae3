/** The audit log: who changed what in this environment and in the account as a whole, newest first. */
import type { JSX } from "preact";
import { replaceQuery, useAddress } from "../lib/router.tsx";
import { useDebounced } from "../lib/timing.ts";
import { useApi, useSession } from "../session/use-session.ts";
import { Empty, Loaded, Page } from "../ui/page.tsx";
import { More, useList } from "../ui/pages.tsx";
import { Table } from "../ui/table.tsx";
import { COLUMNS } from "./audit-columns.tsx";
import { AuditFilters, readFilters, toQuery, type Filters } from "./audit-filters.tsx";

export function AuditPage(): JSX.Element {
  const api = useApi();
  const { identity } = useSession();
  const { query } = useAddress();
  const filters = readFilters(query);
  const debouncedText = useDebounced(JSON.stringify(filters), 300);
  const list = useList(`audit ${debouncedText}`, (cursor, signal) =>
    api.auditEvents.list({ ...toQuery(JSON.parse(debouncedText) as Filters, Date.now()), limit: 50 }, { signal }).page(cursor),
  );
  return (
    <Page
      title="Audit log"
      lead={`Changes in ${identity.environment} and in the account as a whole, newest first. An entry never has a secret, a text or a phone number.`}
      actions={
        <button type="button" onClick={list.resource.reload}>
          Refresh
        </button>
      }
    >
      <AuditFilters filters={filters} />
      <section class="card" aria-label="Audit log" aria-busy={list.resource.isLoading}>
        <Loaded resource={list.resource} lines={8}>
          {({ items, cursor }) =>
            items.length === 0 ? (
              <NoEntries isFiltered={debouncedText !== "{}"} hasMore={cursor !== null} />
            ) : (
              <Table label="Audit log" columns={COLUMNS} rows={items} keyOf={({ id }) => id} />
            )
          }
        </Loaded>
        <More list={list} />
      </section>
    </Page>
  );
}

function NoEntries({ isFiltered, hasMore }: { isFiltered: boolean; hasMore: boolean }): JSX.Element {
  if (!isFiltered)
    return (
      <Empty title="No changes yet">
        <p>Changes of keys, endpoints, templates, suppressions and messages appear here.</p>
      </Empty>
    );
  return (
    <Empty title={hasMore ? "None among the newest" : "No entry matches these filters"}>
      <p>{hasMore ? "A search reads a limited number of entries at a time. Load more to search older ones." : "Widen or remove them."}</p>
      <button type="button" onClick={() => replaceQuery(new URLSearchParams())}>
        Remove the filters
      </button>
    </Empty>
  );
}
