/** Calls over HTTP to one origin, on connections that are taken before. So a link opens the connection of a message, with its TLS handshake, before
 *  the message becomes `sending`, and the bytes leave right after that. */
import type { Socket } from "node:net";
import { Client } from "undici";
import { hostOf } from "../lib/addresses.ts";
import { requireUrl } from "../lib/urls.ts";
import type { AddressGate } from "./address-gate.ts";
import { CONNECT_MS, connectionOptions, dispatchCall, IDLE_MS, MAX_BODY_BYTES } from "./http-client.ts";
import type { HttpLimits, HttpOutcome, HttpRequest } from "./http-client.ts";
import { HttpConnections } from "./http-connections.ts";

export type OriginOptions = {
  gate: AddressGate | undefined;
  /** The most connections at a time. */
  connections: number;
  timeoutMs: number;
  ca: string | undefined;
};

/** One connection. Its owner makes a call, or none, and gives it back. */
export class HeldConnection {
  readonly #socket: Socket;
  readonly #origin: string;
  readonly #limits: HttpLimits;
  /** Has the socket from the first call on. */
  #client: Client | undefined;
  /** Ends a connection that waits for too long. */
  #idle: NodeJS.Timeout | undefined;

  constructor(socket: Socket, origin: string, limits: HttpLimits) {
    this.#socket = socket;
    this.#origin = origin;
    this.#limits = limits;
    // A socket that is not read does not notice that the carrier ends it.
    socket.on("error", () => undefined).resume();
    socket.once("end", () => {
      if (this.#client === undefined) socket.destroy();
    });
  }

  startIdle(): void {
    this.#idle = setTimeout(() => this.destroy(), IDLE_MS);
  }

  endIdle(): void {
    clearTimeout(this.#idle);
  }

  get isOpen(): boolean {
    return !this.#socket.destroyed;
  }

  /** The bytes leave at once. Never rejects. */
  call(request: HttpRequest, signal: AbortSignal): Promise<HttpOutcome> {
    this.#client ??= new Client(this.#origin, {
      ...connectionOptions(this.#limits.timeoutMs),
      // undici would connect again after the end of the socket.
      connect: (_, callback) =>
        queueMicrotask(() => (this.isOpen ? callback(null, this.#socket.pause()) : callback(new Error("the connection was closed"), null))),
    });
    return dispatchCall(this.#client, this.#limits, request, signal);
  }

  destroy(): void {
    void this.#client?.destroy();
    this.#socket.destroy();
    this.endIdle();
  }
}

export class OriginClient {
  readonly #connections: HttpConnections;
  readonly #origin: URL;
  readonly #limits: HttpLimits;
  readonly #all = new Set<HeldConnection>();
  /** The connections without an owner. The last one is used first, so that those above the need end. */
  #free: HeldConnection[] = [];
  readonly #most: number;
  #opening = 0;
  #isClosed = false;
  /** Callers that wait until a connection is given back, or until another may be opened. */
  readonly #waiting: (() => void)[] = [];
  #connecting: Promise<Error | undefined> | undefined;

  constructor(origin: string, { gate, connections, timeoutMs, ca }: OriginOptions) {
    this.#most = connections;
    this.#origin = requireUrl(origin);
    this.#connections = new HttpConnections({ gate, connectMs: CONNECT_MS, ca });
    this.#limits = { timeoutMs, bodyMs: undefined, maxBodyBytes: MAX_BODY_BYTES, keptBytes: MAX_BODY_BYTES };
  }

  /** Makes sure that there is a connection. Resolves with the failure, if there is one. Callers at the same time share one attempt. */
  async connect(): Promise<Error | undefined> {
    if (this.#all.size > 0) return undefined;
    return (this.#connecting ??= this.#openFree().finally(() => (this.#connecting = undefined)));
  }

  /** Takes a free connection, or opens one. Resolves with the failure if that fails, and with undefined as soon as `signal` is aborted. */
  async take(signal: AbortSignal): Promise<HeldConnection | Error | undefined> {
    const { promise: aborted, resolve: abort } = Promise.withResolvers<undefined>();
    const stop = (): void => abort(undefined);
    signal.addEventListener("abort", stop, { once: true });
    const taken = await Promise.race([this.#take(signal), aborted]);
    signal.removeEventListener("abort", stop);
    return taken;
  }

  giveBack(connection: HeldConnection): void {
    if (this.#isClosed) connection.destroy();
    if (!connection.isOpen) return;
    connection.startIdle();
    this.#free.push(connection);
    this.#waiting.shift()?.();
  }

  /** Ends the connections without an owner. The others end when they are given back: their responses may still come. */
  close(): void {
    this.#isClosed = true;
    this.#connections.close();
    for (const connection of this.#free.splice(0)) connection.destroy();
    for (const resume of this.#waiting.splice(0)) resume();
  }

  async #take(signal: AbortSignal): Promise<HeldConnection | Error | undefined> {
    const taken = await this.#freeOrNew();
    if (!signal.aborted) return taken;
    // Its caller has gone.
    if (taken instanceof HeldConnection) this.giveBack(taken);
    return undefined;
  }

  async #freeOrNew(): Promise<HeldConnection | Error> {
    const failure = await this.connect();
    if (failure !== undefined) return failure;
    for (;;) {
      if (this.#isClosed) return new Error("the client is closed");
      const free = this.#free.pop();
      free?.endIdle();
      if (free?.isOpen === true) return free;
      if (free === undefined && this.#all.size + this.#opening < this.#most) return this.#open();
      if (free === undefined) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }

  async #openFree(): Promise<Error | undefined> {
    const opened = await this.#open();
    if (opened instanceof Error) return opened;
    this.giveBack(opened);
    return undefined;
  }

  async #open(): Promise<HeldConnection | Error> {
    const { protocol, port, origin } = this.#origin;
    this.#opening += 1;
    const socket = await this.#connections.open({ protocol, port, hostname: hostOf(this.#origin) });
    this.#opening -= 1;
    if (socket instanceof Error) {
      this.#waiting.shift()?.();
      return socket;
    }
    const connection = new HeldConnection(socket, origin, this.#limits);
    this.#all.add(connection);
    socket.once("close", () => {
      connection.endIdle();
      this.#all.delete(connection);
      this.#free = this.#free.filter((free) => free !== connection);
      this.#waiting.shift()?.();
    });
    if (this.#isClosed) connection.destroy();
    return connection;
  }
}
