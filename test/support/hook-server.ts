/** A customer's server that records webhooks, and responds with a status that the test sets. */
import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Webhook } from "standardwebhooks";
import { until } from "./expect.ts";

/** Receivers are on this machine, which the operator has to allow. */
export const ALLOW_LOOPBACK = { GODWIT_WEBHOOK_ALLOW: "127.0.0.0/8" };

export type Call = { id: string; path: string; type: string; headers: Record<string, string>; body: string };

/** A server that passes on requests with their complete bodies. */
export const bodyServer = (take: (request: IncomingMessage, body: string, response: ServerResponse) => void): Server =>
  createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => take(request, Buffer.concat(chunks).toString(), response));
  });

export class HookServer {
  readonly calls: Call[] = [];
  /** The status of the next responses. */
  status = 200;
  headers: Record<string, string> = {};
  readonly #server: Server;

  private constructor() {
    this.#server = bodyServer((request, body, response) => {
      const { type } = JSON.parse(body) as { type: string };
      const headers = plain(request.headers);
      this.calls.push({ id: headers["webhook-id"] ?? "", path: request.url ?? "", type, headers, body });
      response.writeHead(this.status, this.headers).end();
    });
  }

  static async listen(): Promise<HookServer> {
    const server = new HookServer();
    server.#server.listen(0, "127.0.0.1");
    await once(server.#server, "listening");
    return server;
  }

  url(path = "/hook"): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}${path}`;
  }

  /** The event ids of all calls, including repeated calls. */
  ids(path = "/hook"): string[] {
    return this.calls.filter((call) => call.path === path).map(({ id }) => id);
  }

  /** Waits for the n-th call about an event, counted from one. */
  called(id: unknown, number = 1, path = "/hook"): Promise<Call> {
    const about = (): Call | undefined => this.calls.filter((call) => call.id === id && call.path === path)[number - 1];
    return until(`call ${number} about ${String(id)} at ${path}`, about);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((closed) => this.#server.close(closed));
  }
}

const plain = (headers: IncomingHttpHeaders): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));

/** Whether the standard library verifies the call with this secret. */
export function isSignedBy(secret: unknown, { body, headers }: Call): boolean {
  try {
    new Webhook(String(secret)).verify(body, headers);
    return true;
  } catch {
    return false;
  }
}
