/** The HTTP server: runs the rows of routes, responds to everything else with a problem, and drains before it stops. */
import { createServer, type IncomingMessage, type Server as HttpServer, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { setImmediate } from "node:timers/promises";
import { Problem, unavailable } from "../http/problem.ts";
import { errorFields } from "../model/log.ts";
import { readTrace } from "../lib/trace.ts";
import { poll } from "../lib/wait.ts";
import { admit, chargeMore, isAdmitted, lastEnvironmentOf, type Admitted } from "./admit.ts";
import { createRouter, Exchange, routerPath, trustProxies, type ExchangeOptions, type RoutedRow, type Router } from "./exchange.ts";
import { FailedAuthentications } from "./failed-authentications.ts";
import { collectBody, declaredBytes, hasCostlyRest, holdBody, Intake, NO_BODY_ALLOWED } from "./intake.ts";
import { certificateEnd, listenOn } from "./listening.ts";
import { OpenConnections } from "./open-connections.ts";
import type { Page } from "./page.ts";
import { createReader } from "./read-request.ts";
import { beginSpan, callerOf, malformation, MAX_HEADERS, report, respondWithPage, sendRefusal, sendReply, singles } from "./requests.ts";
import type { ServerOptions } from "./server-options.ts";
import { unmatched } from "./similar-path.ts";
import { BODY_LIMIT_BYTES, CLIENT_CLOSED, toProblem, withIdHint } from "./responses.ts";
import type { Call, Route, RouteResponse, StreamResponse } from "./route.ts";
import { closeUnread, guardSockets, limitRest, Pipelines, refuseOutsider } from "./sockets.ts";
import { begin, goneSignal, pumpFrames } from "./stream.ts";
import { UnreadResponses } from "./unread-responses.ts";
import { MAX_UPLOAD_MS, Uploads } from "./uploads.ts";

const MAX_HEADER_BYTES = 16_384;
// Longer than common load balancers keep a connection idle, so that the load balancer closes it and not this server.
const KEEP_ALIVE_MS = 75_000;
const CHECK_CONNECTIONS_MS = 500;
// Of the memory for bodies without a credential, the part for requests that wait behind another one of their connection. It is an estimate, and the objects
// of Node take up to three times as much.
const WAITING_PARTS = 4;
// Within the thirty seconds of a stop, with time for the database to stop afterwards.
const DRAIN_MS = 12_000;

export class Server {
  readonly #options: ServerOptions;
  readonly #server: HttpServer;
  /** The paths of the API. */
  readonly #paths: readonly string[];
  readonly #router: Router;
  readonly #intake: Intake;
  readonly #connections: OpenConnections;
  readonly #exchangeOptions: ExchangeOptions;
  /** Ends streaming responses. */
  readonly #streaming = new AbortController();
  readonly #failures: FailedAuthentications;
  readonly #pipelines: Pipelines;
  readonly #uploads: Uploads;
  /** The requests whose clients send the body only after `100 Continue`. */
  readonly #awaitingContinue = new WeakSet<IncomingMessage>();
  #isStopping = false;
  #inFlight = 0;

  constructor(options: ServerOptions) {
    const { routes, pages, trustedProxies, tls, metrics } = options;
    this.#options = options;
    const unread = new UnreadResponses(options.responses, options.responseStallMs, (reason) => metrics.rejected(reason));
    this.#exchangeOptions = {
      proxies: trustProxies(trustedProxies),
      isTls: tls !== undefined,
      basePaths: options.basePaths,
      onUnread: unread.add,
    };
    this.#failures = new FailedAuthentications(options.failureDelayMs);
    this.#paths = [...new Set(routes.map(({ path }) => path))];
    this.#router = createRouter([...routes.map((route) => this.#rowOf(route)), ...pages.map((page) => this.#rowOfPage(page))]);
    this.#intake = new Intake(options.intake, (reason) => metrics.rejected(reason), options.requestTimeoutMs);
    this.#uploads = new Uploads(() => metrics.rejected("uploads"), this.#streaming.signal);
    this.#connections = new OpenConnections(options.intake, trustedProxies, (reason) => metrics.rejected(reason));
    this.#pipelines = new Pipelines({
      begin: this.#handle,
      rejected: () => metrics.rejected("pipelined"),
      waitingBytes: options.intake.anonymousBodyBytes / WAITING_PARTS,
    });
    this.#server = this.#createServer();
    guardSockets(this.#server, options, {
      connections: this.#connections,
      awaitingContinue: this.#awaitingContinue,
      handle: this.#pipelines.add,
    });
    if (tls !== undefined) metrics.certificateEnds(certificateEnd(tls.cert));
  }

  async listen(): Promise<string> {
    return listenOn(this.#server, this.#options);
  }

  /** New connections use the new certificate; old ones keep theirs until they close. */
  reloadTls(pair: { cert: Buffer; key: Buffer }): void {
    (this.#server as unknown as { setSecureContext(options: object): void }).setSecureContext({ ...pair, minVersion: "TLSv1.3" });
    this.#options.metrics.certificateEnds(certificateEnd(pair.cert));
  }

  /** Stops the server. New requests get a 503 at once; running requests finish. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#streaming.abort();
    await poll(async () => (this.#inFlight === 0 ? true : undefined), { timeoutMs: DRAIN_MS, everyMs: 10 });
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#server.closeIdleConnections();
    await poll(async () => (this.#inFlight === 0 ? true : undefined), { timeoutMs: 1_000, everyMs: 10 });
    this.#server.closeAllConnections();
    await closed;
  }

  #createServer(): HttpServer {
    const { tls, requestTimeoutMs } = this.#options;
    const options = {
      maxHeaderSize: MAX_HEADER_BYTES,
      connectionsCheckingInterval: CHECK_CONNECTIONS_MS,
      headersTimeout: requestTimeoutMs,
      // Bodies have shorter limits, except uploads.
      requestTimeout: Math.max(requestTimeoutMs, MAX_UPLOAD_MS),
      keepAliveTimeout: KEEP_ALIVE_MS,
      // Node would respond to a missing Host header itself, without a request id.
      requireHostHeader: false,
    };
    const server =
      tls === undefined
        ? createServer(options, this.#pipelines.add)
        : createTlsServer({ ...options, ...tls, minVersion: "TLSv1.3" }, this.#pipelines.add);
    server.maxHeadersCount = MAX_HEADERS;
    return server;
  }

  readonly #handle = (request: IncomingMessage, response: ServerResponse): void => {
    if (refuseOutsider(request, this.#connections, this.#options)) return;
    const exchange = new Exchange(request, response, this.#exchangeOptions);
    this.#inFlight += 1;
    // Not `finish`, which is not emitted when the client disconnects before the end of the body.
    response.once("close", () => this.#onClose(exchange));
    void this.#run(exchange).catch((error: Error) => this.#fail(error, exchange));
  };

  async #run(exchange: Exchange): Promise<void> {
    const row = this.#begin(exchange);
    const respond = await row.admit(exchange);
    await this.#readBody(row, exchange);
    await respond();
  }

  /** Returns the row of a request. Throws if the request is refused before its body is read. */
  #begin(exchange: Exchange): RoutedRow {
    const row = this.#router.find(exchange);
    if (this.#isStopping || this.#options.isDraining()) exchange.header("connection", "close");
    if (this.#isStopping) throw unavailable("the service is stopping");
    const malformed = malformation(exchange.request);
    if (malformed !== undefined) {
      closeUnread(exchange);
      throw malformed;
    }
    if (row === undefined) throw unmatched(exchange.url, this.#router, this.#paths);
    exchange.arrival = this.#intake.begin(exchange.ip);
    return row;
  }

  async #readBody(row: RoutedRow, exchange: Exchange): Promise<void> {
    const { request, response, heldBody, arrival } = exchange;
    if (exchange.isUpload) return;
    // Node would ask for the body of a request that is refused as well.
    if (this.#awaitingContinue.has(request)) response.writeContinue();
    if (row.method === "GET" && hasCostlyRest(request, true)) closeUnread(exchange);
    if (row.method === "GET" || declaredBytes(request) === 0) return;
    try {
      exchange.body = await collectBody(heldBody ?? request, arrival?.body ?? NO_BODY_ALLOWED);
    } catch (error) {
      // The rest of the body may still arrive, or never: it must not be read as the next request.
      if (request.complete) exchange.header("connection", "close");
      else closeUnread(exchange);
      throw error;
    }
  }

  #onClose(exchange: Exchange): void {
    const { request, response, arrival, matched, span } = exchange;
    this.#inFlight -= 1;
    arrival?.end();
    if (!request.complete) limitRest(request, this.#options.requestTimeoutMs);
    const tookMs = performance.now() - exchange.startedAt;
    const route = matched?.path ?? "unmatched";
    const status = response.writableFinished ? exchange.status : CLIENT_CLOSED;
    this.#options.metrics.responded(route, request.method ?? "", status, tookMs / 1_000);
    span?.end({ "http.response.status_code": status }, status >= 500);
    report(exchange, route, { status, tookMs }, this.#options.reports);
    this.#connections.use(request.socket);
    this.#pipelines.end(request);
  }

  #rowOf(route: Route): RoutedRow {
    const respond = this.#responderOf(route);
    const maxBodyBytes = route.maxBodyBytes ?? BODY_LIMIT_BYTES;
    const { tracing } = this.#options;
    return {
      method: route.method,
      path: routerPath(route.path),
      operation: route.isUnlogged === true ? undefined : route.operationId,
      isReadOnly: route.method === "GET" || route.isReadOnly === true,
      writeRefusal: route.compatible?.writeRefusal,
      admit: async (exchange) => {
        if (route.upload !== undefined) this.#uploads.recognize(exchange);
        const credential = await admit(route, exchange, this.#options, () => this.#holdBody(route, exchange));
        this.#connections.claim(exchange.request.socket, credential.environmentKey);
        if (route.method !== "GET" && !exchange.isUpload) this.#intake.expectFrom(credential.environmentKey, exchange, maxBodyBytes);
        if (tracing !== undefined) exchange.span = beginSpan(tracing, route, exchange, credential);
        return () => respond({ exchange, credential });
      },
    };
  }

  #holdBody(route: Route, exchange: Exchange): void {
    const { request, heldBody, method } = exchange;
    if (heldBody !== undefined || method === "GET" || exchange.isUpload || declaredBytes(request) === 0) return;
    const environmentKey = lastEnvironmentOf(route, exchange, this.#options.authenticator);
    if (this.#intake.hold(exchange, environmentKey)) exchange.heldBody = holdBody(request);
  }

  #responderOf(route: Route): (admitted: Admitted) => Promise<void> {
    const { parse, check, read } = createReader(route, this.#options.box);
    const { metrics, authenticator } = this.#options;
    return async (admitted) => {
      const { exchange, credential } = admitted;
      exchange.arrival?.complete();
      // Only a body above the usual limit takes long enough to be read in several turns of the event loop.
      const isLarge = exchange.body !== undefined && exchange.body.length > BODY_LIMIT_BYTES;
      const parsed = parse(exchange);
      if (route.cost !== undefined) await chargeMore(route, parsed.value, admitted, this.#options);
      if (isLarge) await setImmediate();
      const checked = check(exchange, parsed);
      if (isLarge) await setImmediate();
      const call = read(admitted, checked, {
        origin: () => callerOf(exchange, credential),
        requestId: exchange.requestId,
        writeProblem: (problem) => problem.toBody(exchange.origin, exchange.id),
        isAdmitted: () => isAdmitted(authenticator, exchange),
        gone: () => goneSignal(exchange.response, this.#streaming.signal),
        trace: exchange.span?.trace ?? (route.keepsTrace ? readTrace(exchange.request.headers) : undefined),
      });
      const response = await this.#runHandler(route, call, exchange);
      if ("frames" in response) return this.#stream({ ...response, frames: await begin(response.frames) }, exchange);
      if (response.isReplay) metrics.replayed();
      await sendReply(route, exchange, response);
    };
  }

  /** The work counts as in flight even after its client has disconnected, so that a stop waits for it. */
  async #runHandler(route: Route, call: Call<never, never, never>, exchange: Exchange): Promise<RouteResponse | StreamResponse> {
    this.#inFlight += 1;
    try {
      if (!exchange.isUpload) return await this.#options.turns.run(route, call, () => route.handle(call));
      const ask = this.#awaitingContinue.has(exchange.request);
      return await this.#uploads.run(exchange, call, ask, (upload) => route.handle({ ...call, upload }));
    } finally {
      this.#inFlight -= 1;
    }
  }

  readonly #stream = async ({ status, contentType, headers, frames }: StreamResponse, exchange: Exchange): Promise<void> => {
    if (headers !== undefined) exchange.headers(headers);
    exchange.beginStream(status, contentType);
    await pumpFrames(exchange.response, frames, { signal: this.#streaming.signal }).catch((error: unknown) => {
      this.#options.log.error(
        { event: "http.stream_failed", request_id: exchange.id, ...errorFields(error) },
        "a streaming response failed",
      );
      exchange.response.destroy();
    });
  };

  #rowOfPage(page: Page): RoutedRow {
    return {
      method: page.method,
      path: routerPath(page.path),
      writeProblem: page.writeProblem,
      admit: async (exchange) => {
        const { maxBodyBytes } = page.admit?.({ params: exchange.params, headers: singles(exchange.request.headers) }) ?? page;
        const receiver = [page.path, ...Object.values(exchange.params)].join(" ");
        if (page.method !== "GET" && maxBodyBytes !== undefined) this.#intake.expectAnonymous(exchange, receiver, maxBodyBytes);
        return () => respondWithPage(page, exchange, this.#stream);
      },
    };
  }

  async #fail(error: Error, exchange: Exchange): Promise<void> {
    try {
      await this.#sendError(error, exchange);
    } catch (second) {
      this.#options.log.error({ event: "http.request_failed", request_id: exchange.id, ...errorFields(second) }, "request failed");
      exchange.response.destroy();
    }
  }

  async #sendError(error: Error, exchange: Exchange): Promise<void> {
    // An unread body must not block the next request of the connection, nor wait in memory for a response that is delayed.
    (exchange.heldBody ?? exchange.request).resume();
    if (hasCostlyRest(exchange.request, exchange.credential !== undefined)) closeUnread(exchange);
    const known = toProblem(error);
    const problem =
      withIdHint(known, exchange) ?? new Problem("internal_server_error", { detail: "quote the request id when you report this" });
    if (problem.status === 401) this.#options.metrics.failedToAuthenticate(problem.code);
    if (problem.status === 401) await this.#failures.delay(exchange.ip, this.#streaming.signal);
    // A refusal for load has no cause, and is expected: a line for each would help to overload the service.
    if (known === undefined || (known.status >= 500 && known.cause !== undefined))
      this.#options.log.error(
        { event: "http.request_failed", request_id: exchange.id, code: problem.code, ...errorFields(known?.cause ?? error) },
        "request failed",
      );
    sendRefusal(exchange, problem);
  }
}
