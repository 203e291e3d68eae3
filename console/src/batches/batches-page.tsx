/** The list of batches. */
import type { Batch, QueryOf } from "godwit-sdk";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { formatCount } from "../lib/format.ts";
import { Link, navigate, replaceQuery, useAddress } from "../lib/router.tsx";
import { useInterval } from "../lib/timing.ts";
import { useApi } from "../session/use-session.ts";
import { SelectField } from "../ui/field.tsx";
import { choices } from "../ui/filters.tsx";
import { Ago } from "../ui/moment.tsx";
import { Empty, Loaded, Page } from "../ui/page.tsx";
import { More, useList } from "../ui/pages.tsx";
import { Status } from "../ui/status.tsx";
import { Table, type Column } from "../ui/table.tsx";
import { BatchProgress } from "./batch-progress.tsx";

const STATUSES = ["processing", "completed"];
const REFRESH_MS = 5_000;

export function BatchesPage(): JSX.Element {
  const api = useApi();
  const status = useAddress().query.get("status") ?? "";
  const filter = (status === "" ? {} : { status }) as QueryOf<"listBatches">;
  const list = useList(`batches ${status}`, (cursor, signal) => api.batches.list(filter, { signal }).page(cursor));
  const isWorking = list.resource.data?.items.some((batch) => batch.status !== "completed") === true;
  useInterval(list.resource.reload, isWorking ? REFRESH_MS : null);
  return (
    <Page
      title="Batches"
      lead={
        <>
          Up to 1,000 messages in one request. <a href="/docs/batches">How to send a batch</a>
        </>
      }
    >
      <OpenBatch />
      <div class="filters" role="search" aria-label="Batches">
        <SelectField
          label="Status"
          value={status}
          onValue={(value) => replaceQuery(new URLSearchParams(value === "" ? {} : { status: value }))}
          options={choices("Any", STATUSES)}
        />
      </div>
      <section class="card" aria-label="Batches">
        <Loaded resource={list.resource}>
          {({ items, cursor }) =>
            items.length === 0 && cursor === null ? (
              <Empty title={status === "" ? "No batches yet" : "No batch matches"} />
            ) : (
              <Table label="Batches" columns={COLUMNS} rows={items} keyOf={({ id }) => id} />
            )
          }
        </Loaded>
        <More list={list} />
      </section>
    </Page>
  );
}

/** Opens a batch by its id, also one that is not in the list. */
function OpenBatch(): JSX.Element {
  const [id, setId] = useState("");
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    if (id.trim() !== "") navigate(`batches/${encodeURIComponent(id.trim())}`);
  };
  return (
    <form class="search" role="search" aria-label="Open a batch" onSubmit={submit}>
      <input
        type="search"
        aria-label="Id of the batch"
        placeholder="batch_…"
        autoComplete="off"
        value={id}
        onInput={({ currentTarget }) => setId(currentTarget.value)}
      />
      <button type="submit">Open</button>
    </form>
  );
}

const COLUMNS: readonly Column<Batch>[] = [
  { name: "Batch", isRecord: true, cell: ({ id }) => <Link to={`batches/${id}`}>{id}</Link> },
  { name: "Status", cell: ({ status }) => <Status of={status} /> },
  { name: "Finished", cell: (batch) => <BatchProgress batch={batch} /> },
  { name: "Refused", isNumber: true, cell: ({ refused }) => formatCount(refused) },
  { name: "Created", cell: ({ created_at: at }) => <Ago iso={at} /> },
];
