/** Opens connections of an HTTP pool before there is a request for them. So a link finds out that its carrier cannot be reached before a
 *  message becomes `sending`, and the connection that showed the carrier to be there carries the request: it costs no second handshake. */
import type { LookupFunction, Socket } from "node:net";
import { buildConnector } from "undici";

export type ConnectorOptions = {
  timeoutMs: number;
  /** How long an opened connection waits for a request. */
  idleMs: number;
  lookup?: LookupFunction | undefined;
};

export class EarlyConnector {
  readonly #target: buildConnector.Options;
  readonly #open: buildConnector.connector;
  readonly #idleMs: number;
  readonly #closed = new AbortController();
  #opening: Promise<string | undefined> | undefined;
  #spare: { socket: Socket; timer: NodeJS.Timeout } | undefined;

  constructor({ protocol, host, hostname, port }: URL, { timeoutMs, idleMs, lookup }: ConnectorOptions) {
    // An IPv6 address has brackets in a URL and none in a socket.
    this.#target = { protocol, host, hostname: hostname.replace(/^\[(.*)\]$/, "$1"), port };
    const { signal } = this.#closed;
    this.#open = buildConnector({ timeout: timeoutMs, allowH2: false, signal, ...(lookup === undefined ? {} : { lookup }) });
    this.#idleMs = idleMs;
  }

  /** The connector of the pool: uses the connection that was opened before, if there is one. */
  readonly connect: buildConnector.connector = (options, callback) => {
    const socket = this.#takeSpare();
    if (socket === undefined) this.#open(options, callback);
    else queueMicrotask(() => callback(null, socket.pause()));
  };

  /** Opens a connection for the next request. Resolves with undefined, or with the cause of the failure. Callers at the same time share
   *  one attempt. */
  openEarly(): Promise<string | undefined> {
    if (this.#spare !== undefined) return Promise.resolve(undefined);
    return (this.#opening ??= this.#openSpare().finally(() => (this.#opening = undefined)));
  }

  /** Ends all connections, also those that are being opened. */
  close(): void {
    this.#takeSpare()?.destroy();
    this.#closed.abort();
  }

  #openSpare(): Promise<string | undefined> {
    return new Promise((resolve) => {
      this.#open(this.#target, (error, socket) => {
        if (error !== null) return resolve(connectionError(error));
        this.#keep(socket);
        resolve(undefined);
      });
    });
  }

  #keep(socket: Socket): void {
    const timer = setTimeout(() => this.#takeSpare()?.destroy(), this.#idleMs);
    this.#spare = { socket, timer };
    const forget = (): void => {
      if (this.#spare?.socket === socket) this.#takeSpare();
    };
    // A socket that is not read does not notice that the carrier ends it.
    socket.once("end", forget).once("close", forget).on("error", forget).resume();
  }

  #takeSpare(): Socket | undefined {
    const spare = this.#spare;
    this.#spare = undefined;
    clearTimeout(spare?.timer);
    return spare?.socket;
  }
}

/** The code of an error, which contains no address, or else its message. */
export function connectionError(error: Error): string {
  const { code, message } = error as NodeJS.ErrnoException;
  return code ?? message;
}
