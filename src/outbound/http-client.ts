/** Calls over HTTP: to webhooks, to carriers and to the collector of traces. Connections, bytes and time are limited, no redirect is
 *  followed, and no request is sent twice. The outcome says exactly whether bytes may have left. */
import { requireUrl, withoutFinalSlashes } from "../lib/urls.ts";
import { Readable } from "node:stream";
import { Agent, type Client, type Dispatcher } from "undici";
import type { AddressGate } from "./address-gate.ts";
import { HttpConnections } from "./http-connections.ts";
import { failureOf, timedOut, type Failure } from "./failure.ts";

export type HttpRequest = {
  /** The scheme, the host and the port. */
  origin: string;
  /** The path with the query. */
  path: string;
  method: "GET" | "POST" | "PUT" | "DELETE";
  headers: Readonly<Record<string, string>>;
  /** Empty: the request has no body. */
  body: string;
  /** The body in pieces, in place of `body`, with its `content-length` among the headers. */
  stream?: AsyncIterable<Buffer>;
};

/** A response of any status. */
export type HttpResponse = { kind: "response"; status: number; retryAfterMs: number | null; text: string; durationMs: number };

export type HttpFailure = {
  /** `unreachable`: there was no connection to write to, so nothing has left. `no_response`: bytes may have left, and no response came. */
  kind: "unreachable" | "no_response";
  failure: Failure;
  error: Error;
  durationMs: number;
};

export type HttpOutcome = HttpResponse | HttpFailure;

export type HttpClientOptions = {
  /** The addresses that may be called; undefined for all. */
  gate?: AddressGate | undefined;
  /** The most connections to an origin; undefined for no limit. */
  connections?: number;
  /** The time for a connection, with the look-up of the name. */
  connectMs?: number;
  timeoutMs: number;
  /** The time for the body, once the status is known; undefined for the rest of `timeoutMs`. */
  bodyMs?: number;
  /** A call with a longer body ends when it has read these bytes. */
  maxBodyBytes?: number;
  /** The bytes that become the text of the response; undefined for all that are read. */
  keptBytes?: number;
  /** Certificates to trust instead of the system's, for tests. */
  ca?: string | undefined;
};

export type HttpLimits = { timeoutMs: number; bodyMs: number | undefined; maxBodyBytes: number; keptBytes: number };

export const CONNECT_MS = 5_000;
// Shorter than servers keep an idle connection: a request on a connection that the server just closes has an unknown outcome.
export const IDLE_MS = 10_000;
const MAX_HEADER_BYTES = 16_384;
// The response to a message has a few hundred bytes.
export const MAX_BODY_BYTES = 65_536;

/** The options of each connection. */
export const connectionOptions = (timeoutMs: number): Client.Options => ({
  pipelining: 1,
  allowH2: false,
  keepAliveTimeout: IDLE_MS,
  keepAliveMaxTimeout: IDLE_MS,
  maxHeaderSize: MAX_HEADER_BYTES,
  // `Call` has a shorter limit for the whole call.
  headersTimeout: 2 * timeoutMs,
  bodyTimeout: 2 * timeoutMs,
});

export class HttpClient {
  readonly #connections: HttpConnections;
  readonly #agent: Agent;
  readonly #limits: HttpLimits;

  constructor({ gate, connections, connectMs = CONNECT_MS, ca, ...limits }: HttpClientOptions) {
    const { timeoutMs, bodyMs, maxBodyBytes = MAX_BODY_BYTES, keptBytes = maxBodyBytes } = limits;
    this.#limits = { timeoutMs, bodyMs, maxBodyBytes, keptBytes };
    this.#connections = new HttpConnections({ gate, connectMs, ca });
    const connect = this.#connections.connect;
    this.#agent = new Agent({ ...connectionOptions(timeoutMs), connections: connections ?? null, connect });
  }

  /** Never rejects. */
  call(request: HttpRequest, signal: AbortSignal): Promise<HttpOutcome> {
    return dispatchCall(this.#agent, this.#limits, request, signal);
  }

  async close(): Promise<void> {
    await this.#agent.destroy();
    this.#connections.close();
  }
}

/** Makes a single call. Never rejects. */
export async function callOnce(options: HttpClientOptions, request: HttpRequest, signal: AbortSignal): Promise<HttpOutcome> {
  const client = new HttpClient({ ...options, connections: 1 });
  try {
    return await client.call(request, signal);
  } finally {
    await client.close();
  }
}

/** Never rejects. */
export const dispatchCall = (to: Dispatcher, limits: HttpLimits, request: HttpRequest, signal: AbortSignal): Promise<HttpOutcome> =>
  new Promise((resolve) => {
    const call = new Call(limits, signal, resolve);
    if (signal.aborted) call.stop();
    else to.dispatch(request.stream === undefined ? request : { ...request, body: Readable.from(request.stream) }, call);
  });

/** One call: collects the response and ends once. */
class Call implements Dispatcher.DispatchHandler {
  readonly #startedAt = performance.now();
  readonly #limits: HttpLimits;
  readonly #signal: AbortSignal;
  readonly #resolve: (outcome: HttpOutcome) => void;
  /** Grows by doubling: a list of chunks, which may have one byte each, would take a hundred times the memory. */
  #body = Buffer.alloc(0);
  #timer: NodeJS.Timeout;
  #controller: Dispatcher.DispatchController | undefined;
  #hasEnded = false;
  #status = 0;
  #retryAfterMs: number | null = null;
  #bytes = 0;

