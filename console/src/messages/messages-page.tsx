/** The list of messages, newest first, updated by events. */
import type { Message } from "godwit-sdk";
import type { JSX } from "preact";
import { useRef, useState } from "preact/hooks";
import { Link, replaceQuery, useAddress } from "../lib/router.tsx";
import { useDebounced } from "../lib/timing.ts";
import { useEvents, useLiveState, useOnStreamRestart } from "../session/live.tsx";
import { useApi, useMay } from "../session/use-session.ts";
import { MessageErrorCode } from "../ui/error-code.tsx";
import { Ago } from "../ui/moment.tsx";
import { Empty, Loaded, Page } from "../ui/page.tsx";
import { More, useList, type Listed } from "../ui/pages.tsx";
import { Status } from "../ui/status.tsx";
import { Table, type Column } from "../ui/table.tsx";
import { matches, rangeOf, readFilters, toQuery, type Filters, type MessageQuery } from "./filters.ts";
import { merge, newestRecords } from "./live-messages.ts";
import { MessageFilters } from "./message-filters.tsx";

const MAX_HELD = 500;

export function MessagesPage(): JSX.Element {
  const api = useApi();
  const maySend = useMay("messages:send");
  const { query } = useAddress();
  const filters = readFilters(query);
  const debouncedText = useDebounced(JSON.stringify(filters), 250);
  const [isPaused, setPaused] = useState(false);
  const wanted = JSON.parse(debouncedText) as Filters;
  const toCurrentQuery = (): MessageQuery => toQuery(wanted, rangeOf(wanted), Date.now());
  const isWanted = (message: Message): boolean => matches(message, toCurrentQuery());
  // Messages from events that arrive while a request is running may be newer than its response.
  const arrivedMeanwhile = useRef<Message[]>([]);
  const withArrivedMeanwhile = (_known: unknown, read: Listed<Message>): Listed<Message> =>
    merge(read, arrivedMeanwhile.current.splice(0), isWanted);
  const list = useList<Message>(
    debouncedText,
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
          <LiveButton isPaused={isPaused} onPause={onPause} onReload={list.resource.reload} />
          {maySend && (
            <Link to="send" class="button">
              Send a message
            </Link>
          )}
        </>
      }
    >
      <MessageFilters filters={filters} />
      <section class="card" aria-label="Messages" aria-busy={list.resource.isLoading}>
        <Loaded resource={list.resource} lines={8}>
          {({ items, cursor }) =>
            items.length === 0 ? (
              <NoMessages isFiltered={Object.keys(filters).length > 0} hasMore={cursor !== null} />
            ) : (
              <Table label="Messages" columns={COLUMNS} rows={items} keyOf={({ id }) => id} />
            )
          }
        </Loaded>
        <More list={list} />
      </section>
    </Page>
  );
}

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

function NoMessages({ isFiltered, hasMore }: { isFiltered: boolean; hasMore: boolean }): JSX.Element {
  if (!isFiltered)
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
      <button type="button" onClick={() => replaceQuery(new URLSearchParams())}>
        Remove the filters
      </button>
    </Empty>
  );
}

const COLUMNS: readonly Column<Message>[] = [
  {
    name: "Recipient",
    cell: ({ id, direction, recipient, sender }) => (
      <Link to={`messages/${id}`} class="strong">
        {direction === "inbound" ? `from ${sender ?? "unknown"}` : recipient}
      </Link>
    ),
  },
  { name: "Status", cell: ({ status }) => <Status of={status} /> },
  { name: "Error", cell: ({ error }) => (error === null ? <span class="quiet">–</span> : <MessageErrorCode code={error.code} />) },
  { name: "Text", cell: ({ body }) => <span class="excerpt">{body === null ? <span class="quiet">–</span> : excerpt(body)}</span> },
  { name: "Channel", cell: ({ channel }) => channel },
  {
    name: "Reference",
    cell: ({ client_reference: reference }) => (reference === null ? <span class="quiet">–</span> : excerpt(reference)),
  },
  { name: "Created", cell: ({ created_at: at }) => <Ago iso={at} /> },
];

const MAX_SHOWN = 80;

/** Shortens the text between two characters, never within one. */
const excerpt = (text: string): string => {
  const characters = [...text];
  return characters.length <= MAX_SHOWN ? text : `${characters.slice(0, MAX_SHOWN).join("")}…`;
};
