/** Calls to a carrier's HTTP API, with limits on connections, bytes and time. The outcome says exactly whether bytes may have left.
 *  No redirect is followed, and no request is sent twice. */
import type { LookupFunction } from "node:net";
import { Pool, type Dispatcher } from "undici";
import { connectionError, EarlyConnector } from "./early-connector.ts";

export type HttpRequest = { path: string; headers: Readonly<Record<string, string>>; body: string; method?: "GET" | "POST" | "PUT" };
export type HttpCall = Omit<HttpRequest, "body" | "method"> & { method: "GET" | "POST" | "PUT" | "DELETE"; body?: string };

export type HttpResponse = {
  kind: "response";
  status: number;
  retryAfterMs: number | null;
  text: string;
};

export type HttpOutcome =
  | HttpResponse
  /** There was no connection to write to, so nothing has left. */
  | { kind: "unreachable"; cause: string }
  /** Bytes may have left, and no response came. */
  | { kind: "no_response"; cause: string };

export type HttpCallerOptions = {
  baseUrl: string;
  connections: number;
  timeoutMs: number;
  /** The part of a response body that is read; the rest is discarded. */
  maxBodyBytes?: number;
  /** Looks up the carrier's address, if the owner of the link may not connect to every network. */
  lookup?: LookupFunction | undefined;
};

const CONNECT_TIMEOUT_MS = 5_000;
// Shorter than servers keep an idle connection: a request on a connection that the server just closes has an unknown outcome.
const IDLE_MS = 10_000;
const MAX_HEADER_BYTES = 16_384;
// The response to a message has a few hundred bytes.
const MAX_BODY_BYTES = 65_536;

export class HttpCaller {
  readonly #pool: Pool;
  readonly #prefix: string;
  readonly #timeoutMs: number;
  readonly #maxBodyBytes: number;
  readonly #connector: EarlyConnector;

  constructor({ baseUrl, connections, timeoutMs, maxBodyBytes = MAX_BODY_BYTES, lookup }: HttpCallerOptions) {
    const url = new URL(baseUrl);
    const { origin, pathname } = url;
    this.#connector = new EarlyConnector(url, { timeoutMs: CONNECT_TIMEOUT_MS, idleMs: IDLE_MS, lookup });
    this.#prefix = pathname.replace(/\/+$/, "");
    this.#timeoutMs = timeoutMs;
    this.#maxBodyBytes = maxBodyBytes;
    this.#pool = new Pool(origin, {
      connections,
      pipelining: 1,
      // With HTTP/2 allowed, all calls would wait for the first handshake, to share its connection.
      allowH2: false,
      connect: this.#connector.connect,
      keepAliveTimeout: IDLE_MS,
      keepAliveMaxTimeout: IDLE_MS,
      maxHeaderSize: MAX_HEADER_BYTES,
      // `Call` has a shorter deadline for the whole call.
      headersTimeout: 2 * timeoutMs,
      bodyTimeout: 2 * timeoutMs,
    });
  }

  /** Makes sure that there is a connection, and sends nothing. Resolves with undefined, or with the cause of the failure. */
  async connect(): Promise<string | undefined> {
    return this.#pool.stats.connected > 0 ? undefined : this.#connector.openEarly();
  }

  /** Never rejects. */
  call({ method, path, headers, body = "" }: HttpCall, signal: AbortSignal): Promise<HttpOutcome> {
    return new Promise((resolve) => {
      const call = new Call({ timeoutMs: this.#timeoutMs, maxBodyBytes: this.#maxBodyBytes, resolve, signal });
      this.#pool.dispatch({ path: this.#prefix + path, method, headers, body: body === "" ? null : body }, call);
    });
  }

  async close(): Promise<void> {
    await this.#pool.destroy();
    // `destroy` does not end connections that are still being opened.
    this.#connector.close();
  }
}

type CallParts = { timeoutMs: number; maxBodyBytes: number; resolve: (outcome: HttpOutcome) => void; signal: AbortSignal };

/** One call: collects the response and ends once. */
class Call implements Dispatcher.DispatchHandler {
  readonly #resolve: (outcome: HttpOutcome) => void;
  readonly #signal: AbortSignal;
  readonly #maxBodyBytes: number;
  readonly #timer: NodeJS.Timeout;
  readonly #onAbort = (): void => this.#giveUp({ kind: "no_response", cause: "the time limit passed before the carrier's response" });
  readonly #chunks: Buffer[] = [];
  #controller: Dispatcher.DispatchController | undefined;
  #hasEnded = false;
  #status = 0;
  #retryAfterMs: number | null = null;
  #bytes = 0;

  constructor({ timeoutMs, maxBodyBytes, resolve, signal }: CallParts) {
    this.#resolve = resolve;
    this.#signal = signal;
    this.#maxBodyBytes = maxBodyBytes;
    this.#timer = setTimeout(() => this.#giveUp(this.#failed(`no answer in ${timeoutMs} ms`)), timeoutMs);
    signal.addEventListener("abort", this.#onAbort);
    if (signal.aborted) this.#onAbort();
  }

  /** Called when there is a connection, right before the first byte is written to it. */
  onRequestStart(controller: Dispatcher.DispatchController): void {
    const isSecondTime = this.#controller !== undefined;
    this.#controller = controller;
    // The call ended while it waited for a connection, or undici would send the request a second time.
    if (this.#hasEnded || isSecondTime) controller.abort(new Error("the call has ended"));
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: Record<string, string | string[] | undefined>): void {
    // An informational response precedes the final one.
    if (status < 200) return;
    this.#status = status;
    this.#retryAfterMs = retryAfterMs(headers["retry-after"]);
  }

  onResponseData(_: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#bytes += chunk.length;
    if (this.#bytes > this.#maxBodyBytes) this.#giveUp(this.#response());
    else this.#chunks.push(chunk);
  }

  onResponseEnd(): void {
    this.#end(this.#response());
  }

  onResponseError(_: Dispatcher.DispatchController | undefined, error: Error): void {
    this.#end(this.#status === 0 ? this.#failed(connectionError(error)) : this.#response());
  }

  /** Ends the call. A status is a response, even if its body never arrives completely. */
  #giveUp(withoutStatus: HttpOutcome): void {
    this.#end(this.#status === 0 ? withoutStatus : this.#response());
    this.#controller?.abort(new Error("given up"));
  }

  #response(): HttpResponse {
    const text = Buffer.concat(this.#chunks).toString("utf8");
    return { kind: "response", status: this.#status, retryAfterMs: this.#retryAfterMs, text };
  }

  #failed(cause: string): HttpOutcome {
    return { kind: this.#controller === undefined ? "unreachable" : "no_response", cause };
  }

  #end(outcome: HttpOutcome): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    clearTimeout(this.#timer);
    this.#signal.removeEventListener("abort", this.#onAbort);
    this.#resolve(outcome);
  }
}

/** Reads the header, which has seconds or a date. */
function retryAfterMs(header: string | string[] | undefined): number | null {
  const value = Array.isArray(header) ? header[0] : header;
  if (value === undefined) return null;
  const ms = /^\d{1,9}$/.test(value) ? Number(value) * 1_000 : Date.parse(value) - Date.now();
  return Number.isFinite(ms) ? Math.max(0, ms) : null;
}
