/** The list of templates. */
import type { QueryOf, Template } from "godwit-sdk";
import type { JSX } from "preact";
import { Link, replaceQuery, useAddress } from "../lib/router.tsx";
import { useDebounced } from "../lib/timing.ts";
import { useEvents } from "../session/live.tsx";
import { useApi, useMay } from "../session/use-session.ts";
import { SelectField, TextField } from "../ui/field.tsx";
import { Ago } from "../ui/moment.tsx";
import { Empty, Loaded, Page } from "../ui/page.tsx";
import { More, useList } from "../ui/pages.tsx";
import { Status } from "../ui/status.tsx";
import { Table, type Column } from "../ui/table.tsx";
import { CHANNELS } from "./template-draft.ts";

const STATUSES = ["draft", "pending", "approved", "rejected", "paused", "archived"];
const FILTERS = ["status", "channel", "name"] as const;

export function TemplatesPage(): JSX.Element {
  const api = useApi();
  const mayWrite = useMay("templates:write");
  const { query } = useAddress();
  const filters = Object.fromEntries(FILTERS.flatMap((name) => (query.get(name)?.trim() ? [[name, query.get(name)?.trim()]] : [])));
  const debouncedFilters = useDebounced(JSON.stringify(filters), 300);
  const list = useList(`templates ${debouncedFilters}`, (cursor, signal) =>
    api.templates.list(JSON.parse(debouncedFilters) as QueryOf<"listTemplates">, { signal }).page(cursor),
  );
  useEvents((events) => {
    const changed = new Map(events.flatMap(({ data: { template } }) => (template === undefined ? [] : [[template.id, template]])));
    if (changed.size === 0) return;
    list.resource.set((before) => before && { ...before, items: before.items.map((template) => changed.get(template.id) ?? template) });
  });
  return (
    <Page
      title="Templates"
      lead="Texts with variables that are checked once and sent many times. WhatsApp requires a template outside the service window."
      actions={
        mayWrite && (
          <Link class="button" to="templates/new">
            New template
          </Link>
        )
      }
    >
      <Filters query={query} />
      <section class="card" aria-label="Templates">
        <Loaded resource={list.resource}>
          {({ items, cursor }) =>
            items.length === 0 && cursor === null ? (
              <NoTemplates isFiltered={debouncedFilters !== "{}"} />
            ) : (
              <Table label="Templates" columns={COLUMNS} rows={items} keyOf={({ id }) => id} />
            )
          }
        </Loaded>
        <More list={list} />
      </section>
    </Page>
  );
}

function Filters({ query }: { query: URLSearchParams }): JSX.Element {
  const of = (name: string): string => query.get(name) ?? "";
  const set = (name: string, value: string): void => {
    const next = new URLSearchParams(query);
    if (value === "") next.delete(name);
    else next.set(name, value);
    replaceQuery(next);
  };
  const options = (all: string, words: readonly string[]): (readonly [string, string])[] => [
    ["", all],
    ...words.map((word) => [word, word] as const),
  ];
  return (
    <div class="filters" role="search" aria-label="Templates">
      <SelectField
        label="Status"
        value={of("status")}
        onValue={(value) => set("status", value)}
        options={options("Not archived", STATUSES)}
      />
      <SelectField label="Channel" value={of("channel")} onValue={(value) => set("channel", value)} options={options("Any", CHANNELS)} />
      <TextField label="Name" type="search" placeholder="exact name" value={of("name")} onValue={(value) => set("name", value)} />
    </div>
  );
}

const NoTemplates = ({ isFiltered }: { isFiltered: boolean }): JSX.Element =>
  isFiltered ? (
    <Empty title="No template matches">
      <p>The name must match exactly. To see archived templates, select the status archived.</p>
    </Empty>
  ) : (
    <Empty title="No templates yet">
      <p>
        <a href="/docs/templates">About templates</a>
      </p>
    </Empty>
  );

const COLUMNS: readonly Column<Template>[] = [
  { name: "Name", isRecord: true, cell: ({ id, name }) => <Link to={`templates/${id}`}>{name}</Link> },
  { name: "Language", cell: ({ language }) => language },
  { name: "Category", cell: ({ category }) => category },
  { name: "Channels", cell: ({ channels }) => channels.join(", ") },
  {
    name: "Status",
    cell: ({ status, status_reason: reason }) => (
      <span>
        <Status of={status} /> {reason !== null && <span class="quiet">{reason}</span>}
      </span>
    ),
  },
  { name: "Version", cell: ({ version }) => version },
  { name: "Updated", cell: ({ updated_at: updatedAt }) => <Ago iso={updatedAt} /> },
];
