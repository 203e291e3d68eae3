/** Calls to a carrier's HTTP interface: bounded in connections, bytes and time, and exact about the one question that matters
 *  afterwards, whether anything can have left. Nothing is followed, and nothing is ever sent a second time. */
import { Pool, type Dispatcher } from "undici";

export type HttpRequest = { path: string; headers: Readonly<Record<string, string>>; body: string };
export type HttpCall = Omit<HttpRequest, "body"> & { method: "GET" | "POST" | "DELETE"; body?: string };

export type HttpAnswer = {
  kind: "answered";
  status: number;
  retryAfterMs: number | null;
  text: string;
};

export type HttpReply =
  | HttpAnswer
  /** There was no connection to write to: nothing has left. */
  | { kind: "unreachable"; cause: string }
  /** Something may have left, and no answer came. */
  | { kind: "unanswered"; cause: string };

export type HttpCallerOptions = {
  baseUrl: string;
  connections: number;
  timeoutMs: number;
  /** Of an answer; what is beyond it is not read. Some ten thousand unless said. */
  maxBodyBytes?: number;
};

const CONNECT_TIMEOUT_MS = 5_000;
// Shorter than servers keep an idle connection: a request that meets its end has an unknown outcome.
const IDLE_MS = 10_000;
const MAX_HEADER_BYTES = 16_384;
// Answers to a message have a few hundred bytes.
const MAX_BODY_BYTES = 65_536;

export class HttpCaller {
  readonly #pool: Pool;
  readonly #prefix: string;
  readonly #timeoutMs: number;
  readonly #maxBodyBytes: number;
  readonly #closed = new AbortController();

  constructor({ baseUrl, connections, timeoutMs, maxBodyBytes = MAX_BODY_BYTES }: HttpCallerOptions) {
    const { origin, pathname } = new URL(baseUrl);
    this.#prefix = pathname.replace(/\/+$/, "");
    this.#timeoutMs = timeoutMs;
    this.#maxBodyBytes = maxBodyBytes;
    this.#pool = new Pool(origin, {
      connections,
      pipelining: 1,
      // With HTTP/2 in sight, all calls would wait for the first handshake, to share its connection.
      allowH2: false,
      connect: { timeout: CONNECT_TIMEOUT_MS, allowH2: false, signal: this.#closed.signal },
      keepAliveTimeout: IDLE_MS,
      keepAliveMaxTimeout: IDLE_MS,
      maxHeaderSize: MAX_HEADER_BYTES,
      // One deadline for all of a call is kept here, and is shorter.
      headersTimeout: 2 * timeoutMs,
      bodyTimeout: 2 * timeoutMs,
    });
  }

  /** Never rejects. */
  post(request: HttpRequest, signal: AbortSignal): Promise<HttpReply> {
    return this.call({ ...request, method: "POST" }, signal);
  }

  /** Never rejects. */
  call({ method, path, headers, body = "" }: HttpCall, signal: AbortSignal): Promise<HttpReply> {
    return new Promise((resolve) => {
      const call = new Call({ timeoutMs: this.#timeoutMs, maxBodyBytes: this.#maxBodyBytes, resolve, signal });
      this.#pool.dispatch({ path: this.#prefix + path, method, headers, body: body === "" ? null : body }, call);
    });
  }

  async close(): Promise<void> {
    await this.#pool.destroy();
    // It does not know of connections that are still being opened.
    this.#closed.abort();
  }
}

type CallParts = { timeoutMs: number; maxBodyBytes: number; resolve: (reply: HttpReply) => void; signal: AbortSignal };

/** One call: collects what comes, and ends once. */
class Call implements Dispatcher.DispatchHandler {
  readonly #resolve: (reply: HttpReply) => void;
  readonly #signal: AbortSignal;
  readonly #maxBodyBytes: number;
  readonly #timer: NodeJS.Timeout;
  readonly #onAbort = (): void => this.#giveUp({ kind: "unanswered", cause: "given up before the carrier's answer came" });
  readonly #chunks: Buffer[] = [];
  #controller: Dispatcher.DispatchController | undefined;
  #isOver = false;
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

  /** Called when a connection is there, and right before the first byte is written to it. */
  onRequestStart(controller: Dispatcher.DispatchController): void {
    const isSecondTime = this.#controller !== undefined;
    this.#controller = controller;
    // It waited for a connection until nobody waited for it, or a client in doubt would send it again.
    if (this.#isOver || isSecondTime) controller.abort(new Error("over"));
  }

  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: Record<string, string | string[] | undefined>): void {
    // What comes before the answer is not the answer.
    if (status < 200) return;
    this.#status = status;
    this.#retryAfterMs = retryAfterMs(headers["retry-after"]);
  }

  onResponseData(_: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#bytes += chunk.length;
    if (this.#bytes > this.#maxBodyBytes) this.#giveUp(this.#answered());
    else this.#chunks.push(chunk);
  }

  onResponseEnd(): void {
    this.#end(this.#answered());
  }

  onResponseError(_: Dispatcher.DispatchController | undefined, error: Error): void {
    this.#end(this.#status === 0 ? this.#failed(nameOf(error)) : this.#answered());
  }

  /** A status is an answer, also when the rest of it never comes: whoever reads it finds that it has no words. */
  #giveUp(otherwise: HttpReply): void {
    this.#end(this.#status === 0 ? otherwise : this.#answered());
    this.#controller?.abort(new Error("given up"));
  }

  #answered(): HttpAnswer {
    const text = Buffer.concat(this.#chunks).toString("utf8");
    return { kind: "answered", status: this.#status, retryAfterMs: this.#retryAfterMs, text };
  }

  #failed(cause: string): HttpReply {
    return { kind: this.#controller === undefined ? "unreachable" : "unanswered", cause };
  }

  #end(reply: HttpReply): void {
    if (this.#isOver) return;
    this.#isOver = true;
    clearTimeout(this.#timer);
    this.#signal.removeEventListener("abort", this.#onAbort);
    this.#resolve(reply);
  }
}

/** Seconds, or a date. */
function retryAfterMs(header: string | string[] | undefined): number | null {
  const value = Array.isArray(header) ? header[0] : header;
  if (value === undefined) return null;
  const ms = /^\d{1,9}$/.test(value) ? Number(value) * 1_000 : Date.parse(value) - Date.now();
  return Number.isFinite(ms) ? Math.max(0, ms) : null;
}

/** The code of an error, which names no address, or else its words. */
function nameOf(error: Error): string {
  const { code, message } = error as NodeJS.ErrnoException;
  return code ?? message;
}
