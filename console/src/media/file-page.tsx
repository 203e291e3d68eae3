/** The page of one file: its preview and its record. */
import type { Media } from "godwit-sdk";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { formatBytes } from "../lib/format.ts";
import { Link, navigate } from "../lib/router.tsx";
import { useMay } from "../session/use-session.ts";
import { kindLabel } from "../ui/content-summary.ts";
import { CopyButton } from "../ui/copy.tsx";
import { Facts } from "../ui/facts.tsx";
import { useMedia } from "../ui/media-file.ts";
import { DownloadButton, StoredFile } from "../ui/media-view.tsx";
import { Moment } from "../ui/moment.tsx";
import { Loaded, Page } from "../ui/page.tsx";
import { CreatedBy } from "../ui/resource-link.tsx";
import { Status } from "../ui/status.tsx";
import { DeleteMedia } from "./delete-media.tsx";
import { Source } from "./source.tsx";

export function FilePage({ id }: { id: string }): JSX.Element {
  const resource = useMedia(id);
  const { data: file } = resource;
  return (
    <Page title={file?.file_name ?? "File"} lead={<Link to="media">All files</Link>} actions={file && <FileActions file={file} />}>
      <Loaded resource={resource}>
        {(shown) => (
          <div class="columns">
            <section class="card" aria-label="Preview">
              <h2>Preview</h2>
              <StoredFile media={shown} label={kindLabel(shown.kind)} />
            </section>
            <section class="card" aria-label="Record">
              <h2>Record</h2>
              <Facts rows={factsOf(shown)} />
            </section>
          </div>
        )}
      </Loaded>
    </Page>
  );
}

function FileActions({ file }: { file: Media }): JSX.Element {
  const mayWrite = useMay("media:write");
  const maySend = useMay("messages:send") && file.status === "ready";
  const [isDeleting, setDeleting] = useState(false);
  return (
    <>
      {mayWrite && (
        <button type="button" onClick={() => setDeleting(true)}>
          Delete
        </button>
      )}
      {maySend && (
        <Link class="button" to="send" query={new URLSearchParams({ media: file.id })}>
          Send this file
        </Link>
      )}
      {isDeleting && <DeleteMedia file={file} onClose={() => setDeleting(false)} onDone={() => navigate("media")} />}
    </>
  );
}

const factsOf = (file: Media): Parameters<typeof Facts>[0]["rows"] => [
  [
    "Id",
    <>
      <code>{file.id}</code> <CopyButton text={file.id} label="Copy id" />
    </>,
  ],
  ["Status", <Status of={file.status} />],
  ["Error", file.error?.replaceAll("_", " ")],
  ["Kind", kindLabel(file.kind)],
  ["Type", file.content_type],
  ["Size", file.bytes !== null && formatBytes(file.bytes)],
  ["SHA-256", file.sha256 !== null && <code>{file.sha256}</code>],
  ["Source", <Source of={file} />],
  ["Created", <Moment iso={file.created_at} />],
  ["Created by", file.created_by !== null && <CreatedBy by={file.created_by} />],
  ["Expires", <Moment iso={file.expires_at} />],
  ["File", file.status === "ready" && <DownloadButton media={file} />],
];
