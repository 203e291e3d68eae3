/** A file of a message: a picture, a recording or a video in the page, and a download for all other files. */
import { ApiError, type Media } from "godwit-sdk";
import type { ComponentChildren, JSX } from "preact";
import { useState } from "preact/hooks";
import { useAction } from "../lib/action.ts";
import { download } from "../lib/download.ts";
import { formatBytes } from "../lib/format.ts";
import { isRetryable } from "../lib/resource.ts";
import { useMay, useSession } from "../session/use-session.ts";
import { kindLabel, type FileReference } from "./content-summary.ts";
import { Dialog } from "./dialog.tsx";
import { bytesOf, elementOf, isPicture, saveNameOf, useFileUrl, useMedia, useSeen } from "./media-file.ts";
import { ErrorCode } from "./error-code.tsx";

// A larger recording or video is fetched when the user wants it.
const MOST_UNASKED = 1_048_576;

export function MediaView({ file, isVoice = false }: { file: FileReference; isVoice?: boolean | undefined }): JSX.Element {
  const [element, isSeen] = useSeen<HTMLDivElement>();
  const label = kindLabel(file.kind, isVoice);
  return (
    <div ref={element} class="file">
      {isSeen ? <SeenFile file={file} label={label} /> : <FileNote label={label}>…</FileNote>}
    </div>
  );
}

function SeenFile({ file: { media_id: id, file_name: fileName, kind }, label }: { file: FileReference; label: string }): JSX.Element {
  const mayRead = useMay("media:read");
  const { data: media, error, reload } = useMedia(id === "" ? null : id);
  // The message gives a file its name and its kind.
  const named = media && { ...media, kind, file_name: fileName ?? media.file_name };
  if (named !== undefined) return <StoredFile media={named} label={label} />;
  if (id === "") return <FileNote label={label}>{fileName}</FileNote>;
  if (!mayRead)
    return (
      <FileNote label={label}>
        To see it, the key needs the scope <code>media:read</code>.
      </FileNote>
    );
  if (error !== undefined) return <Unreadable label={label} error={error} onRetry={reload} />;
  return <FileNote label={label}>Loading…</FileNote>;
}

/** A file with its record. */
export function StoredFile({ media, label }: { media: Media; label: string }): JSX.Element {
  if (media.status === "pending") return <FileNote label={label}>The file is being downloaded from the carrier…</FileNote>;
  if (media.status !== "ready")
    return (
      <FileNote label={label} isBad>
        The file could not be downloaded from the carrier{media.error !== null && <>: {media.error.replaceAll("_", " ")}</>}.
      </FileNote>
    );
  const element = elementOf(media);
  if (element === "picture") return <Picture media={media} label={label} />;
  if (element === "document") return <Document media={media} label={label} />;
  return <Player media={media} label={label} isVideo={element === "video"} />;
}

/** A text in the place of a file. */
const FileNote = ({ label, isBad = false, children }: { label: string; isBad?: boolean; children?: ComponentChildren }): JSX.Element => (
  <p class={isBad ? "file-note bad" : "file-note"} role="status">
    <strong>{label}</strong> {children}
  </p>
);

function Unreadable({ label, error, onRetry }: { label: string; error: unknown; onRetry: () => void }): JSX.Element {
  const code = error instanceof ApiError ? error.code : undefined;
  return (
    <FileNote label={label} isBad>
      {code === "not_found" ? "The file was deleted." : "The file could not be loaded."}{" "}
      {code !== undefined && code !== "not_found" && <ErrorCode code={code} />}
      {isRetryable(error) && (
        <button type="button" class="small" onClick={onRetry}>
          Retry
        </button>
      )}
    </FileNote>
  );
}

/** The words for a picture. Its caption stands beside it. */
const altOf = ({ file_name: name }: Media, label: string): string => (name === null ? label : `${label} ${name}`);

