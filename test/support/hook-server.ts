/** A customer's server that records webhooks, and responds as the test sets. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Webhook } from "standardwebhooks";
import { Webhook as SvixWebhook } from "svix";
import type { Json } from "./client.ts";
import { until } from "./expect.ts";

/** Receivers are on this machine, which the operator has to allow. */
export const ALLOW_LOOPBACK = { GODWIT_WEBHOOK_ALLOW: "127.0.0.0/8" };

type Event = { id: string; type: string; timestamp: string; environment: string; data: Json };

/** One call of an endpoint. */
export type Call = { path: string; method: string; headers: Record<string, string>; text: string; event: Event; at: number };

export type HookResponse = { status: number; headers?: Record<string, string>; body?: string };

/** The response of a receiver, now or later; null for none. */
type Behavior = (call: Call) => HookResponse | null | Promise<HookResponse | null>;

export const OK: HookResponse = { status: 200 };
export const REFUSED: HookResponse = { status: 500 };

/** A server that passes on requests with their complete bodies. */
export const bodyServer = (take: (request: IncomingMessage, body: string, response: ServerResponse) => void): Server =>
  createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => take(request, Buffer.concat(chunks).toString(), response));
  });

/** A receiver with one path for each endpoint. */
export class Hook {
  readonly calls: Call[] = [];
  behave: Behavior = () => OK;
  /** The number of calls without a response, and the largest number so far. */
  waiting = 0;
  mostWaiting = 0;
  readonly #server: Server;

  private constructor() {
    this.#server = bodyServer(({ url: path = "", method = "", headers: received }, text, response) => {
      const headers = Object.fromEntries(Object.entries(received).map(([name, value]) => [name, String(value)]));
      void this.#take({ path, method, headers, text, event: JSON.parse(text) as Event, at: performance.now() }, response);
    });
    this.#server.keepAliveTimeout = 60_000;
  }

  static async listen(port = 0): Promise<Hook> {
    const hook = new Hook();
    hook.#server.listen(port, "127.0.0.1");
    await once(hook.#server, "listening");
    return hook;
  }

  async #take(call: Call, response: ServerResponse): Promise<void> {
    this.calls.push(call);
    this.waiting += 1;
    this.mostWaiting = Math.max(this.mostWaiting, this.waiting);
    response.on("close", () => (this.waiting -= 1));
    const reply = await this.behave(call);
    if (reply !== null) response.writeHead(reply.status, reply.headers).end(reply.body);
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  url(path = "/hook"): string {
    return `http://127.0.0.1:${this.port}${path}`;
  }

  at(path: string): Call[] {
    return this.calls.filter((call) => call.path === path);
  }

  /** Waits for the n-th call about an event, counted from one. */
  called(id: unknown, number = 1, path = "/hook"): Promise<Call> {
    const about = (): Call | undefined => this.at(path).filter(({ event }) => event.id === id)[number - 1];
    return until(`call ${number} about ${String(id)} at ${path}`, about);
  }

  connections(): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#server.getConnections((error, count) => (error === null ? resolve(count) : reject(error)));
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((closed) => this.#server.close(closed));
  }
}

export const typesOf = (calls: readonly Call[]): string[] => calls.map(({ event }) => event.type);
export const idsOf = (calls: readonly Call[]): string[] => calls.map(({ event }) => event.id);
export const messageOf = ({ event }: Pick<Call, "event">): Json => event.data["message"] as Json;

/** Verifies a call with both published packages, as the documentation says. Throws when another secret signed the call. */
export function verify({ headers, text }: Call, secret: string): void {
  assert.deepEqual(new Webhook(secret).verify(text, headers), JSON.parse(text));
  new SvixWebhook(secret).verify(text, headers);
}
