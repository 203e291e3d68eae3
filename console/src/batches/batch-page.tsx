/** The page of one batch: its progress, and its results by status. */
import type { Batch } from "godwit-sdk";
import type { JSX } from "preact";
import { formatCount, formatPercent } from "../lib/format.ts";
import { useResource } from "../lib/resource.ts";
import { Link } from "../lib/router.tsx";
import { useInterval, useThrottled } from "../lib/timing.ts";
import { useEvents } from "../session/live.tsx";
import { useApi } from "../session/use-session.ts";
import { CopyButton } from "../ui/copy.tsx";
import { Facts } from "../ui/facts.tsx";
import { Moment } from "../ui/moment.tsx";
import { Empty, Loaded, Page } from "../ui/page.tsx";
import { Status } from "../ui/status.tsx";
import { Table, type Column } from "../ui/table.tsx";
import { BatchProgress } from "./batch-progress.tsx";

const RELOAD_MS = 1_000;
// Also without events: a batch is found to be complete some seconds after its last message.
const REFRESH_MS = 5_000;

export function BatchPage({ id }: { id: string }): JSX.Element {
  const api = useApi();
  const batch = useResource(id, (signal) => api.batches.get(id, { signal }));
  const reload = useThrottled(batch.reload, RELOAD_MS);
  useEvents((events) => {
    if (events.some(({ data }) => data.message?.batch_id === id || data.batch?.id === id)) reload();
  });
  useInterval(batch.reload, batch.data !== undefined && batch.data.status !== "completed" ? REFRESH_MS : null);
  return (
    <Page title="Batch" lead={<Link to="batches">All batches</Link>}>
      <Loaded resource={batch}>
        {(shown) => (
          <div class="columns">
            <Progress batch={shown} />
            <Results batch={shown} />
          </div>
        )}
      </Loaded>
    </Page>
  );
}

const Progress = ({ batch }: { batch: Batch }): JSX.Element => (
  <section class="card" aria-label="Progress">
    <div class="card-head">
      <h2>Progress</h2>
      <p role="status">
        <Status of={batch.status} />
      </p>
    </div>
    <Facts
      rows={[
        [
          "Id",
          <>
            <code>{batch.id}</code> <CopyButton text={batch.id} />
          </>,
        ],
        ["Finished", <BatchProgress batch={batch} />],
        ["Items", formatCount(batch.total)],
        ["Accepted", formatCount(batch.accepted)],
        ["Refused", formatCount(batch.refused)],
        ["Created", <Moment iso={batch.created_at} />],
        ["Completed", batch.completed_at !== null && <Moment iso={batch.completed_at} />],
      ]}
    />
    {batch.refused > 0 && (
      <p class="hint">The reasons of refused items are in the response to the request that sent the batch. They are not stored.</p>
    )}
  </section>
);

type Result = { status: string; messages: number; share: number; batchId: string };

function Results({ batch }: { batch: Batch }): JSX.Element {
  const rows = Object.entries(batch.statuses)
    .map(([status, messages]): Result => ({ status, messages, share: messages / Math.max(1, batch.accepted), batchId: batch.id }))
    .toSorted((a, b) => b.messages - a.messages);
  return (
    <section class="card" aria-label="Results">
      <div class="card-head">
        <h2>Results</h2>
        <Link to="messages" query={new URLSearchParams({ batch_id: batch.id })}>
          All messages
        </Link>
      </div>
      {rows.length === 0 ? (
        <Empty title="No item was accepted" />
      ) : (
        <Table label="Results" columns={COLUMNS} rows={rows} keyOf={({ status }) => status} isNarrow />
      )}
    </section>
  );
}

const COLUMNS: readonly Column<Result>[] = [
  { name: "Status", cell: ({ status }) => <Status of={status} /> },
  {
    name: "Messages",
    isNumber: true,
    cell: ({ status, messages, batchId }) => (
      <Link to="messages" query={new URLSearchParams({ batch_id: batchId, status })}>
        {formatCount(messages)}
      </Link>
    ),
  },
  { name: "Share", isNumber: true, cell: ({ share }) => formatPercent(share) },
];
