/** Calls to URLs of customers. Every connection goes to an address that was checked after the name was resolved. Redirections are not
 *  followed, and everything is bounded. The customer sees only a coarse reason of a failure: more detail would make this service a
 *  port scanner. */
import { isIP, type Socket } from "node:net";
import { callbackify } from "node:util";
import { Agent, buildConnector, type Dispatcher } from "undici";
import { isAllowed, type AddressRules, type Resolve } from "../outbound/resolve.ts";

export const FAILURES = ["timeout", "connection_failed", "tls_failed", "address_not_allowed", "invalid_response"] as const;
export type Failure = (typeof FAILURES)[number];

/** The result of a call: a response of any status, or a failure. `cause` is only for the operator's log. */
export type Reply =
  | { kind: "responded"; status: number; retryAfter: string | undefined; text: string; durationMs: number }
  | { kind: "failed"; failure: Failure; durationMs: number; cause: string };

export type Post = { url: URL; headers: Readonly<Record<string, string>>; body: string };

export type OutboundOptions = AddressRules & {
  resolve: Resolve;
  /** How long a response may take. */
  timeoutMs?: number;
  /** Certificates to trust instead of the system's, for tests. */
  ca?: string;
};

const TIMEOUT_MS = 15_000;
const CONNECT_TIMEOUT_MS = 5_000;
// Only the status counts. The call does not wait for a slow or long body; its first bytes are kept for the record.
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

  constructor({ allow, deny, resolve, timeoutMs = TIMEOUT_MS, ca }: OutboundOptions) {
    this.#timeoutMs = timeoutMs;
    // If HTTP/2 were allowed, all calls to an origin would wait for the first handshake, to share its connection.
    const protocol = { allowH2: false };
    const socket = { signal: this.#closed.signal, ...(ca === undefined ? {} : { ca }) };
    this.#connect = checkedConnector({ allow, deny }, resolve, buildConnector({ ...protocol, ...socket, timeout: CONNECT_TIMEOUT_MS }));
    this.#agent = new Agent({
      ...protocol,
      connect: this.#connect,
      pipelining: 1,
      keepAliveTimeout: IDLE_MS,
      keepAliveMaxTimeout: IDLE_MS,
      maxHeaderSize: MAX_HEADER_BYTES,
      // This class has one shorter deadline for the whole call.
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

  /** Tries to connect as for a call, and sends nothing. Returns why that failed, or undefined. */
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
    // The agent does not know of connections that are still being opened.
    this.#closed.abort();
  }
}

/** One call: collects the response, and ends once. */
class Call implements Dispatcher.DispatchHandler {
  readonly #startedAt = performance.now();
  readonly #resolve: (reply: Reply) => void;
  readonly #signal: AbortSignal | undefined;
  readonly #onAbort = (): void => this.#giveUp("stopped");
  #timer: NodeJS.Timeout;
  #controller: Dispatcher.DispatchController | undefined;
  #hasEnded = false;
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
    // The deadline passed while the call waited for a connection.
    if (this.#hasEnded) controller.abort(new Error("the call has ended"));
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    // An informational response (1xx) comes before the final one.
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

  /** Limits the time for the body, once the status is known. */
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
    this.#end({ kind: "responded", status: this.#status, retryAfter: this.#retryAfter, text, durationMs: this.#tookMs() });
    if (isCut) this.#controller?.abort(new Error("the rest is not read"));
  }

  #failed(failure: Failure, cause: string): void {
    this.#end({ kind: "failed", failure, cause, durationMs: this.#tookMs() });
  }

  #end(reply: Reply): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    clearTimeout(this.#timer);
    this.#signal?.removeEventListener("abort", this.#onAbort);
    this.#resolve(reply);
  }

  #tookMs(): number {
    return Math.round(performance.now() - this.#startedAt);
  }
}

/** The bytes as text for the record. PostgreSQL cannot store NUL. */
const readable = (bytes: Buffer): string =>
  bytes
    .toString("utf8")
    .replaceAll(/[\p{Cc}\uFFFD]+/gu, " ")
    .trim();

/** Resolves a name, keeps the allowed addresses, and connects to one of them. An address in the URL is checked like a resolved one. */
function checkedConnector(rules: AddressRules, resolve: Resolve, connect: buildConnector.connector): buildConnector.connector {
  const connectChecked = callbackify(async (options: buildConnector.Options): Promise<Socket> => {
    const host = options.hostname.replace(/^\[|\]$/g, "");
    let problem: unknown;
    for (const address of await checkedAddresses(host, options.protocol, rules, resolve)) {
      try {
        // TLS checks the certificate against the name, which must not end in a dot there.
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

/** A name without an address fails like one whose addresses may not be called. Otherwise a customer could find out which names exist in the
 *  operator's network. */
async function checkedAddresses(host: string, protocol: string, rules: AddressRules, resolve: Resolve): Promise<readonly string[]> {
  const addresses = isIP(host) === 0 ? await resolve(host) : [host];
  if (addresses.length === 0) throw new NotAllowed(`no address is known for ${host}`);
  const allowed = addresses.filter((address) => isAllowed(address, protocol, rules));
  if (allowed.length === 0) throw new NotAllowed(`${host} is at ${addresses.slice(0, MAX_ADDRESSES).join(", ")}`);
  return allowed.slice(0, MAX_ADDRESSES);
}

function failureOf(error: Error): Failure {
  const { code = "", name, message } = error as NodeJS.ErrnoException;
  if (name === "NotAllowed") return "address_not_allowed";
  if (/TIMEOUT|ETIMEDOUT/.test(code)) return "timeout";
  // Errors of the parser have no code. An upgrade, or a 100 that was not requested, has the code of any socket error.
  if (name === "HTTPParserError" || /^bad (response|upgrade)$/.test(message)) return "invalid_response";
  if (/^UND_ERR_(HEADERS_OVERFLOW|RES_|RESPONSE|INFO)/.test(code)) return "invalid_response";
  if (/SSL|TLS|CERT|SELF_SIGNED|UNABLE_TO_VERIFY|ISSUER|DEPTH_ZERO|HOSTNAME/.test(code)) return "tls_failed";
  return "connection_failed";
}

const describe = (error: Error): string => {
  const { code, message } = error as NodeJS.ErrnoException;
  return code === undefined ? message : `${code}: ${message}`;
};
