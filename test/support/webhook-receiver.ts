/** Receivers of webhooks whose bytes a test controls, and the sender that calls them. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import { addressSet, type AddressSet } from "../../src/lib/addresses.ts";
import { FAILURES, Outbound, type Failure, type OutboundOptions, type Reply } from "../../src/webhooks/outbound.ts";
import type { Resolve } from "../../src/outbound/resolve.ts";
import { until } from "./expect.ts";

export const BODY = '{"type":"webhook.test"}';
export const NO_ADDRESSES: AddressSet = addressSet([]);
export const LOOPBACK: AddressSet = addressSet([{ address: "127.0.0.0", bits: 8 }]);

/** The reaction of a receiver to a new connection. */
export type Behaviour = (socket: Socket, number: number) => void;
export type Certificate = { cert: string; key: string };

export type ListenOptions = { certificate?: Certificate; host?: string; port?: number };

export class Receiver {
  /** The bytes of all connections. */
  received = "";
  connections = 0;
  readonly #server: Server;
  readonly #open = new Set<Socket>();

  private constructor(behave: Behaviour, certificate: Certificate | undefined) {
    const onSocket = (socket: Socket): void => {
      socket.on("data", (chunk) => (this.received += chunk.toString("latin1")));
      // Connections can be reset.
      socket.on("error", () => undefined);
      behave(socket, this.connections);
    };
    this.#server = certificate === undefined ? createServer(onSocket) : createTlsServer(certificate, onSocket);
    // The TCP connection, below TLS.
    this.#server.prependListener("connection", (socket: Socket) => {
      this.connections += 1;
      this.#open.add(socket.on("error", () => undefined).on("close", () => this.#open.delete(socket)));
    });
  }

  /** Without a host the receiver listens on all addresses of the machine. */
  static async listen(behave: Behaviour, { certificate, ...at }: ListenOptions = {}): Promise<Receiver> {
    const receiver = new Receiver(behave, certificate);
    receiver.#server.listen({ port: 0, ...at });
    await once(receiver.#server, "listening");
    return receiver;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get open(): number {
    return this.#open.size;
  }

  url(host = "127.0.0.1", scheme = "http"): URL {
    return new URL(`${scheme}://${host}:${this.port}/hook?a=1`);
  }

  /** Waits until the sender has closed every connection. */
  async disconnected(): Promise<void> {
    await until("the connections to be closed", () => (this.open === 0 ? true : undefined));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#open) socket.destroy();
    await new Promise((closed) => this.#server.close(closed));
  }
}

/** Calls `then` after each complete request. */
export const onRequest =
  (then: Behaviour): Behaviour =>
  (socket, number) => {
    let text = "";
    socket.on("data", (chunk) => {
      text += chunk.toString("latin1");
      if (!text.endsWith(BODY)) return;
      text = "";
      then(socket, number);
    });
  };

export const answer = (text: string): Behaviour => onRequest((socket) => socket.write(text, "latin1"));
export const OK = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

/** Writes the text repeatedly, one byte at a time, until the sender closes the connection. */
export function drip(socket: Socket, text: string): void {
  let at = 0;
  const timer = setInterval(() => socket.write(text.charAt(at++ % text.length)), 20);
  socket.on("close", () => clearInterval(timer));
}

const never: Resolve = (name) => {
  throw new Error(`${name} was looked up`);
};

export class Sender {
  readonly outbound: Outbound;

  constructor(options: Partial<OutboundOptions> = {}) {
    this.outbound = new Outbound({ allow: LOOPBACK, deny: NO_ADDRESSES, resolve: never, timeoutMs: 20_000, ...options });
  }

  post(url: URL | string, signal?: AbortSignal): Promise<Reply> {
    return this.outbound.post(
      { url: new URL(url), headers: { "content-type": "application/json", "webhook-id": "evt_1" }, body: BODY },
      signal,
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.outbound.close();
  }
}

/** Asserts that there was no response, for the given reason, and returns the detail of the failure. */
export function assertFailed(reply: Reply, failure: Failure): string {
  assert.ok(reply.kind === "failed", JSON.stringify(reply));
  assert.ok(FAILURES.includes(reply.failure));
  const { cause, durationMs, ...rest } = reply;
  assert.deepEqual(rest, { kind: "failed", failure }, cause);
  assert.ok(Number.isInteger(durationMs) && durationMs >= 0);
  return cause;
}

export function assertAnswered(reply: Reply, status: number, text: string, retryAfter?: string): void {
  assert.ok(reply.kind === "responded", JSON.stringify(reply));
  const { durationMs, ...rest } = reply;
  assert.deepEqual(rest, { kind: "responded", status, retryAfter, text });
  assert.ok(Number.isInteger(durationMs) && durationMs >= 0);
}
