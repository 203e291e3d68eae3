/** Receivers of HTTP calls whose bytes a test controls, and the sender that calls them. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import { addressSet, type AddressSet } from "../../src/lib/addresses.ts";
import { AddressGate, type AddressRules } from "../../src/outbound/address-gate.ts";
import { describeFailure, FAILURES, type Failure } from "../../src/outbound/failure.ts";
import { HttpClient, type HttpClientOptions, type HttpFailure, type HttpOutcome } from "../../src/outbound/http-client.ts";
import type { Resolve } from "../../src/outbound/resolve.ts";
import { CALL_LIMITS } from "../../src/webhooks/attempt.ts";
import { until } from "./expect.ts";

export const BODY = '{"type":"webhook.test"}';
export const NO_ADDRESSES: AddressSet = addressSet([]);
export const LOOPBACK: AddressSet = addressSet([{ address: "127.0.0.0", bits: 8 }]);

/** The reaction of a receiver to a new connection. */
export type Behavior = (socket: Socket, number: number) => void;
export type Certificate = { cert: string; key: string };

export type ListenOptions = { certificate?: Certificate; host?: string; port?: number };

export class Receiver {
  /** The bytes of all connections. */
  received = "";
  connections = 0;
  readonly #server: Server;
  readonly #open = new Set<Socket>();

  private constructor(behave: Behavior, certificate: Certificate | undefined) {
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
  static async listen(behave: Behavior, { certificate, ...at }: ListenOptions = {}): Promise<Receiver> {
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
  (then: Behavior): Behavior =>
  (socket, number) => {
    let text = "";
    socket.on("data", (chunk) => {
      text += chunk.toString("latin1");
      if (!text.endsWith(BODY)) return;
      text = "";
      then(socket, number);
    });
  };

export const answer = (text: string): Behavior => onRequest((socket) => socket.write(text, "latin1"));
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

type SenderOptions = Partial<AddressRules & { resolve: Resolve } & Pick<HttpClientOptions, "timeoutMs" | "ca">>;

/** A client with the limits of webhooks, which may call loopback and looks up no name. */
export class Sender {
  readonly client: HttpClient;

  constructor({ allow = LOOPBACK, deny = NO_ADDRESSES, resolve = never, ...options }: SenderOptions = {}) {
    const gate = new AddressGate({ allow, deny }, resolve);
    this.client = new HttpClient({ ...CALL_LIMITS, timeoutMs: 20_000, ...options, gate });
  }

  post(url: URL | string, signal = new AbortController().signal, headers: Record<string, string> = HEADERS): Promise<HttpOutcome> {
    const { origin, pathname, search } = new URL(url);
    return this.client.call({ origin, path: pathname + search, method: "POST", headers, body: BODY }, signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.client.close();
  }
}

const HEADERS = { "content-type": "application/json", "webhook-id": "evt_1" };

/** Asserts that there was no response, for the given reason, and returns the detail of the failure. */
export function assertFailed(outcome: HttpOutcome, failure: Failure, kind?: HttpFailure["kind"]): string {
  assert.ok(outcome.kind !== "response", "there is a response");
  assert.ok(FAILURES.includes(outcome.failure));
  const { error, durationMs, ...rest } = outcome;
  const cause = describeFailure(error);
  assert.deepEqual(rest, { kind: kind ?? rest.kind, failure }, cause);
  assert.ok(Number.isInteger(durationMs) && durationMs >= 0);
  return cause;
}

export function assertAnswered(outcome: HttpOutcome, status: number, text: string, retryAfterMs: number | null = null): void {
  assert.ok(outcome.kind === "response", JSON.stringify(outcome));
  const { durationMs, ...rest } = outcome;
  assert.deepEqual(rest, { kind: "response", status, retryAfterMs, text });
  assert.ok(Number.isInteger(durationMs) && durationMs >= 0);
}
