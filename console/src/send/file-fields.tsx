/** The choice of a file for a message: an upload, a stored file, or a URL. */
import type { Media } from "godwit-sdk";
import type { JSX } from "preact";
import { formatAgo, formatBytes } from "../lib/format.ts";
import { useResource } from "../lib/resource.ts";
import { Link } from "../lib/router.tsx";
import type { FileDraft } from "../messages/content-draft.ts";
import { useMay, useSession } from "../session/use-session.ts";
import { kindLabel } from "../ui/content-summary.ts";
import { Field, SelectField, TextField } from "../ui/field.tsx";
import { Loaded } from "../ui/page.tsx";
import { Upload } from "../ui/upload.tsx";

type FileFieldsProps = {
  file: FileDraft;
  /** The position of the file in the request. */
  pointer: string;
  /** A template determines the kind. */
  isKindFixed?: boolean;
  faultOf: (pointer: string) => string | undefined;
  onFile: (file: FileDraft) => void;
};

const SOURCES = [
  ["upload", "Upload"],
  ["stored", "Stored file"],
  ["url", "URL"],
] as const;
const KINDS = ["image", "audio", "video", "document", "sticker"];

export function FileFields({ file, pointer, isKindFixed = false, faultOf, onFile }: FileFieldsProps): JSX.Element {
  const mayWrite = useMay("media:write");
  const { source, kind, name } = file;
  const shown = source === "upload" && !mayWrite ? "stored" : source;
  const onMedia = (media: Pick<Media, "id" | "kind" | "file_name">, from: "upload" | "stored"): void =>
    onFile({ ...file, source: from, mediaId: media.id, kind: media.kind, name: media.file_name ?? "" });
  const refused = faultOf(`${pointer}/media_id`) ?? faultOf(pointer);
  const chosenFault = refused !== undefined && file.mediaId === "" ? "Choose a file." : refused;
  return (
    <fieldset class="stack">
      <legend class="unseen">File</legend>
      <div class="tabs" role="group" aria-label="Source of the file">
        {SOURCES.filter(([one]) => one !== "upload" || mayWrite).map(([one, label]) => (
          <button key={one} type="button" class="small" aria-pressed={shown === one} onClick={() => onFile({ ...file, source: one })}>
            {label}
          </button>
        ))}
      </div>
      {shown === "upload" && (
        <>
          <Upload label="File" error={file.mediaId === "" ? chosenFault : undefined} onUploaded={(media) => onMedia(media, "upload")} />
          {file.mediaId !== "" && <Uploaded file={file} fault={chosenFault} />}
        </>
      )}
      {shown === "stored" && (
        <StoredFileField file={file} fault={chosenFault} onMedia={(media) => onMedia(media, "stored")} onFile={onFile} />
      )}
      {shown === "url" && (
        <TextField
          label="URL of the file"
          type="url"
          placeholder="https://www.example.com/offer.pdf"
          hint="The service fetches the file when the message is sent."
          value={file.url}
          onValue={(url) => onFile({ ...file, url })}
          error={faultOf(`${pointer}/url`)}
        />
      )}
      <div class="field-row">
        {!isKindFixed && (
          <SelectField
            label="Send as"
            value={kind}
            onValue={(value) => onFile({ ...file, kind: value })}
            options={KINDS.map((each) => [each, kindLabel(each)] as const)}
            error={faultOf(`${pointer}/kind`)}
          />
        )}
        {kind === "document" && (
          <TextField
            label="File name"
            isOptional
            value={name}
            onValue={(value) => onFile({ ...file, name: value })}
            error={faultOf(`${pointer}/file_name`)}
          />
        )}
      </div>
    </fieldset>
  );
}

const Uploaded = ({ file: { mediaId, name }, fault }: { file: FileDraft; fault: string | undefined }): JSX.Element => (
  <div>
    <p role="status">
      Uploaded: <Link to={`media/${mediaId}`}>{name === "" ? mediaId : name}</Link>
    </p>
    {fault !== undefined && <p class="fault">{fault}</p>}
  </div>
);

type StoredProps = {
  file: FileDraft;
  fault: string | undefined;
  onMedia: (media: Media) => void;
  onFile: (file: FileDraft) => void;
};

// A select with more is hard to use. An older file is chosen on its own page.
const MOST_LISTED = 50;

function StoredFileField({ file, fault, onMedia, onFile }: StoredProps): JSX.Element {
  const { api } = useSession();
  const mayRead = useMay("media:read");
  const files = useResource(mayRead ? "stored files" : null, async (signal) => {
    const { data } = await api.media.list({ status: "ready", limit: MOST_LISTED }, { signal }).page();
    return data;
  });
  if (!mayRead)
    return (
      <TextField
        label="Id of the file"
        placeholder="media_…"
        hint="With the scope media:read, the files are listed here."
        value={file.mediaId}
        onValue={(mediaId) => onFile({ ...file, source: "stored", mediaId })}
        error={fault}
      />
    );
  return (
    <Loaded resource={files} lines={1}>
      {(all) => (
        <Field label="Stored file" error={fault} hint={<Link to="media">All files</Link>}>
          {(control) => (
            <select
              {...control}
              value={file.mediaId}
              onChange={({ currentTarget }) => {
                const chosen = all.find(({ id }) => id === currentTarget.value);
                if (chosen !== undefined) onMedia(chosen);
              }}
            >
              <option value="">{all.length === 0 ? "No files yet" : "Choose…"}</option>
              {file.mediaId !== "" && all.every(({ id }) => id !== file.mediaId) && (
                <option value={file.mediaId}>{file.name === "" ? file.mediaId : file.name}</option>
              )}
              {all.map((each) => (
                <option key={each.id} value={each.id}>
                  {each.file_name ?? kindLabel(each.kind)} · {formatBytes(each.bytes ?? 0)} · {formatAgo(each.created_at)}
                </option>
              ))}
            </select>
          )}
        </Field>
      )}
    </Loaded>
  );
}
