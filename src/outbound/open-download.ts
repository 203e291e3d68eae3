/** Requests of files over HTTP. As with calls, only allowed addresses are connected to, no redirect is followed, and every wait has a limit. The bytes
 *  are read as fast as they are stored, never all at once. */
import { parseBoundedUrl } from "../lib/urls.ts";
import { Client, type Dispatcher } from "undici";
import { HttpConnections } from "./http-connections.ts";
import { connectionOptions, CONNECT_MS, parseRetryAfter, type HttpClientOptions } from "./http-client.ts";
import { failureOf, type Failure } from "./failure.ts";

export type FileRequestOptions = Pick<HttpClientOptions, "gate" | "ca"> & {
  /** The longest wait for the head of the response, and for further bytes. */
  stallMs?: number;
};

/** A response of any status, whose body is not read yet. The caller closes it. */
export type Download = {
  kind: "response";
  status: number;
  /** The target of a redirect. */
  location: URL | null;
  contentLength: number | null;
  contentType: string;
  contentEncoding: string;
  retryAfterMs: number | null;
  /** Throws if the connection breaks before the end, or if it is silent for too long. */
  body: AsyncIterable<Buffer>;
  close: () => void;
};

export type DownloadFailure = { kind: "failed"; failure: Failure; error: Error };

// Carriers and their storage send without pauses.
const STALL_MS = 20_000;

/** Requests a file. Rejects never; `signal` also ends the reading of the body. */
export async function openDownload(
  { gate, ca, stallMs = STALL_MS }: FileRequestOptions,
  { url, headers }: { url: URL; headers: Readonly<Record<string, string>> },
  signal: AbortSignal,
): Promise<Download | DownloadFailure> {
  const connections = new HttpConnections({ gate, connectMs: CONNECT_MS, ca });
  const client = new Client(url.origin, {
    ...connectionOptions(stallMs),
    headersTimeout: stallMs,
    bodyTimeout: stallMs,
    connect: connections.connect,
  });
  const close = (): void => {
    void client.destroy();
    connections.close();
  };
  try {
    const response = await client.request({
      path: url.pathname + url.search,
      method: "GET",
      // The bytes are stored as they are, and a packed response could become any number of them.
      headers: { ...headers, "accept-encoding": "identity" },
      signal,
    });
    return { kind: "response", ...headOf(response, url), body: response.body, close };
  } catch (error) {
    close();
    const cause = error instanceof Error ? error : new Error("the download failed", { cause: error });
    return { kind: "failed", failure: failureOf(cause), error: cause };
  }
}

function headOf({ statusCode: status, headers }: Dispatcher.ResponseData, base: URL) {
  const length = headerOf(headers["content-length"]);
  const location = headerOf(headers["location"]);
  return {
    status,
    location: location === undefined ? null : parseBoundedUrl(wholeUrl(location, base)),
    contentType: headerOf(headers["content-type"]) ?? "",
    contentEncoding: headerOf(headers["content-encoding"]) ?? "identity",
    contentLength: length !== undefined && /^\d{1,15}$/.test(length) ? Number(length) : null,
    retryAfterMs: parseRetryAfter(headerOf(headers["retry-after"])),
  };
}

const headerOf = (value: string | string[] | undefined): string | undefined => (Array.isArray(value) ? value[0] : value);

/** A relative address in the form of a whole URL. */
function wholeUrl(location: string, { protocol, origin }: URL): string {
  if (location.startsWith("//")) return protocol + location;
  return location.startsWith("/") ? origin + location : location;
}