function Picture({ media, label }: { media: Media; label: string }): JSX.Element {
  const { url, error, reload } = useFileUrl(media);
  const [isBroken, setBroken] = useState(false);
  const [isOpen, setOpen] = useState(false);
  if (error !== undefined) return <Unreadable label={label} error={error} onRetry={reload} />;
  if (isBroken)
    return (
      <>
        <FileNote label={label}>The browser cannot show this picture.</FileNote>
        <Document media={media} label={label} />
      </>
    );
  if (url === undefined) return <FileNote label={label}>Loading…</FileNote>;
  const alt = altOf(media, label);
  return (
    <>
      <button type="button" class="picture" onClick={() => setOpen(true)} aria-label={`${alt}: show in full size`}>
        <img src={url} alt={alt} decoding="async" onError={() => setBroken(true)} />
      </button>
      {isOpen && (
        <Dialog title={alt} onClose={() => setOpen(false)}>
          <img class="whole-picture" src={url} alt={alt} />
          <div class="actions end">
            <DownloadButton media={media} />
            <button type="button" onClick={() => setOpen(false)}>
              Close
            </button>
          </div>
        </Dialog>
      )}
    </>
  );
}

function Player({ media, label, isVideo }: { media: Media; label: string; isVideo: boolean }): JSX.Element {
  const [isWanted, setWanted] = useState((media.bytes ?? 0) <= MOST_UNASKED);
  const [isBroken, setBroken] = useState(false);
  const { url, error, reload } = useFileUrl(isWanted ? media : null);
  if (error !== undefined) return <Unreadable label={label} error={error} onRetry={reload} />;
  if (!isWanted)
    return (
      <button type="button" class="small" onClick={() => setWanted(true)}>
        Load the {label.toLowerCase()} ({formatBytes(media.bytes ?? 0)})
      </button>
    );
  if (isBroken)
    return (
      <>
        <FileNote label={label}>The browser cannot play this file.</FileNote>
        <Document media={media} label={label} />
      </>
    );
  if (url === undefined) return <FileNote label={label}>Loading…</FileNote>;
  const attributes = { controls: true, src: url, "aria-label": altOf(media, label), onError: () => setBroken(true) };
  // oxlint-disable-next-line jsx-a11y/media-has-caption -- A person has recorded it: there are no captions.
  return isVideo ? <video class="player" {...attributes} /> : <audio class="player" {...attributes} />;
}

function Document({ media, label }: { media: Media; label: string }): JSX.Element {
  return (
    <div class="document">
      <p>
        <strong>{media.file_name ?? label}</strong>{" "}
        <span class="quiet">
          {media.content_type} · {formatBytes(media.bytes ?? 0)}
        </span>
      </p>
      <DownloadButton media={media} />
    </div>
  );
}

/** Saves a file. It is never opened: a document may have active content. */
export function DownloadButton({ media }: { media: Media }): JSX.Element {
  const { api } = useSession();
  const name = saveNameOf(media);
  const action = useAction(async () => download(name, [await bytesOf(api, media.id)], "application/octet-stream"));
  return (
    <>
      <button type="button" class="small" onClick={() => void action.run()} disabled={action.isRunning} aria-label={`Download ${name}`}>
        {action.isRunning ? "Loading…" : "Download"}
      </button>
      {action.error !== undefined && <span class="fault">The file could not be loaded.</span>}
    </>
  );
}

// A list has many pictures, each in full size.
const MOST_OF_THUMB = 1_048_576;

/** A small picture of a list. Nothing for other files, and for a key that may not read files. */
export function Thumb({ file }: { file: FileReference }): JSX.Element {
  const [element, isSeen] = useSeen<HTMLSpanElement>();
  const mayRead = useMay("media:read");
  return (
    <span ref={element} class="thumb">
      {isSeen && mayRead && <SeenThumb id={file.media_id} />}
    </span>
  );
}

function SeenThumb({ id }: { id: string }): JSX.Element | null {
  const { data } = useMedia(id);
  return data === undefined || data.status !== "ready" || (data.bytes ?? 0) > MOST_OF_THUMB ? null : <ThumbOf media={data} />;
}

/** The words beside a thumb describe it. */
export function ThumbOf({ media }: { media: Media }): JSX.Element | null {
  const { url } = useFileUrl(isPicture(media) ? media : null);
  const [isBroken, setBroken] = useState(false);
  return url === undefined || isBroken ? null : <img src={url} alt="" decoding="async" onError={() => setBroken(true)} />;
}
