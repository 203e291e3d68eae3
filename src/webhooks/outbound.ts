/** Calls to URLs that customers name. Every connection goes to an address that was checked after the name was looked up, and to
 *  no other; nothing is followed; everything is bounded. What went wrong is told to the customer in one coarse word: more would
 *  make this service a port scanner. */
import { isIP, type Socket } from "node:net";
import { callbackify } from "node:util";
import { Agent, buildConnector, type Dispatcher } from "undici";
import type { AddressSet } from "../lib/addresses.ts";
import { isAllowed, type Resolve } from "./resolve.ts";

export const FAILURES = ["timeout", "connection_failed", "tls_failed", "address_not_allowed", "invalid_response"] as const;
export type Failure = (typeof FAILURES)[number];

/** What became of a call: an answer of whatever status, or none. `cause` is for the operator's log alone. */
export type Reply =
  | { kind: "answered"; status: number; retryAfter: string | undefined; text: string; durationMs: number }
  | { kind: "failed"; failure: Failure; durationMs: number; cause: string };

export type Post = { url: URL; headers: Readonly<Record<string, string>>; body: string };

export type OutboundOptions = {
  /** Addresses that are reached though they are not public, and in the clear. */
  allow: AddressSet;
  resolve: Resolve;
  /** How long an answer may take. */
  timeoutMs?: number;
  /** Certificates to trust instead of the system's: for tests. */
  ca?: string;
};

const TIMEOUT_MS = 15_000;
const CONNECT_TIMEOUT_MS = 5_000;
// The status is what counts. A body that is slow or long is let go; its first bytes are kept for people.
const BODY_GRACE_MS = 1_000;
const MAX_BODY_BYTES = 16_384;
const KEPT_BYTES = 512;
const MAX_HEADER_BYTES = 16_384;
const IDLE_MS = 10_000;
const MAX_ADDRESSES = 4;

class NotAllowed extends Error {
  override name = "NotAllowed";
}

export class Outbound {
  readonly #agent: Agent;
  readonly #connect: buildConnector.connector;
  readonly #timeoutMs: number;
  readonly #closed = new AbortController();

