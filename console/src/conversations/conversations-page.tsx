/** The conversations of the newest messages: one row for each person, with the last message. */
import type { Message } from "godwit-sdk";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { cleanNumber } from "../../../src/bulk/clean-number.ts";
import { Link, navigate, replaceQuery, useAddress } from "../lib/router.tsx";
import { useScan } from "../lib/scan.ts";
import { useEvents } from "../session/live.tsx";
import { useApi } from "../session/use-session.ts";
import { SelectField } from "../ui/field.tsx";
import { Ago } from "../ui/moment.tsx";
import { Empty, Page } from "../ui/page.tsx";
import { ContentSummary } from "../ui/quoted.tsx";
import { ScanStatus } from "../ui/scan-status.tsx";
import { Status } from "../ui/status.tsx";
import { Table, type Column } from "../ui/table.tsx";
import { mergeMessages, toConversations, type Conversation } from "./conversation.ts";

const PAGE = 100;
// 500 messages. A button reads older ones.
const MAX_PAGES = 5;

export function ConversationsPage(): JSX.Element {
  const api = useApi();
  const { query } = useAddress();
  const isReplied = query.get("show") === "replied";
  const scan = useScan<Message>("conversations", {
    fetchPage: (cursor, signal) => api.messages.list({ limit: PAGE }, { signal }).page(cursor),
    isWanted: () => true,
    maxPages: MAX_PAGES,
    maxFound: Number.POSITIVE_INFINITY,
  });
  const [changed, setChanged] = useState<readonly Message[]>([]);
  useEvents((events) => {
    const records = events.flatMap(({ data: { message } }) => message ?? []);
    // The newest are enough: a reload of the page reads the others.
    if (records.length > 0) setChanged((before) => mergeMessages(before, records).slice(-PAGE * MAX_PAGES));
  });
  const all = toConversations(mergeMessages(scan.found, changed));
  const shown = isReplied ? all.filter(({ hasInbound }) => hasInbound) : all;
  return (
    <Page title="Conversations" lead="Inbound and outbound messages by person, from the newest messages.">
      <OpenPerson />
      <div class="filters">
        <SelectField
          label="Show"
          value={isReplied ? "replied" : "all"}
          onValue={(value) => replaceQuery(new URLSearchParams(value === "replied" ? { show: value } : {}))}
          options={[
            ["all", "All"],
            ["replied", "With inbound messages"],
          ]}
        />
      </div>
      <section class="card" aria-label="Conversations" aria-busy={scan.isRunning}>
        <ScanStatus scan={scan} item="message" isSearch={false} />
        {shown.length > 0 && <Table label="Conversations" columns={COLUMNS} rows={shown} keyOf={({ person }) => person} />}
        {shown.length === 0 && !scan.isRunning && (
          <Empty title={isReplied && all.length > 0 ? "No person has written" : "No conversations yet"}>
            <p>
              Messages to and from a person appear here. <a href="/docs/inbound">About inbound messages</a>
            </p>
          </Empty>
        )}
      </section>
    </Page>
  );
}

/** Opens the conversation with a person, also one that is not in the list. */
function OpenPerson(): JSX.Element {
  const [text, setText] = useState("");
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    const person = cleanNumber(text.trim().replace(/^00/, "+"));
    if (person !== "") navigate(`conversations/${encodeURIComponent(person)}`);
  };
  return (
    <form class="search" role="search" aria-label="Open a conversation" onSubmit={submit}>
      <input
        type="search"
        aria-label="Number or user id of the person"
        placeholder="+14155550123"
        autoComplete="off"
        value={text}
        onInput={({ currentTarget }) => setText(currentTarget.value)}
      />
      <button type="submit">Open</button>
    </form>
  );
}

const COLUMNS: readonly Column<Conversation>[] = [
  {
    name: "Person",
    isRecord: true,
    cell: ({ person }) => (
      <Link to={`conversations/${encodeURIComponent(person)}`} class="strong">
        {person}
      </Link>
    ),
  },
  {
    name: "Last message",
    cell: ({ newest }) => (
      <span class="excerpt">
        {newest.direction === "outbound" && <span class="quiet">You: </span>}
        <ContentSummary message={newest} />
      </span>
    ),
  },
  { name: "Status", cell: ({ newest }) => <Status of={newest.status} /> },
  { name: "Channel", isShort: true, cell: ({ newest }) => newest.channel },
  { name: "Messages", isNumber: true, cell: ({ messages }) => messages },
  { name: "When", cell: ({ newest }) => <Ago iso={newest.created_at} /> },
];
