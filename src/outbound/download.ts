/** Downloads a file over HTTP, in pieces, at the pace of the caller. Each address is checked, also those of redirects. */
import { Agent } from "undici";
import { parseBoundedUrl } from "../lib/urls.ts";
import type { AddressGate } from "./address-gate.ts";
import { failureOf, timedOut } from "./failure.ts";
import { CONNECT_MS, connectionOptions } from "./http-client.ts";
import { HttpConnections } from "./http-connections.ts";

export type DownloadOptions = {
  /** The addresses that may be called; undefined for all. */
  gate: AddressGate | undefined;
  maxBytes: number;
  /** The time for everything, with redirects and all bytes. */
  timeoutMs: number;
  headers?: Readonly<Record<string, string>>;
  /** Certificates to trust instead of the system's, for tests. */
  ca?: string | undefined;
  signal?: AbortSignal;
};

/** `url`: the last one, after redirects. */
export type DownloadedFile = { url: URL; contentType: string; pieces: AsyncIterable<Buffer> };

/** Why a download is not possible, in words for the customer. */
export class DownloadFailed extends Error {
  override name = "DownloadFailed";
  /** The server may respond otherwise later. */
  readonly isTemporary: boolean;
  constructor(message: string, options: { cause?: unknown; isTemporary?: boolean } = {}) {
    super(message, { cause: options.cause });
    this.isTemporary = options.isTemporary ?? false;
  }
}

const MAX_REDIRECTS = 3;
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

const REASONS = {
  timeout: "it took too long",
  connection_failed: "the connection failed",
  tls_failed: "the TLS connection failed",
  address_not_allowed: "the address is not allowed",
  invalid_response: "the response is not valid HTTP",
} as const;

/** Runs `take` with the file. Throws `DownloadFailed`, and the errors of `take`. The file ends with `take`. */
export async function download<T>(address: string, options: DownloadOptions, take: (file: DownloadedFile) => Promise<T>): Promise<T> {
  const { gate, ca, timeoutMs, signal } = options;
  const limit = new AbortController();
  const end = (): void => limit.abort(timedOut("the time limit passed"));
  const timer = setTimeout(end, timeoutMs);
  signal?.addEventListener("abort", end);
  if (signal?.aborted === true) end();
  const connections = new HttpConnections({ gate, connectMs: Math.min(CONNECT_MS, timeoutMs), ca });
  const agent = new Agent({ ...connectionOptions(timeoutMs), connections: 1, connect: connections.connect });
  try {
    return await take(await open(agent, address, options, limit.signal));
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", end);
    connections.close();
    await agent.destroy();
  }
}

async function open(agent: Agent, address: string, options: DownloadOptions, signal: AbortSignal): Promise<DownloadedFile> {
  const first = allowedUrl(address, options.gate);
  let url = first;
  for (let redirects = 0; ; redirects += 1) {
    // A credential is for the first server only.
    const mine = url.origin === first.origin ? options.headers : undefined;
    // A packed response could become any number of bytes.
    const headers = { "user-agent": "godwit", accept: "*/*", "accept-encoding": "identity", ...mine };
    const request = { origin: url.origin, path: url.pathname + url.search, method: "GET", headers, signal } as const;
    const response = await agent.request(request).catch((error: unknown) => {
      throw failed(error);
    });
    const { statusCode, headers: received, body } = response;
    const header = (name: string): string | undefined => [received[name]].flat()[0];
    if (statusCode === 200) {
      if ((header("content-encoding") ?? "identity") !== "identity") throw new DownloadFailed("the response has a content encoding");
      if (Number(header("content-length") ?? 0) > options.maxBytes) throw tooLarge(options.maxBytes);
      return { url, contentType: header("content-type") ?? "", pieces: piecesOf(body, options.maxBytes) };
    }
    body.on("error", () => undefined).destroy();
    if (!REDIRECTS.has(statusCode))
      throw new DownloadFailed(`the server responded with the status ${statusCode}`, {
        isTemporary: statusCode >= 500 || statusCode === 429 || statusCode === 408,
      });
    if (redirects === MAX_REDIRECTS) throw new DownloadFailed(`the server redirected more than ${MAX_REDIRECTS} times`);
    url = allowedUrl(resolved(header("location") ?? "", url), options.gate);
  }
}

/** A relative address in the form of a whole URL. */
function resolved(location: string, base: URL): string {
  if (!location.startsWith("/") || location.startsWith("//")) return location.startsWith("//") ? base.protocol + location : location;
  return base.origin + location;
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
  const failure = failureOf(cause);
  return new DownloadFailed(REASONS[failure], { cause, isTemporary: failure !== "address_not_allowed" });
}
