/** Downloads the file behind a URL of a customer, in pieces, at the pace of the caller. Each address is checked, also those of redirects. */
import { parseBoundedUrl } from "../lib/urls.ts";
import type { AddressGate } from "./address-gate.ts";
import { failureOf } from "./failure.ts";
import { openDownload } from "./open-download.ts";

export type DownloadLimits = {
  /** The addresses that may be called; undefined for all. */
  gate: AddressGate | undefined;
  maxBytes: number;
  /** The time for everything, with redirects and all bytes. */
  timeoutMs: number;
  /** Certificates to trust instead of the system's, for tests. */
  ca?: string | undefined;
};

/** `url`: the last one, after redirects. */
export type FileBehindUrl = { url: URL; contentType: string; pieces: AsyncIterable<Buffer> };

/** Why a download is not possible, in words for the customer. */
export class DownloadFailed extends Error {
  override name = "DownloadFailed";
}

const MAX_REDIRECTS = 3;
const HEADERS = { "user-agent": "godwit", accept: "*/*" };
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

const REASONS = {
  timeout: "it took too long",
  connection_failed: "the connection failed",
  tls_failed: "the TLS connection failed",
  // One text for both: it must not reveal which names exist in the operator's network.
  address_not_allowed: "the host has no address, or none on the public internet: check its name",
  invalid_response: "the response is not valid HTTP",
} as const;

/** Runs `take` with the file. Throws `DownloadFailed`, and the errors of `take`. The file ends with `take`. */
export async function download<T>(
  address: string,
  { gate, ca, maxBytes, timeoutMs }: DownloadLimits,
  take: (file: FileBehindUrl) => Promise<T>,
): Promise<T> {
  const signal = AbortSignal.timeout(timeoutMs);
  let url = allowedUrl(address, gate);
  for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects += 1) {
    const opened = await openDownload({ gate, ca, stallMs: timeoutMs }, { url, headers: HEADERS }, signal);
    if (opened.kind === "failed") throw failed(opened.error);
    const { status, location, contentType, contentEncoding, contentLength, body, close } = opened;
    try {
      if (status === 200) {
        if (contentEncoding !== "identity") throw new DownloadFailed("the response has a content encoding");
        if ((contentLength ?? 0) > maxBytes) throw tooLarge(maxBytes);
        return await take({ url, contentType, pieces: piecesOf(body, maxBytes) });
      }
    } finally {
      close();
    }
    if (!REDIRECTS.has(status)) throw new DownloadFailed(`the server responded with the status ${status}`);
    url = allowedUrl(location?.href ?? "", gate);
  }
  throw new DownloadFailed(`the server redirected more than ${MAX_REDIRECTS} times`);
}

/** Returns why a URL is never fetched, whatever its name resolves to; undefined when it may be. */
export function downloadRefusal(address: string, gate: AddressGate | undefined): string | undefined {
  try {
    allowedUrl(address, gate);
    return undefined;
  } catch (error) {
    if (error instanceof DownloadFailed) return error.message;
    throw error;
  }
}

function allowedUrl(address: string, gate: AddressGate | undefined): URL {
  const url = parseBoundedUrl(address);
  if (url === null || !/^https?:$/.test(url.protocol)) throw new DownloadFailed("the address is no https URL");
  if (url.username !== "" || url.password !== "") throw new DownloadFailed("the address may have no user and no password");
  const refused = gate?.urlRefusal(url);
  if (refused !== undefined) throw new DownloadFailed(`the address ${refused}`);
  return url;
}

async function* piecesOf(body: AsyncIterable<Buffer>, maxBytes: number): AsyncGenerator<Buffer> {
  let bytes = 0;
  const pieces = body[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = await pieces.next().catch((error: unknown) => {
        throw failed(error);
      });
      if (next.done === true) return;
      bytes += next.value.length;
      if (bytes > maxBytes) throw tooLarge(maxBytes);
      yield next.value;
    }
  } finally {
    await pieces.return?.().catch(() => undefined);
  }
}

const tooLarge = (maxBytes: number): DownloadFailed => new DownloadFailed(`the file has more than ${maxBytes} bytes`);

function failed(error: unknown): DownloadFailed {
  const cause = error instanceof Error ? error : new Error(String(error));
  return new DownloadFailed(REASONS[failureOf(cause)], { cause });
}