  constructor(limits: HttpLimits, signal: AbortSignal, resolve: (outcome: HttpOutcome) => void) {
    this.#limits = limits;
    this.#signal = signal;
    this.#resolve = resolve;
    this.#timer = setTimeout(() => this.#giveUp(this.#unsent(), "no response in time"), limits.timeoutMs);
    signal.addEventListener("abort", this.stop);
  }

  /** Ends the call because its signal is aborted. The caller may not count on anything: bytes may have left. */
  readonly stop = (): void => this.#giveUp("no_response", "the time limit passed before the response");

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
    const retryAfter = headers["retry-after"];
    this.#retryAfterMs = parseRetryAfter(Array.isArray(retryAfter) ? retryAfter[0] : retryAfter);
    if (this.#limits.bodyMs === undefined) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#cut(), this.#limits.bodyMs);
  }

  onResponseData(_: Dispatcher.DispatchController, chunk: Buffer): void {
    const { keptBytes, maxBodyBytes } = this.#limits;
    const length = Math.min(this.#bytes + chunk.length, keptBytes);
    if (length > this.#body.length) {
      const larger = Buffer.allocUnsafe(Math.max(length, Math.min(2 * this.#body.length, keptBytes)));
      this.#body.copy(larger);
      this.#body = larger;
    }
    if (this.#bytes < length) chunk.copy(this.#body, this.#bytes, 0, length - this.#bytes);
    this.#bytes += chunk.length;
    if (this.#bytes > maxBodyBytes) this.#cut();
  }

  onResponseEnd(): void {
    this.#respond();
  }

  onResponseError(_: Dispatcher.DispatchController | undefined, error: Error): void {
    if (this.#status === 0) this.#fail(this.#unsent(), error);
    else this.#respond();
  }

  /** A status is a response, even if its body never arrives completely. */
  #giveUp(kind: HttpFailure["kind"], reason: string): void {
    if (this.#status !== 0) return this.#cut();
    this.#fail(kind, timedOut(reason));
    this.#controller?.abort(new Error(reason));
  }

  /** Ends the call without the rest of the body. */
  #cut(): void {
    this.#respond();
    this.#controller?.abort(new Error("the rest is not read"));
  }

  #unsent(): HttpFailure["kind"] {
    return this.#controller === undefined ? "unreachable" : "no_response";
  }

  #respond(): void {
    if (this.#hasEnded) return;
    const text = this.#body.toString("utf8", 0, Math.min(this.#bytes, this.#limits.keptBytes));
    this.#end({ kind: "response", status: this.#status, retryAfterMs: this.#retryAfterMs, text, durationMs: this.#tookMs() });
  }

  #fail(kind: HttpFailure["kind"], error: Error): void {
    if (!this.#hasEnded) this.#end({ kind, failure: failureOf(error), error, durationMs: this.#tookMs() });
  }

  #end(outcome: HttpOutcome): void {
    this.#hasEnded = true;
    clearTimeout(this.#timer);
    this.#signal.removeEventListener("abort", this.stop);
    this.#resolve(outcome);
  }

  #tookMs(): number {
    return Math.round(performance.now() - this.#startedAt);
  }
}

/** The origin and the path of a request below a base URL, which may have a path itself. */
export function targetBelow(baseUrl: string, path: string): { origin: string; path: string } {
  const { origin, pathname } = requireUrl(baseUrl);
  return { origin, path: withoutFinalSlashes(pathname) + path };
}

/** `Retry-After` in milliseconds from now: a number of seconds or a date; null for anything else. */
export function parseRetryAfter(text: string | undefined, nowMs = Date.now()): number | null {
  if (text === undefined) return null;
  if (/^\d{1,9}$/.test(text.trim())) return Number(text) * 1_000;
  const at = /^[A-Za-z]{3}, \d{2} [A-Za-z]{3} \d{4} /.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(at) ? null : Math.max(0, at - nowMs);
}
