/** Opens files at carriers that serve them over HTTP. Credentials go only to origins that the carrier owns, not to storage that it redirects to. */
import { NOT_ALLOWED, type AddressGate } from "../outbound/address-gate.ts";
import { openDownload, type Download, type DownloadFailure } from "../outbound/open-download.ts";
import { causeOf } from "../outbound/failure.ts";
import { parseBoundedUrl } from "../lib/urls.ts";

/** Why a file of an inbound message cannot be downloaded now. `isPermanent`: the carrier would refuse it again. */
export type FileFailure = { kind: "failed"; reason: FileFailureReason; isPermanent: boolean; detail: string };

/** `media_expired`: the carrier does not have the file any more. `media_refused`: the carrier or the rules of the link refuse the download. */
type FileFailureReason = "media_expired" | "media_refused" | "media_unreachable";

/** A file at a carrier that is being read. The reader ends it by `close`, also after an error. */
export type OpenFile = {
  kind: "open";
  /** The size, if the carrier names it. */
  bytes: number | null;
  /** The bytes, in pieces of any size. Throws if the connection breaks before the end. */
  read(): AsyncIterable<Buffer>;
  close(): void;
};

type FileSource = {
  gate?: AddressGate | undefined;
  ca?: string | undefined;
  headers: Readonly<Record<string, string>>;
  /** Whether an origin gets the headers. */
  isTrusted: (url: URL) => boolean;
};

const MAX_REDIRECTS = 3;

export const failedFile = (reason: FileFailureReason, isPermanent: boolean, detail: string): FileFailure => ({
  kind: "failed",
  reason,
  isPermanent,
  detail,
});

/** A URL that carriers wrote, if it may be called: with TLS, or at an origin that is trusted. Null for others. */
export function fileUrl(text: unknown, isTrusted: FileSource["isTrusted"]): URL | null {
  const url = typeof text === "string" ? parseBoundedUrl(text) : null;
  if (url === null || url.username !== "" || url.password !== "") return null;
  return url.protocol === "https:" || (url.protocol === "http:" && isTrusted(url)) ? url : null;
}

export async function openUrl(source: FileSource, first: URL, signal: AbortSignal): Promise<OpenFile | FileFailure> {
  let url = first;
  for (let hop = 0; hop <= MAX_REDIRECTS; hop += 1) {
    const headers = source.isTrusted(url) ? source.headers : {};
    const response = await openDownload(source, { url, headers }, signal);
    if (response.kind === "failed") return unreachable(response);
    if (response.status === 200) return toOpenFile(response);
    response.close();
    const { status, location } = response;
    if (status < 300 || status >= 400 || status === 304) return refusedFile(status);
    const next = location && fileUrl(location.href, source.isTrusted);
    if (!next) return failedFile("media_refused", true, "the carrier redirects to an address that may not be called");
    url = next;
  }
  return failedFile("media_unreachable", false, "the carrier redirects too often");
}

const toOpenFile = ({ contentLength, body, close }: Download): OpenFile => ({
  kind: "open",
  bytes: contentLength,
  read: () => body,
  close,
});

function unreachable({ error, failure }: DownloadFailure): FileFailure {
  const isBarred = (error as NodeJS.ErrnoException).code === NOT_ALLOWED;
  return isBarred
    ? failedFile("media_refused", true, "the address of the file may not be called")
    : failedFile("media_unreachable", false, `${failure}: ${causeOf(error)}`);
}

/** A refusal of the credential may end: an operator replaces the token of a link within a day. */
export function refusedFile(status: number, detail = `the carrier responded with ${status}`): FileFailure {
  if (status === 404 || status === 410) return failedFile("media_expired", true, detail);
  if (status === 401 || status === 403) return failedFile("media_refused", false, detail);
  return failedFile("media_unreachable", false, detail);
}

/** A file on its way to a carrier. */
export type OutgoingMedia = {
  /** The stored file, which several media may have. */
  file: string;
  contentType: string;
  bytes: number;
  fileName: string | null;
  /** The bytes, in pieces of any size. */
  read(): AsyncIterable<Buffer>;
  /** An URL of the file for carriers that fetch it, below our public origin. It expires, and opens nothing else. */
  urlBelow(origin: string): string;
  /** The id that the carrier has given to the file in an account of ours, while it lasts. */
  uploadedTo(carrierAccount: string): Promise<string | undefined>;
  uploaded(carrierAccount: string, carrierFile: string, expiresAtMs: number): Promise<void>;
};
