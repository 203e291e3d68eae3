/** A proxy in front of a real service that treats each request as the test demands. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { until } from "../../test/support/expect.ts";

/** `pass`: forwards the request and the response. `respond`: responds without the service. `cut`: closes the connection before the service
 *  gets the request. `lose`: the service executes the request, and its response is dropped. `tear`: half of the response arrives.
 *  `hang`: never responds. */
export type Behavior =
  | { kind: "pass" | "cut" | "lose" | "tear" | "hang" }
  | { kind: "respond"; status: number; headers?: Record<string, string>; body?: unknown };

export type ReceivedRequest = { method: string; path: string; headers: Record<string, string>; body: string; bytes: Buffer; at: number };

export class FaultyProxy {
  /** Every request that arrived. */
  readonly heard: ReceivedRequest[] = [];
  /** The statuses of the service's responses. */
  readonly statuses: number[] = [];
  /** The treatment of the next requests, in order. Later requests pass. */
  readonly next: Behavior[] = [];
  readonly #server: Server;

  private constructor(target: string) {
    this.#server = createServer((request, response) => {
      void this.#take(target, request, response).catch(() => response.destroy());
    });
  }

  static async to({ url }: { url: string }): Promise<FaultyProxy> {
    const proxy = new FaultyProxy(url);
    proxy.#server.listen(0, "127.0.0.1");
    await once(proxy.#server, "listening");
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** The idempotency key of each request. */
  get keys(): (string | undefined)[] {
    return this.heard.map(({ headers }) => headers["idempotency-key"]);
  }

  async hears(count: number): Promise<void> {
    await until(`${count} requests`, () => this.heard.length >= count || undefined);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((closed) => this.#server.close(closed));
  }

  async #take(target: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]));
    const bytes = Buffer.concat(chunks);
    const heard = {
      method: request.method ?? "",
      path: request.url ?? "",
      headers,
      body: bytes.toString(),
      bytes,
      at: performance.now(),
    };
    this.heard.push(heard);
    const behavior = this.next.shift() ?? { kind: "pass" };
    if (behavior.kind === "hang") return;
    if (behavior.kind === "cut") response.destroy();
    else if (behavior.kind === "respond") {
      const { status, headers: fields, body = "" } = behavior;
      response.writeHead(status, fields).end(typeof body === "string" ? body : JSON.stringify(body));
    } else await this.#pass(`${target}${heard.path}`, heard, response, behavior.kind);
  }

  async #pass(
    url: string,
    { method, headers, bytes }: ReceivedRequest,
    response: ServerResponse,
    kind: "pass" | "lose" | "tear",
  ): Promise<void> {
    const { host: _, connection: __, "content-length": ___, "transfer-encoding": ____, ...rest } = headers;
    const leaving = new AbortController();
    response.once("close", () => leaving.abort());
    const init = { method, headers: rest, redirect: "manual", signal: leaving.signal } as const;
    const fetched = await fetch(url, bytes.length === 0 ? init : { ...init, body: bytes });
    this.statuses.push(fetched.status);
    if (kind === "lose") {
      await fetched.text();
      response.destroy();
      return;
    }
    response.writeHead(
      fetched.status,
      [...fetched.headers].filter(([name]) => !/^(connection|transfer-encoding|keep-alive)$/.test(name)).flat(),
    );
    if (kind === "tear") response.write(new Uint8Array(await fetched.arrayBuffer()).subarray(0, 100), () => response.destroy());
    else for await (const chunk of fetched.body ?? []) response.write(chunk);
    response.end();
  }

  /** Closes all connections. */
  cutAll(): void {
    this.#server.closeAllConnections();
  }
}

/** A problem response in the format of the service. */
export const problem = (status: number, code: string, headers: Record<string, string> = {}): Behavior => ({
  kind: "respond",
  status,
  headers: { "content-type": "application/problem+json", "x-request-id": "req_01k9zs3v8mf4tb2xg1qj6n0d5c", ...headers },
  body: { type: `/errors/${code}`, title: "No", status, code, detail: "by the proxy", request_id: "req_01k9zs3v8mf4tb2xg1qj6n0d5c" },
});
