/** Shared code of the fakes of HTTP carriers: a server that receives messages and behaves as the test sets, webhooks that are repeated
 *  until they succeed, and the server that receives the webhooks. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { CarrierResponse, CarrierRequest, Connection } from "../../../src/providers/provider.ts";

export type Seen = { method: string; path: string; headers: Record<string, string>; body: string; bytes: Buffer; atMs: number };

/** The reaction of the carrier to a request. */
export type CarrierBehavior =
  | { kind: "responds"; status: number; body: string | Buffer; headers?: Record<string, string>; afterMs?: number }
  /** Reads the request, and sends no response. */
  | { kind: "is silent" }
  /** Reads the request, and closes the connection. */
  | { kind: "disconnects" }
  /** Closes the connection before the end of the response. */
  | { kind: "truncates"; status: number; body: string | Buffer }
  /** Sends bytes that are not HTTP. */
  | { kind: "sends garbage" };

export const respond = (body: object, status = 200, headers: Record<string, string> = {}): CarrierBehavior => ({
  kind: "responds",
  status,
  body: JSON.stringify(body),
  headers,
});

const REPEAT_MS = 50;

export class HttpCarrierServer {
  readonly seen: Seen[] = [];
  /** Closes every new connection before it is read. */
  refusesConnections = false;
  /** Closes a connection after the head of the first request. */
  closesEarly = false;
  /** The connections that were opened. */
  opened = 0;
  /** The behavior by recipient, in the fakes of single carriers. They accept all other messages, and report them as delivered. */
  readonly behaviors = new Map<string, CarrierBehavior | ((seen: Seen) => CarrierBehavior)>();
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #stop = new AbortController();
  readonly #calls = new Set<Promise<void>>();
  #at: Pick<AddressInfo, "address" | "port"> = { address: "", port: 0 };

  constructor(behavior?: (seen: Seen) => CarrierBehavior) {
    if (behavior !== undefined) this.behaviorFor = behavior;
    this.#server = createServer((request, response) => void this.#take(request, response));
    this.#server.on("connection", (socket: Socket) => {
      this.opened += 1;
      this.#sockets.add(socket);
      socket.on("close", () => this.#sockets.delete(socket));
      socket.on("error", () => undefined);
      if (this.refusesConnections) socket.destroy();
    });
  }

  /** The reaction to a request. */
  protected behaviorFor(_seen: Seen): CarrierBehavior {
    return { kind: "is silent" };
  }

  async listen(address = "127.0.0.1"): Promise<this> {
    this.#server.listen(0, address);
    await once(this.#server, "listening");
    this.#at = this.#server.address() as AddressInfo;
    return this;
  }

  get url(): string {
    const { address, port } = this.#at;
    return `http://${address}:${port}`;
  }

  /** Ends all connections and refuses new ones. Returns the function that ends the outage, at the same address. */
  async goDown(): Promise<() => Promise<void>> {
    const { address, port } = this.#at;
    const closed = once(this.#server, "close");
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
    await closed;
    return async () => {
      this.#server.listen(port, address);
      await once(this.#server, "listening");
    };
  }

  get connections(): number {
    return this.#sockets.size;
  }

  /** Calls the webhook until a call succeeds, as carriers do. */
  callUntilAccepted(url: string, headers: Record<string, string>, body: string, afterMs = 0): void {
    const call = this.#call(url, headers, body, afterMs).finally(() => this.#calls.delete(call));
    this.#calls.add(call);
  }

  async close(): Promise<void> {
    this.#stop.abort();
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await Promise.all(this.#calls);
  }

  async #call(url: string, headers: Record<string, string>, body: string, afterMs: number): Promise<void> {
    const { signal } = this.#stop;
    try {
      await sleep(afterMs, undefined, { signal });
      for (;;) {
        // A server may end an idle connection at the moment of a call, which a carrier repeats as well.
        const response = await fetch(url, { method: "POST", headers, body, signal }).catch(() => undefined);
        await response?.text();
        if (response?.ok === true) return;
        await sleep(REPEAT_MS, undefined, { signal });
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = "", url: path = "" } = request;
    if (this.closesEarly) return void request.socket.destroy();
    const chunks: Buffer[] = [];
    request.on("error", () => undefined);
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const bytes = Buffer.concat(chunks);
    const seen = { method, path, headers: plainHeaders(request), body: bytes.toString(), bytes, atMs: performance.now() };
    this.seen.push(seen);
    await this.#perform(this.behaviorFor(seen), response);
  }

  async #perform(behavior: CarrierBehavior, response: ServerResponse): Promise<void> {
    switch (behavior.kind) {
      case "responds":
        if (behavior.afterMs !== undefined) await sleep(behavior.afterMs, undefined, { signal: this.#stop.signal }).catch(() => undefined);
        return void response.writeHead(behavior.status, { "content-type": "application/json", ...behavior.headers }).end(behavior.body);
      case "is silent":
        return;
      case "disconnects":
        return void response.socket?.destroy();
      case "truncates":
        response.writeHead(behavior.status, { "content-length": behavior.body.length * 2 }).write(behavior.body);
        await sleep(10);
        return void response.socket?.destroy();
      case "sends garbage":
        return void response.socket?.end("SMPP/3.4 hello\r\n\r\n");
      default:
        throw new Error(`no such behavior: ${JSON.stringify(behavior satisfies never)}`);
    }
  }
}

const plainHeaders = ({ headers }: IncomingMessage): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));

/** The HTTP server that passes the webhooks of a carrier to the provider, in place of the service. */
export class CallbackServer {
  readonly #server: Server;

  private constructor(handle: (request: CarrierRequest) => Promise<CarrierResponse>) {
    const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
      const url = new URL(request.url ?? "/", this.url());
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      const { method = "" } = request;
      const query = Object.fromEntries(url.searchParams);
      const reply = await handle({ method, url: url.href, query, headers: plainHeaders(request), body: Buffer.concat(chunks) });
      response.writeHead(reply.status, { "content-type": reply.contentType }).end(reply.body);
    };
    this.#server = createServer((request, response) => void serve(request, response));
  }

  static async open(handle: (request: CarrierRequest) => Promise<CarrierResponse>): Promise<CallbackServer> {
    const callbacks = new CallbackServer(handle);
    callbacks.#server.listen(0, "127.0.0.1");
    await once(callbacks.#server, "listening");
    return callbacks;
  }

  url(path = "/providers/x/main"): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}${path}`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((closed) => this.#server.close(closed));
  }
}

/** A connection that also closes its fake carrier. */
export const withCarrier = (connection: Connection, ...parts: readonly { close(): Promise<void> }[]): Connection => ({
  get window() {
    return connection.window;
  },
  get isReady() {
    return connection.isReady;
  },
  send: (message, signal, begin) => connection.send(message, signal, begin),
  async close() {
    await connection.close();
    for (const part of parts) await part.close();
  },
});
