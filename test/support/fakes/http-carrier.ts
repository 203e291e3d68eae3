/** What the fakes of HTTP carriers share: a server that takes messages and plays what it is told to, calls to us that are repeated
 *  until they are taken, and the door at which we are called. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { CarrierResponse, CarrierRequest, Connection } from "../../../src/providers/provider.ts";

export type Seen = { method: string; path: string; headers: Record<string, string>; body: string; atMs: number };

/** What the carrier does with a message. */
export type Play =
  | { kind: "answers"; status: number; body: string; headers?: Record<string, string>; afterMs?: number }
  /** Takes it, and says nothing. */
  | { kind: "is silent" }
  /** Takes it, and ends the connection. */
  | { kind: "cuts" }
  /** Begins an answer, and ends the connection in the middle of it. */
  | { kind: "breaks off"; status: number; body: string }
  /** Says what is not HTTP. */
  | { kind: "babbles" };

const REPEAT_MS = 50;

export class HttpCarrierServer {
  readonly seen: Seen[] = [];
  /** Ends every connection that is opened, before anything is read. */
  isHostile = false;
  /** Ends a connection as soon as it sees the head of a request. */
  isHasty = false;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #stop = new AbortController();
  readonly #calls = new Set<Promise<void>>();

  constructor(play: (seen: Seen) => Play) {
    this.#server = createServer((request, response) => void this.#take(request, response, play));
    this.#server.on("connection", (socket: Socket) => {
      this.#sockets.add(socket);
      socket.on("close", () => this.#sockets.delete(socket));
      socket.on("error", () => undefined);
      if (this.isHostile) socket.destroy();
    });
  }

  async listen(): Promise<this> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    return this;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  get connections(): number {
    return this.#sockets.size;
  }

  /** Calls us, and again until it is taken, as carriers do. */
  callUntilTaken(url: string, headers: Record<string, string>, body: string, afterMs = 0): void {
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
        const answer = await fetch(url, { method: "POST", headers, body, signal });
        await answer.text();
        if (answer.ok) return;
        await sleep(REPEAT_MS, undefined, { signal });
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  async #take(request: IncomingMessage, response: ServerResponse, play: (seen: Seen) => Play): Promise<void> {
    const { method = "", url: path = "" } = request;
    if (this.isHasty) return void request.socket.destroy();
    const chunks: Buffer[] = [];
    request.on("error", () => undefined);
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const seen = { method, path, headers: plainHeaders(request), body: Buffer.concat(chunks).toString(), atMs: performance.now() };
    this.seen.push(seen);
    await this.#perform(play(seen), response);
  }

  async #perform(play: Play, response: ServerResponse): Promise<void> {
    switch (play.kind) {
      case "answers":
        if (play.afterMs !== undefined) await sleep(play.afterMs, undefined, { signal: this.#stop.signal }).catch(() => undefined);
        return void response.writeHead(play.status, { "content-type": "application/json", ...play.headers }).end(play.body);
      case "is silent":
        return;
      case "cuts":
        return void response.socket?.destroy();
      case "breaks off":
        response.writeHead(play.status, { "content-length": play.body.length * 2 }).write(play.body);
        await sleep(10);
        return void response.socket?.destroy();
      case "babbles":
        return void response.socket?.end("SMPP/3.4 hello\r\n\r\n");
      default:
        throw new Error(`no such play: ${JSON.stringify(play satisfies never)}`);
    }
  }
}

const plainHeaders = ({ headers }: IncomingMessage): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));

/** Where carriers call us: what the service does in front of a provider's `answer`. */
export class Door {
  readonly #server: Server;

  private constructor(answer: (request: CarrierRequest) => Promise<CarrierResponse>) {
    this.#server = createServer((request, response) => void this.#take(request, response, answer));
  }

  static async open(answer: (request: CarrierRequest) => Promise<CarrierResponse>): Promise<Door> {
    const door = new Door(answer);
    door.#server.listen(0, "127.0.0.1");
    await once(door.#server, "listening");
    return door;
  }

  url(path = "/providers/x/main"): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}${path}`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((closed) => this.#server.close(closed));
  }

  async #take(
    request: IncomingMessage,
    response: ServerResponse,
    answer: (request: CarrierRequest) => Promise<CarrierResponse>,
  ): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const url = new URL(request.url ?? "/", this.url());
    const reply = await answer({
      method: request.method ?? "",
      url: url.href,
      query: Object.fromEntries(url.searchParams),
      headers: plainHeaders(request),
      body: Buffer.concat(chunks),
    });
    response.writeHead(reply.status, { "content-type": reply.contentType }).end(reply.body);
  }
}

/** A connection that takes its fake carrier with it when it closes. */
export const withCarrier = (connection: Connection, ...parts: readonly { close(): Promise<void> }[]): Connection => ({
  get window() {
    return connection.window;
  },
  get isReady() {
    return connection.isReady;
  },
  send: (message, signal) => connection.send(message, signal),
  async close() {
    await connection.close();
    for (const part of parts) await part.close();
  },
});
