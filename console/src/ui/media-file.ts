/** Hooks for files of the media store: their records, which follow the download of an inbound file, and their bytes. */
import type { Godwit, Media } from "godwit-sdk";
import { useEffect, useRef, useState } from "preact/hooks";
import type { RefObject } from "preact";
import { useResource, type Resource } from "../lib/resource.ts";
import { useEvents, useLiveState, useOnStreamRestart } from "../session/live.tsx";
import { useInterval } from "../lib/timing.ts";
import { useMay, useSession } from "../session/use-session.ts";

const POLL_MS = 5_000;

/** The types that the browser may show, and the element that does. None has active content, and a Blob has no other type than one of these: the
 *  browser runs nothing, whatever the bytes are. */
const SHOWN_TYPES: Readonly<Record<string, "picture" | "audio" | "video">> = {
  "image/jpeg": "picture",
  "image/png": "picture",
  "image/gif": "picture",
  "image/webp": "picture",
  "audio/mpeg": "audio",
  "audio/aac": "audio",
  "audio/mp4": "audio",
  "audio/ogg": "audio",
  "video/mp4": "video",
  "video/3gpp": "video",
};

/** How a file is shown. A picture that is sent as a document is one. */
export const elementOf = ({ kind, content_type: type }: Media): "picture" | "audio" | "video" | "document" =>
  kind === "document" || type === null ? "document" : (SHOWN_TYPES[type] ?? "document");

export const isPicture = ({ content_type: type }: Media): boolean => SHOWN_TYPES[type ?? ""] === "picture";

const EXTENSIONS: Readonly<Record<string, string>> = { jpeg: "jpg", mpeg: "mp3", "3gpp": "3gp" };

/** The name under which a file is saved. */
export function saveNameOf({ id, file_name: name, content_type: type }: Media): string {
  if (name !== null) return name;
  const [, subtype = ""] = (type ?? "").split("/");
  const isKnown = SHOWN_TYPES[type ?? ""] !== undefined || subtype === "pdf";
  return isKnown ? `${id}.${EXTENSIONS[subtype] ?? subtype}` : id;
}

/** The later of two records: an event may bring the file while an earlier record is on its way. */
const later = (known: Media | undefined, read: Media): Media => (known !== undefined && known.status !== "pending" ? known : read);

/** Fetches the record of a file, and follows its download. Null fetches nothing. */
export function useMedia(id: string | null): Resource<Media> {
  const { api } = useSession();
  const mayRead = useMay("media:read");
  const resource = useResource(mayRead ? id : null, (signal) => api.media.get(id ?? "", { signal }), later);
  const isPending = resource.data?.status === "pending";
  useEvents((events) => {
    for (const { data } of events) if (data.media !== undefined && data.media.id === id) resource.set(() => data.media);
  });
  useOnStreamRestart(() => {
    if (isPending) resource.reload();
  });
  const isLive = useLiveState() === "live";
  useInterval(resource.reload, isPending && !isLive ? POLL_MS : null);
  return resource;
}

export const bytesOf = async (api: Godwit, id: string, signal?: AbortSignal): Promise<Blob> =>
  new Response(await api.media.download(id, { signal })).blob();

/** Fetches the bytes of a file and gives them an address in this page, which ends with the component. Null fetches nothing. */
export function useFileUrl(file: Media | null): { url: string | undefined; error: unknown; reload: () => void } {
  const { api } = useSession();
  const type = file?.content_type ?? "";
  const isAllowed = file !== null && SHOWN_TYPES[type] !== undefined;
  const { data, error, reload } = useResource(isAllowed ? file.id : null, async (signal) => {
    const bytes = await bytesOf(api, file?.id ?? "", signal);
    return bytes.slice(0, bytes.size, type);
  });
  const [url, setUrl] = useState<string | undefined>(undefined);
  useEffect(() => {
    if (data === undefined) return undefined;
    const made = URL.createObjectURL(data);
    setUrl(made);
    return () => {
      setUrl(undefined);
      URL.revokeObjectURL(made);
    };
  }, [data]);
  return { url, error, reload };
}

// A picture is fetched a little before it is scrolled into view.
const MARGIN = "200px";

/** Whether an element was visible once. */
export function useSeen<T extends Element>(): [RefObject<T | null>, boolean] {
  const element = useRef<T>(null);
  const [isSeen, setSeen] = useState(false);
  useEffect(() => {
    if (element.current === null || isSeen) return undefined;
    const observer = new IntersectionObserver((entries) => entries.some(({ isIntersecting }) => isIntersecting) && setSeen(true), {
      rootMargin: MARGIN,
    });
    observer.observe(element.current);
    return () => observer.disconnect();
  }, [isSeen]);
  return [element, isSeen];
}
