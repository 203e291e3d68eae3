/** Opens the connections of an HTTP client, to allowed addresses only. A connection can be opened before there is a request for it. So a
 *  link finds out that its carrier cannot be reached before a message becomes `sending`, and the connection that showed the carrier to be
 *  there carries the request: it costs no second handshake. */
import type { Socket } from "node:net";
import { buildConnector } from "undici";
import { hostOf } from "../lib/addresses.ts";
import type { AddressGate } from "./address-gate.ts";

export type ConnectionOptions = {
  /** Undefined: every address may be connected to. */
  gate: AddressGate | undefined;
  /** Includes the look-up of the name. */
  connectMs: number;
  /** How long a connection waits for a request. */
  idleMs: number;
  /** Certificates to trust instead of the system's, for tests. */
  ca: string | undefined;
};

// Each address of a name but the last has this time to accept. Far networks take half a second.
const ATTEMPT_MS = 1_000;

export class HttpConnections {
  readonly #gate: AddressGate | undefined;
  readonly #secure: buildConnector.connector;
  readonly #plain: buildConnector.connector;
  readonly #idleMs: number;
  readonly #closed = new AbortController();
  #count = 0;
  #opening: Promise<Error | undefined> | undefined;
  #spare: { socket: Socket; timer: NodeJS.Timeout } | undefined;

  constructor({ gate, connectMs, idleMs, ca }: ConnectionOptions) {
    const connector = (isTls: boolean): buildConnector.connector =>
      buildConnector({
        timeout: connectMs,
        // If HTTP/2 were allowed, all calls to an origin would wait for the first handshake, to share its connection.
        allowH2: false,
        signal: this.#closed.signal,
        autoSelectFamilyAttemptTimeout: ATTEMPT_MS,
        ...(gate === undefined ? {} : { lookup: gate.lookup(isTls) }),
        ...(ca === undefined ? {} : { ca }),
      });
    this.#gate = gate;
    this.#secure = connector(true);
    this.#plain = connector(false);
    this.#idleMs = idleMs;
  }

  /** The number of open connections, busy ones included. */
  get count(): number {
    return this.#count;
  }

  /** The connector of undici: uses the connection that was opened before, if there is one. */
  readonly connect: buildConnector.connector = (options, callback) => {
    const socket = this.#takeSpare();
    if (socket === undefined) this.#open(options, callback);
    else queueMicrotask(() => callback(null, socket.pause()));
  };

  /** Opens a connection for the next request, for a client whose requests all go to this origin. Resolves with the failure, if there is one. Callers at
   *  the same time share one attempt. */
  openEarly(origin: string): Promise<Error | undefined> {
    return (this.#opening ??= this.#openSpare(new URL(origin)).finally(() => (this.#opening = undefined)));
  }

  /** Ends the connections that undici does not have: those that are being opened, and the one that waits. */
  close(): void {
    this.#takeSpare()?.destroy();
    this.#closed.abort();
  }

  #open(options: buildConnector.Options, callback: buildConnector.Callback): void {
    const isTls = options.protocol === "https:";
    const refusal = this.#gate?.addressFailure(options.hostname, isTls);
    if (refusal !== undefined) return queueMicrotask(() => callback(refusal, null));
    // TLS checks the certificate against the name, which must not end in a dot there.
    const named = options.hostname.endsWith(".") ? { ...options, servername: options.hostname.slice(0, -1) } : options;
    (isTls ? this.#secure : this.#plain)(named, (...result) => {
      const [error, socket] = result;
      if (error === null) {
        this.#count += 1;
        socket.once("close", () => (this.#count -= 1));
      }
      callback(...result);
    });
  }

  #openSpare(url: URL): Promise<Error | undefined> {
    const target = { protocol: url.protocol, host: url.host, hostname: hostOf(url), port: url.port };
    return new Promise((resolve) => {
      this.#open(target, (error, socket) => {
        if (error !== null) return resolve(error);
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
