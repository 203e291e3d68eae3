/** The files of the environment: uploaded, fetched and received. */
import type { Media, QueryOf } from "godwit-sdk";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { formatBytes } from "../lib/format.ts";
import { Link, replaceQuery, useAddress } from "../lib/router.tsx";
import { useEvents, useOnStreamRestart } from "../session/live.tsx";
import { useMay, useSession } from "../session/use-session.ts";
import { kindLabel } from "../ui/content-summary.ts";
import { CopyButton } from "../ui/copy.tsx";
import { SelectField } from "../ui/field.tsx";
import { choices, FilterPanel } from "../ui/filters.tsx";
import { isPicture, useSeen } from "../ui/media-file.ts";
import { DownloadButton, ThumbOf } from "../ui/media-view.tsx";
import { Ago } from "../ui/moment.tsx";
import { Empty, Loaded, Page } from "../ui/page.tsx";
import { More, useList } from "../ui/pages.tsx";
import { Status } from "../ui/status.tsx";
import { Table, type Column } from "../ui/table.tsx";
import { Upload } from "../ui/upload.tsx";
import { DeleteMedia } from "./delete-media.tsx";
import { Source } from "./source.tsx";

const FILTERS = {
  kind: ["image", "audio", "video", "document", "sticker"],
  source: ["upload", "url", "inbound"],
  status: ["pending", "ready", "failed"],
} as const;
const NAMES = Object.keys(FILTERS) as (keyof typeof FILTERS)[];

type Query = QueryOf<"listMedia">;

const toQuery = (query: URLSearchParams): Query =>
  Object.fromEntries(NAMES.flatMap((name) => (query.get(name) ? [[name, query.get(name)]] : [])));

export function MediaPage(): JSX.Element {
  const { api } = useSession();
  const mayWrite = useMay("media:write");
  const { query } = useAddress();
  const wanted = JSON.stringify(toQuery(query));
  const [deleting, setDeleting] = useState<Media | undefined>(undefined);
  const list = useList<Media>(wanted, (cursor, signal) => api.media.list(JSON.parse(wanted) as Query, { signal }).page(cursor));
  const { resource } = list;
  useEvents((events) => {
    const changed = new Map(events.flatMap(({ data }) => (data.media === undefined ? [] : [[data.media.id, data.media]])));
    if (changed.size === 0) return;
    resource.set((before) => before && { ...before, items: before.items.map((file) => changed.get(file.id) ?? file) });
    // A file that is not shown yet has arrived meanwhile.
    if ([...changed.keys()].some((key) => resource.data?.items.every((file) => file.id !== key) === true)) resource.reload();
  });
  useOnStreamRestart(resource.reload);
  const close = (): void => setDeleting(undefined);
  const onDeleted = ({ id }: Media): void => {
    close();
    resource.set((before) => before && { ...before, items: before.items.filter((file) => file.id !== id) });
  };
  return (
    <Page title="Media" lead="Files that were uploaded, fetched and received.">
      {mayWrite && (
        <section class="card" aria-label="Upload">
          <Upload label="Upload files" hint="Choose files, or drop them here." isMultiple onUploaded={resource.reload} />
        </section>
      )}
      <Filters query={query} />
      <section class="card" aria-label="Files" aria-busy={resource.isLoading}>
        <Loaded resource={resource}>
          {({ items, cursor }) =>
            items.length === 0 && cursor === null ? (
              <NoFiles isFiltered={wanted !== "{}"} />
            ) : (
              <Table label="Files" columns={columnsOf(mayWrite, setDeleting)} rows={items} keyOf={(file) => file.id} />
            )
          }
        </Loaded>
        <More list={list} />
      </section>
      {deleting !== undefined && <DeleteMedia file={deleting} onClose={close} onDone={() => onDeleted(deleting)} />}
    </Page>
  );
}

function Filters({ query }: { query: URLSearchParams }): JSX.Element {
  const set = (name: string, value: string): void => {
    const next = new URLSearchParams(query);
    if (value === "") next.delete(name);
    else next.set(name, value);
    replaceQuery(next);
  };
  const active = NAMES.filter((name) => query.get(name));
  return (
    <FilterPanel label="Files" active={active.length}>
      {NAMES.map((name) => (
        <SelectField
          key={name}
          label={`${name.slice(0, 1).toUpperCase()}${name.slice(1)}`}
          value={query.get(name) ?? ""}
          onValue={(value) => set(name, value)}
          options={choices("Any", FILTERS[name], query.get(name) ?? "")}
        />
      ))}
    </FilterPanel>
  );
}

const NoFiles = ({ isFiltered }: { isFiltered: boolean }): JSX.Element =>
  isFiltered ? (
    <Empty title="No file matches these filters" />
  ) : (
    <Empty title="No files yet">
      <p>
        Files that you upload or send, and those that people send to you, appear here. <a href="/docs/media">About media</a>
      </p>
    </Empty>
  );

const columnsOf = (mayWrite: boolean, onDelete: (file: Media) => void): readonly Column<Media>[] => [
  {
    name: "File",
    isRecord: true,
    cell: (file) => (
      <span class="named-file">
        {isPicture(file) && file.status === "ready" && <RowThumb file={file} />}
        <Link to={`media/${file.id}`}>{file.file_name ?? kindLabel(file.kind)}</Link>
      </span>
    ),
  },
  {
    name: "Kind",
    cell: ({ kind, content_type: type }) => (
      <>
        <span class="whole">{kindLabel(kind)}</span> {type !== null && <span class="quiet">{type}</span>}
      </>
    ),
  },
  { name: "Size", isNumber: true, cell: ({ bytes }) => (bytes === null ? "–" : <span class="whole">{formatBytes(bytes)}</span>) },
  {
    name: "Status",
    cell: ({ status, error }) => (
      <>
        <Status of={status} /> {error !== null && <span class="quiet">{error.replaceAll("_", " ")}</span>}
      </>
    ),
  },
  { name: "Source", isShort: true, cell: (file) => <Source of={file} /> },
  { name: "Expires", cell: ({ expires_at: at }) => <Ago iso={at} /> },
  {
    name: "Actions",
    isAction: true,
    cell: (file) => (
      <div class="actions end file-actions">
        <CopyButton text={file.id} label="Copy id" />
        {file.status === "ready" && <DownloadButton media={file} />}
        {mayWrite && (
          <button type="button" class="small" onClick={() => onDelete(file)}>
            Delete
          </button>
        )}
      </div>
    ),
  },
];

function RowThumb({ file }: { file: Media }): JSX.Element {
  const [element, isSeen] = useSeen<HTMLSpanElement>();
  return (
    <span ref={element} class="thumb">
      {isSeen && <ThumbOf media={file} />}
    </span>
  );
}
