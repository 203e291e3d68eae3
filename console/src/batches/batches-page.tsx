/** The batches of the newest messages. The API has no list of batches, so the page finds them by their messages. */
import type { Batch, Message } from "godwit-sdk";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { formatCount } from "../lib/format.ts";
import { useResource } from "../lib/resource.ts";
import { Link, navigate } from "../lib/router.tsx";
import { useScan } from "../lib/scan.ts";
import { useInterval } from "../lib/timing.ts";
import { useApi } from "../session/use-session.ts";
import { Ago } from "../ui/moment.tsx";
import { Empty, Loaded, Page } from "../ui/page.tsx";
import { ScanStatus } from "../ui/scan-status.tsx";
import { Status } from "../ui/status.tsx";
import { Table, type Column } from "../ui/table.tsx";
import { BatchProgress } from "./batch-progress.tsx";
import { batchIdsOf } from "./batch.ts";

const PAGE = 100;
// 1,000 messages. A button reads older ones.
const MAX_PAGES = 10;
// Each batch costs one request.
const MAX_BATCHES = 20;
const REFRESH_MS = 5_000;

export function BatchesPage(): JSX.Element {
  const api = useApi();
  const scan = useScan<Message>("batches", {
    fetchPage: (cursor, signal) => api.messages.list({ limit: PAGE }, { signal }).page(cursor),
    isWanted: ({ batch_id: id }) => id !== null,
    maxPages: MAX_PAGES,
    maxFound: Number.POSITIVE_INFINITY,
  });
  const ids = batchIdsOf(scan.found).slice(0, MAX_BATCHES);
  const batches = useResource(ids.length === 0 ? null : ids.join(" "), (signal) =>
    Promise.all(ids.map((id) => api.batches.get(id, { signal }))),
  );
  useInterval(batches.reload, batches.data?.some(({ status }) => status !== "completed") === true ? REFRESH_MS : null);
  return (
    <Page
      title="Batches"
      lead={
        <>
          Up to {formatCount(MAX_BATCHES)} batches of the newest messages. <a href="/docs/batches">How to send a batch</a>
        </>
      }
    >
      <OpenBatch />
      <section class="card" aria-label="Batches" aria-busy={scan.isRunning || batches.isLoading}>
        <ScanStatus scan={scan} item="message" isSearch={false} />
        {ids.length === 0 && !scan.isRunning && <Empty title="No batch among the newest messages" />}
        {ids.length > 0 && (
          <Loaded resource={batches}>{(rows) => <Table label="Batches" columns={COLUMNS} rows={rows} keyOf={({ id }) => id} />}</Loaded>
        )}
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
  { name: "Batch", cell: ({ id }) => <Link to={`batches/${id}`}>{id}</Link> },
  { name: "Status", cell: ({ status }) => <Status of={status} /> },
  { name: "Finished", cell: (batch) => <BatchProgress batch={batch} /> },
  { name: "Refused", isNumber: true, cell: ({ refused }) => formatCount(refused) },
  { name: "Created", cell: ({ created_at: at }) => <Ago iso={at} /> },
];
