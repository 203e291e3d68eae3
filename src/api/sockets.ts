/** The events of the server's sockets that precede or bypass requests: connections, pipelines, expectations and tunnels. */
import type { IncomingMessage, RequestListener, Server as HttpServer, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { isLoopback, peerOf, type AddressSet } from "../lib/addresses.ts";
import { SharedBudget } from "../lib/shared-budget.ts";
import type { Log } from "../model/log.ts";
import type { Exchange } from "./exchange.ts";
import { declaredBytes, type IntakeLimits } from "./intake.ts";
import type { Metrics } from "./metrics.ts";
import type { OpenConnections } from "./open-connections.ts";
import { hasTooManyHeaders } from "./requests.ts";
import { BODY_LIMIT_BYTES, respondToBrokenRequest, respondToConnect, SMALL_CHUNKS } from "./responses.ts";

type SocketOptions = {
  host: string;
  tls: object | undefined;
  intake: IntakeLimits;
  metrics: Metrics;
  log: Log;
};
type Parts = { connections: OpenConnections; awaitingContinue: WeakSet<IncomingMessage>; handle: RequestListener };

export function guardSockets(
  server: HttpServer,
  { host, tls, intake: limits, metrics, log }: SocketOptions,
  { connections, awaitingContinue, handle }: Parts,
): void {
  server.maxConnections = limits.maxConnections;
  server.on("drop", () => metrics.rejected("connections"));
  server.on("connection", (socket: Socket) => connections.add(socket));
  // An unknown expectation may be ignored (RFC 9110 §10.1.1). Node would refuse it without a problem.
  server.on("checkExpectation", handle);
  server.on("checkContinue", (request, response) => {
    awaitingContinue.add(request);
    handle(request, response);
  });
  server.on("clientError", (error: NodeJS.ErrnoException, socket) => {
    const requestId = respondToBrokenRequest(error, socket, tls !== undefined);
    if (requestId !== undefined) log.info({ request_id: requestId, reason: error.code }, "unreadable request");
  });
  server.on("connect", (request, socket) => {
    const requestId = respondToConnect(request, socket, tls !== undefined);
    log.info({ request_id: requestId, method: "CONNECT" }, "unreadable request");
  });
  if (isLoopback(host) || tls !== undefined) return;
  // Without TLS on a public address, only the trusted proxies may send requests.
  server.on("connection", (socket: Socket) => {
    const peer = socket.remoteAddress ?? "";
    if (!connections.isProxy(peer) && !isLoopback(peer)) connections.limitToProbes(socket);
  });
}

// Orchestrators probe a node from other addresses than that of its proxy. The responses say nothing that a stranger may not know.
const OPEN_PATHS: ReadonlySet<string | undefined> = new Set(["/livez", "/readyz"]);

/** Whether a connection in clear text that is not from a trusted proxy sends something else than a probe, or than a request for metrics from an
 *  address that may read them. It is closed without a response then. */
export function refuseOutsider(
  request: IncomingMessage,
  connections: OpenConnections,
  { metricsAllow, log }: { metricsAllow: AddressSet; log: Log },
): boolean {
  const { socket, url, method } = request;
  if (!connections.isLimitedToProbes(socket)) return false;
  const peer = socket.remoteAddress ?? "";
  if (method === "GET" && (OPEN_PATHS.has(url) || (url === "/metrics" && metricsAllow.has(peer)))) return false;
  log.warn({ event: "http.connection_refused", peer }, "connection refused: not from a trusted proxy");
  socket.destroy();
  return true;
}

// Node's parser ends at a request for which its listener returns this, as if another protocol followed.
const NO_MORE_HTTP = 2;

/** Node's parser of a connection. Connections that have ended leave their parsers to others. */
type Parser = { onIncoming: (request: { upgrade: boolean }) => number; constructor: { kOnBody?: number } } & Record<number, unknown>;

/** Ends the work for the bytes that Node has read, and for those that it still reads. Node would create the thousands of requests that they
 *  may contain, with an error for each, or a buffer for each of ten thousand chunks: a tenth of a second. There is no public function for this;
 *  without the parser, it is only slower. */
function dropUnparsed(socket: Socket & { parser?: Parser | null }): void {
  const { parser } = socket;
  if (!parser) return;
  parser.onIncoming = (request) => {
    // Node would leave the parser to other connections before this one has closed.
    request.upgrade = false;
    return NO_MORE_HTTP;
  };
  const { kOnBody } = parser.constructor;
  if (kOnBody === undefined || parser[kOnBody] === undefined) return;
  const onBody = parser[kOnBody];
  parser[kOnBody] = undefined;
  socket.prependOnceListener("close", () => (parser[kOnBody] = onBody));
}

// Time for the client to read the response. Meanwhile the rest of the body stays in the buffers of the operating system.
const LINGER_MS = 1_000;

/** Ends the connection after what has been written, without reading the rest of the body. A connection that is closed with unread bytes is
 *  reset, and the client could lose the response, so it is closed a moment later. */
function endUnread(socket: Socket): void {
  dropUnparsed(socket);
  socket.end();
  // Node resumes the socket in this turn, to discard the rest of the body.
  setImmediate(() => socket.pause());
  setTimeout(() => socket.destroy(), LINGER_MS).unref();
}

/** Makes the connection end after the response, without reading the rest of the body. */
export function closeUnread(exchange: Exchange): void {
  const { socket } = exchange.request;
  exchange.header("connection", "close");
  dropUnparsed(socket);
  // Node calls this after the last response of a connection, and would close it at once.
  socket.destroySoon = () => endUnread(socket);
}

/** Ends the connection if the rest of a body that nothing reads takes too long. */
export function limitRest(request: IncomingMessage, limitMs: number): void {
  const { socket } = request;
  if (socket.destroyed || request.closed) return;
  const timer = setTimeout(() => socket.destroy(), limitMs).unref();
  const end = (): void => {
    clearTimeout(timer);
    socket.off("close", end);
  };
  request.once("close", end);
  // Of a connection that ends early, Node may have closed the request already.
  socket.once("close", end);
}

// Clients that pipeline send a few requests at a time. Node reads up to 64 kB at once, which is room for thousands.
const MAX_OUTSTANDING = 8;
// The part of the memory for waiting requests that one peer can take.
const PEER_SHARES = 8;
// The objects of a request and its response, and those of a header.
const REQUEST_BYTES = 4_096;
const STRING_BYTES = 24;
// Node runs a listener for each chunk, and reads ten thousand chunks of one byte at once. Clients that stream have larger ones, except the last.
const SMALL_CHUNK_BYTES = 64;
const MAX_SMALL_CHUNKS = 1_000;

/** A request whose connection has an earlier one without a complete response. */
type Waiting = { request: IncomingMessage; response: ServerResponse; bytes: number };

/** The requests of a connection that have no complete response yet. */
type Pipeline = { outstanding: number; smallChunks: number; readonly waiting: Waiting[]; readonly peer: string };

type PipelineOptions = { begin: RequestListener; rejected: () => void; waitingBytes: number };

/** Runs the requests of each connection one after the other, each in a turn of its own: a request begins when the response to the one before it
 *  has been handed to the operating system. A client that does not read its responses therefore causes no further work. */
export class Pipelines {
  readonly #begin: RequestListener;
  readonly #rejected: () => void;
  readonly #pipelines = new WeakMap<Socket, Pipeline>();
  /** The bytes of waiting requests, by peer. */
  readonly #bytes: SharedBudget;

  constructor({ begin, rejected, waitingBytes }: PipelineOptions) {
    this.#begin = begin;
    this.#rejected = rejected;
    this.#bytes = new SharedBudget({ total: waitingBytes, share: waitingBytes / PEER_SHARES });
  }

  /** Begins the request, now or later. Closes a connection with too many; the rest of its requests that Node has read are dropped here. */
  readonly add = (request: IncomingMessage, response: ServerResponse): void => {
    const { socket } = request;
    if (socket.destroyed) return;
    let pipeline = this.#pipelines.get(socket);
    if (pipeline === undefined) {
      pipeline = { outstanding: 0, smallChunks: 0, waiting: [], peer: peerOf(socket.remoteAddress ?? "") };
      this.#pipelines.set(socket, pipeline);
    }
    pipeline.outstanding += 1;
    if (request.headers["transfer-encoding"] !== undefined) limitChunks(request, response, pipeline);
    if (pipeline.outstanding === 1) this.#begin(request, response);
    else if (!this.#wait(request, response, pipeline)) {
      this.#rejected();
      dropUnparsed(socket);
      socket.destroy();
    }
  };

  /** Returns false if too many requests wait. */
  #wait(request: IncomingMessage, response: ServerResponse, { outstanding, waiting, peer }: Pipeline): boolean {
    if (outstanding > MAX_OUTSTANDING || hasTooManyHeaders(request)) return false;
    const bytes = bytesOf(request);
    if (this.#bytes.take(peer, bytes) !== undefined) return false;
    waiting.push({ request, response, bytes });
    return true;
  }

  /** Begins the next request of the connection, after the response has closed. */
  end({ socket }: IncomingMessage): void {
    const pipeline = this.#pipelines.get(socket) as Pipeline;
    pipeline.outstanding -= 1;
    if (pipeline.waiting.length > 0) setImmediate(() => this.#beginNext(socket, pipeline));
    // Later, because the bytes that Node has read may contain more requests.
    else if (pipeline.smallChunks > 0) setImmediate(() => (pipeline.smallChunks = 0));
  }

  /** There is no next request after a response that ends the connection. */
  #beginNext(socket: Socket, { waiting, peer }: Pipeline): void {
    const ended = waiting.splice(0, socket.writable ? 1 : Infinity);
    for (const { bytes } of ended) this.#bytes.release(peer, bytes);
    const [next] = ended;
    if (next !== undefined && socket.writable) this.#begin(next.request, next.response);
  }
}

/** The memory of a request that waits: its head, and the part of its body that Node reads ahead. */
function bytesOf(request: IncomingMessage): number {
  let bytes = REQUEST_BYTES + (request.url ?? "").length + Math.min(declaredBytes(request) ?? BODY_LIMIT_BYTES, BODY_LIMIT_BYTES);
  for (const text of request.rawHeaders) bytes += STRING_BYTES + text.length;
  return bytes;
}

/** Ends the connection at too many small chunks, which are counted for all its outstanding requests. The body never ends then, so that a part of it is
 *  not taken for the whole. */
function limitChunks(request: IncomingMessage, response: ServerResponse, pipeline: Pipeline): void {
  const socket: Socket & { server?: HttpServer } = request.socket;
  let isRefused = false;
  const push = request.push.bind(request);
  request.push = (chunk: Buffer | null) => {
    if (chunk !== null && chunk.length < SMALL_CHUNK_BYTES) pipeline.smallChunks += 1;
    if (pipeline.smallChunks <= MAX_SMALL_CHUNKS) return push(chunk);
    if (isRefused) return false;
    isRefused = true;
    // A response may not precede those to earlier requests, or follow a part of another one.
    if (pipeline.outstanding > 1 || response.headersSent) socket.destroy();
    else socket.server?.emit("clientError", Object.assign(new Error("too many small chunks"), { code: SMALL_CHUNKS }), socket);
    endUnread(socket);
    return false;
  };
}