  constructor({ allow, resolve, timeoutMs = TIMEOUT_MS, ca }: OutboundOptions) {
    this.#timeoutMs = timeoutMs;
    // With HTTP/2 in sight, all calls to an origin would wait for the first handshake, to share its connection.
    const protocol = { allowH2: false };
    const socket = { signal: this.#closed.signal, ...(ca === undefined ? {} : { ca }) };
    this.#connect = checkedConnector(allow, resolve, buildConnector({ ...protocol, ...socket, timeout: CONNECT_TIMEOUT_MS }));
    this.#agent = new Agent({
      ...protocol,
      connect: this.#connect,
      pipelining: 1,
      keepAliveTimeout: IDLE_MS,
      keepAliveMaxTimeout: IDLE_MS,
      maxHeaderSize: MAX_HEADER_BYTES,
      // One deadline for all of a call is kept here, and is shorter.
      headersTimeout: 2 * timeoutMs,
      bodyTimeout: 2 * timeoutMs,
    });
  }

  /** Never throws. */
  post({ url, headers, body }: Post, signal?: AbortSignal): Promise<Reply> {
    if (signal?.aborted === true) return Promise.resolve({ kind: "failed", failure: "timeout", cause: "stopped", durationMs: 0 });
    return new Promise((resolve) => {
      const call = new Call(this.#timeoutMs, resolve, signal);
      this.#agent.dispatch({ origin: url.origin, path: url.pathname + url.search, method: "POST", headers, body }, call);
    });
  }

  /** Whether a connection can be had as for a call: undefined, or why not. Nothing is sent on it. */
  async reach({ protocol, hostname, port, host }: URL): Promise<{ failure: Failure; cause: string } | undefined> {
    try {
      const socket = await opened(this.#connect, { protocol, hostname, port, host });
      socket.on("error", () => undefined).destroy();
      return undefined;
    } catch (error) {
      return { failure: failureOf(error as Error), cause: describe(error as Error) };
    }
  }

  async close(): Promise<void> {
    await this.#agent.destroy();
    // It does not know of connections that are still being opened.
    this.#closed.abort();
  }
}

/** One call: collects what comes, and ends once. */
class Call implements Dispatcher.DispatchHandler {
  readonly #startedAt = performance.now();
  readonly #resolve: (reply: Reply) => void;
  readonly #signal: AbortSignal | undefined;
  readonly #onAbort = (): void => this.#giveUp("stopped");
  #timer: NodeJS.Timeout;
  #controller: Dispatcher.DispatchController | undefined;
  #isOver = false;
  #status = 0;
  #retryAfter: string | undefined;
  readonly #chunks: Buffer[] = [];
  #bytes = 0;

  constructor(timeoutMs: number, resolve: (reply: Reply) => void, signal: AbortSignal | undefined) {
    this.#resolve = resolve;
    this.#signal = signal;
    this.#timer = setTimeout(() => this.#giveUp("no answer in time"), timeoutMs);
    signal?.addEventListener("abort", this.#onAbort);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    // It waited for a connection, and its time is up.
    if (this.#isOver) controller.abort(new Error("over"));
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    // What comes before the answer is not the answer.
    if (status < 200) return;
    this.#status = status;
    const retryAfter = headers["retry-after"];
    this.#retryAfter = Array.isArray(retryAfter) ? retryAfter[0] : retryAfter;
    this.#hurry();
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#bytes < KEPT_BYTES) this.#chunks.push(chunk.subarray(0, KEPT_BYTES - this.#bytes));
    this.#bytes += chunk.length;
    if (this.#bytes > MAX_BODY_BYTES) this.#answered(true);
  }

  onResponseEnd(): void {
    this.#answered(false);
  }

  onResponseError(_controller: Dispatcher.DispatchController | undefined, error: Error): void {
    if (this.#status !== 0) this.#answered(false);
    else this.#failed(failureOf(error), describe(error));
  }

  /** From the status on there is little time for the rest. */
  #hurry(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#answered(true), BODY_GRACE_MS);
  }

  #giveUp(cause: string): void {
    if (this.#status !== 0) this.#answered(true);
    else {
      this.#failed("timeout", cause);
      this.#controller?.abort(new Error(cause));
    }
  }

  #answered(isCut: boolean): void {
    const text = readable(Buffer.concat(this.#chunks));
    this.#end({ kind: "answered", status: this.#status, retryAfter: this.#retryAfter, text, durationMs: this.#tookMs() });
    if (isCut) this.#controller?.abort(new Error("the rest is not read"));
  }

  #failed(failure: Failure, cause: string): void {
    this.#end({ kind: "failed", failure, cause, durationMs: this.#tookMs() });
  }

  #end(reply: Reply): void {
    if (this.#isOver) return;
    this.#isOver = true;
    clearTimeout(this.#timer);
    this.#signal?.removeEventListener("abort", this.#onAbort);
    this.#resolve(reply);
  }

  #tookMs(): number {
    return Math.round(performance.now() - this.#startedAt);
  }
}

/** For people, and for a database that holds no NUL. */
const readable = (bytes: Buffer): string =>
  bytes
    .toString("utf8")
    .replaceAll(/[\p{Cc}\uFFFD]+/gu, " ")
    .trim();

/** Looks a name up, keeps the addresses that are allowed, and connects to one of them by its number. A number in the URL is
 *  checked like one that was looked up. */
function checkedConnector(allow: AddressSet, resolve: Resolve, connect: buildConnector.connector): buildConnector.connector {
  const connectChecked = callbackify(async (options: buildConnector.Options): Promise<Socket> => {
    const host = options.hostname.replace(/^\[|\]$/g, "");
    let problem: unknown;
    for (const address of await checkedAddresses(host, options.protocol, allow, resolve)) {
      try {
        // The name goes on to TLS, which checks the certificate against it, and knows no dot at its end.
        const name = isIP(host) === 0 ? { servername: host.replace(/\.$/, "") } : {};
        return await opened(connect, { ...options, hostname: address, ...name });
      } catch (error) {
        problem = error;
      }
    }
    throw problem;
  });
  return (options, callback) =>
    connectChecked(options, (error: Error | null, socket) => {
      if (error === null) callback(null, socket);
      else callback(error, null);
    });
}

const opened = (connect: buildConnector.connector, options: buildConnector.Options): Promise<Socket> =>
  new Promise((resolve, reject) => {
    connect(options, (...[error, socket]) => {
      if (error === null) resolve(socket);
      else reject(error);
    });
  });

async function checkedAddresses(host: string, protocol: string, allow: AddressSet, resolve: Resolve): Promise<readonly string[]> {
  const addresses = isIP(host) === 0 ? await resolve(host) : [host];
  if (addresses.length === 0) throw new Error(`no address is known for ${host}`);
  const allowed = addresses.filter((address) => isAllowed(address, protocol, allow));
  if (allowed.length === 0) throw new NotAllowed(`${host} is at ${addresses.slice(0, MAX_ADDRESSES).join(", ")}`);
  return allowed.slice(0, MAX_ADDRESSES);
}

function failureOf(error: Error): Failure {
  const { code = "", name, message } = error as NodeJS.ErrnoException;
  if (name === "NotAllowed") return "address_not_allowed";
  if (/TIMEOUT|ETIMEDOUT/.test(code)) return "timeout";
  // The parser's errors have no code. An upgrade, or a 100 that nobody asked for, has that of any socket.
  if (name === "HTTPParserError" || /^bad (response|upgrade)$/.test(message)) return "invalid_response";
  if (/^UND_ERR_(HEADERS_OVERFLOW|RES_|RESPONSE|INFO)/.test(code)) return "invalid_response";
  if (/SSL|TLS|CERT|SELF_SIGNED|UNABLE_TO_VERIFY|ISSUER|DEPTH_ZERO|HOSTNAME/.test(code)) return "tls_failed";
  return "connection_failed";
}

const describe = (error: Error): string => {
  const { code, message } = error as NodeJS.ErrnoException;
  return code === undefined ? message : `${code}: ${message}`;
};
