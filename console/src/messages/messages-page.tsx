/** The list of messages, newest first, updated by events. */
import type { Message } from "godwit-sdk";
import type { JSX } from "preact";
import { useRef, useState } from "preact/hooks";
import { Link, replaceQuery, useAddress } from "../lib/router.tsx";
import { useDebounced } from "../lib/timing.ts";
import { useEvents, useLiveState, useOnStreamRestart } from "../session/live.tsx";
import { useApi, useMay } from "../session/use-session.ts";
import { Empty, Loaded, Page } from "../ui/page.tsx";
import { More, useList, type List, type Listed } from "../ui/pages.tsx";
import { Table } from "../ui/table.tsx";
import { ExportMessages } from "./export-messages.tsx";
import { asPartOfNumber, matches, readFilters, toQuery, type Filters, type MessageQuery } from "./filters.ts";
import { merge, newestRecords } from "./live-messages.ts";
import { COLUMNS } from "./message-columns.tsx";
import { MessageFilters } from "./message-filters.tsx";
import { SearchedMessages } from "./searched-messages.tsx";

const MAX_HELD = 500;

export function MessagesPage(): JSX.Element {
  const api = useApi();
  const maySend = useMay("messages:send");
  const { query } = useAddress();
  const filters = readFilters(query);
  const debouncedText = useDebounced(JSON.stringify(filters), 250);
  const [isPaused, setPaused] = useState(false);
  const [isExporting, setExporting] = useState(false);
  const wanted = JSON.parse(debouncedText) as Filters;
  const toCurrentQuery = (): MessageQuery => toQuery(wanted, Date.now());
  const isWanted = (message: Message): boolean => matches(message, toCurrentQuery());
  // Messages from events that arrive while a request is running may be newer than its response.
  const arrivedMeanwhile = useRef<Message[]>([]);
  const withArrivedMeanwhile = (_known: unknown, read: Listed<Message>): Listed<Message> =>
    merge(read, arrivedMeanwhile.current.splice(0), isWanted);
  const list = useList<Message>(
    wanted.search === undefined ? debouncedText : null,
    (cursor, signal) => api.messages.list({ ...toCurrentQuery(), limit: 50 }, { signal }).page(cursor),
    withArrivedMeanwhile,
  );
  useEvents((events) => {
    if (isPaused) return;
    const records = newestRecords(events);
    if (list.resource.isLoading) arrivedMeanwhile.current = [...arrivedMeanwhile.current, ...records].slice(-MAX_HELD);
    if (records.length > 0) list.resource.set((shown) => shown && merge(shown, records, isWanted));
  });
  useOnStreamRestart(() => {
    if (!isPaused) list.resource.reload();
  });
  const onPause = (): void => {
    if (isPaused) list.resource.reload();
    setPaused(!isPaused);
  };
  return (
    <Page
      title="Messages"
      actions={
        <>
          {wanted.search === undefined && <LiveButton isPaused={isPaused} onPause={onPause} onReload={list.resource.reload} />}
          <button type="button" onClick={() => setExporting(true)}>
            Export CSV
          </button>
          {maySend && (
            <Link to="send" class="button">
              Send a message
            </Link>
          )}
        </>
      }
    >
      <MessageFilters filters={filters} />
      {wanted.search === undefined ? <LiveList list={list} filters={wanted} /> : <SearchedMessages filters={wanted} text={wanted.search} />}
      {isExporting && <ExportMessages filters={wanted} onClose={() => setExporting(false)} />}
    </Page>
  );
}

const LiveList = ({ list, filters }: { list: List<Message>; filters: Filters }): JSX.Element => (
  <section class="card" aria-label="Messages" aria-busy={list.resource.isLoading}>
    <Loaded resource={list.resource} lines={8}>
      {({ items, cursor }) =>
        items.length === 0 ? (
          <NoMessages filters={filters} hasMore={cursor !== null} />
        ) : (
          <Table label="Messages" columns={COLUMNS} rows={items} keyOf={({ id }) => id} />
        )
      }
    </Loaded>
    <More list={list} />
  </section>
);

function LiveButton({ isPaused, onPause, onReload }: { isPaused: boolean; onPause: () => void; onReload: () => void }): JSX.Element {
  const live = useLiveState();
  if (live === "off")
    return (
      <button type="button" onClick={onReload}>
        Refresh
      </button>
    );
  return (
    <button type="button" aria-pressed={isPaused} onClick={onPause}>
      {isPaused ? "Resume" : "Pause"}
    </button>
  );
}

function NoMessages({ filters, hasMore }: { filters: Filters; hasMore: boolean }): JSX.Element {
  if (Object.keys(filters).length === 0)
    return (
      <Empty title="No messages yet">
        <p>Messages that are sent through the API or the console appear here.</p>
      </Empty>
    );
  return (
    <Empty title={hasMore ? "No match among the newest messages" : "No message matches these filters"}>
      <p>
        {hasMore
          ? "A search reads a limited number of messages at a time. Load more to search older ones."
          : "Change or remove the filters."}
      </p>
      <div class="actions">
        {filters.recipient !== undefined && (
          <button type="button" onClick={() => replaceQuery(asPartOfNumber(filters))}>
            Search for numbers with {filters.recipient}
          </button>
        )}
        <button type="button" onClick={() => replaceQuery(new URLSearchParams())}>
          Remove the filters
        </button>
      </div>
    </Empty>
  );
}
