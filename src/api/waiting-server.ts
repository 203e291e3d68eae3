/** The server of a node that waits for its database: it is alive and not ready, and refuses all other requests. */
import { createServer, type IncomingMessage, type Server as HttpServer, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { PROBLEM_TYPE, unavailable } from "../http/problem.ts";
import { encodeId } from "../model/id.ts";
import { listenOn } from "./listening.ts";
import { commonHeaders, JSON_TYPE, newRequestId } from "./responses.ts";

type Options = { host: string; port: number; workers: number; tls: { cert: Buffer; key: Buffer } | undefined };

// Probes need few connections, and send their requests at once.
const LIMITS = { maxHeaderSize: 16_384, requestTimeout: 10_000, headersTimeout: 10_000, requireHostHeader: false };
const MAX_CONNECTIONS = 1_000;

export class WaitingServer {
  readonly #options: Options;
  readonly #server: HttpServer;
  /** Why the service is not ready, for everybody. */
  readonly #reason: () => string;

  constructor(options: Options, reason: () => string) {
    const { tls } = options;
    this.#options = options;
    this.#reason = reason;
    const respond = (request: IncomingMessage, response: ServerResponse): void => this.#respond(request, response);
    this.#server =
      tls === undefined ? createServer(LIMITS, respond) : createTlsServer({ ...LIMITS, ...tls, minVersion: "TLSv1.3" }, respond);
    this.#server.maxConnections = MAX_CONNECTIONS;
  }

  listen(): Promise<string> {
    return listenOn(this.#server, this.#options);
  }

  /** Frees the port at once. */
  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeAllConnections();
    await closed;
  }

  #respond({ url = "" }: IncomingMessage, response: ServerResponse): void {
    const id = encodeId("req", newRequestId());
    const isAlive = url.split("?")[0] === "/livez";
    const problem = unavailable(this.#reason());
    const body = isAlive ? JSON.stringify({ status: "ok" }) : problem.toBody("", id);
    const headers = {
      ...(isAlive ? {} : problem.headers),
      "content-type": isAlive ? JSON_TYPE : `${PROBLEM_TYPE}; charset=utf-8`,
      "content-length": String(Buffer.byteLength(body)),
      // The body of the request is not read, and the next request belongs to the service.
      connection: "close",
    };
    response.writeHead(isAlive ? 200 : problem.status, [
      ...commonHeaders(id, this.#options.tls !== undefined),
      ...Object.entries(headers).flat(),
    ]);
    response.end(body);
  }
}
