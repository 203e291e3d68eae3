/** The HTTP server: runs the rows of routes, responds to everything else with a problem, and drains before it stops. */
import type { IncomingMessage, OutgoingHttpHeaders } from "node:http";
import type { Readable } from "node:stream";
import { setImmediate } from "node:timers/promises";
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from "fastify";
import type { Authenticator, Credential } from "../access/authenticate.ts";
import type { Limiter } from "../access/limiter.ts";
import type { IntakeLimits } from "../http/intake-settings.ts";
import { Problem, unavailable } from "../http/problem.ts";
import { errorFields, type Log } from "../lib/log.ts";
import type { SecretBox } from "../lib/secret-box.ts";
import { readTrace } from "../lib/trace.ts";
import { poll } from "../lib/wait.ts";
import type { Span, Tracing } from "../tracing/tracing.ts";
import type { AccountTurns } from "./account-turns.ts";
import { closeUnread, collectBody, hasLargeRest, holdBody, NO_BODY_ALLOWED } from "./body.ts";
import { admit, chargeMore, createReader, isAdmitted } from "./checks.ts";
import { FailedAuthentications } from "./failed-authentications.ts";
import { Intake, type Arrival } from "./intake.ts";
import { certificateEnd, listenOn } from "./listening.ts";
import type { Metrics } from "./metrics.ts";
import type { Page } from "./page.ts";
import {
  beginSpan,
  callerOf,
  decodedPath,
  headerFault,
  isFromThisMachine,
  methodTable,
  originOf,
  requestLine,
  settleHook,
  singles,
} from "./requests.ts";
import {
  BODY_LIMIT_BYTES,
  commonHeaders,
  contentTypeFor,
  JSON_TYPE,
  newRequestId,
  respondToBrokenRequest,
  toProblem,
} from "./responses.ts";
import type { Call, Route, RouteResponse, StreamResponse } from "./route.ts";
import { guardSockets } from "./sockets.ts";
import { begin, goneSignal, pumpFrames } from "./stream.ts";

export type ServerOptions = {
  host: string;
  port: number;
  /** The number of processes that share the port. */
  workers: number;
  tls: { cert: Buffer; key: Buffer } | undefined;
  trustedProxies: readonly string[];
  requestTimeoutMs: number;
  failureDelayMs: number;
  intake: IntakeLimits;
  routes: readonly Route[];
  /** The paths that need no credential: health, metrics, documents. */
  pages: readonly Page[];
  authenticator: Authenticator;
  limiter: Limiter;
  /** Makes the keyed hashes of idempotency keys. */
  box: SecretBox;
  turns: AccountTurns;
  metrics: Metrics;
  log: Log;
  tracing?: Tracing | undefined;
  /** Writes the log line of a request. The fields are JSON already. */
  writeLogLine: (fields: string) => void;
};

declare module "fastify" {
  interface FastifyRequest {
    credential: Credential | undefined;
    /** Set for every request that the router has accepted. */
    arrival: Arrival;
    heldBody: Readable | undefined;
    /** The span of an admitted request, with tracing. */
    span: Span | undefined;
  }
  interface FastifyContextConfig {
    writeProblem?: Page["writeProblem"] | undefined;
  }
}

const MAX_HEADER_BYTES = 16_384;
// Longer than common load balancers keep a connection idle, so that the load balancer closes it and not this server.
const KEEP_ALIVE_MS = 75_000;
const CHECK_CONNECTIONS_MS = 500;
// Within the thirty seconds of a stop, with time for the database to stop afterwards.
const DRAIN_MS = 12_000;

// Only in logs and metrics: the client closed the connection before the response was complete. Proxies commonly use this number.
const CLIENT_CLOSED = 499;

export class Server {
  readonly #options: ServerOptions;
  readonly #app: FastifyInstance;
  readonly #allowedMethods: (path: string) => string[];
  readonly #intake: Intake;
  /** Ends streaming responses. */
  readonly #streaming = new AbortController();
  readonly #failures: FailedAuthentications;
  /** The requests whose clients send the body only after `100 Continue`. */
  readonly #awaitingContinue = new WeakSet<IncomingMessage>();
  #isDraining = false;
  #inFlight = 0;

  constructor(options: ServerOptions) {
    this.#options = options;
    this.#failures = new FailedAuthentications(options.failureDelayMs);
    this.#allowedMethods = methodTable([...options.routes, ...options.pages]);
    this.#intake = new Intake(options.intake, options.trustedProxies, (reason) => options.metrics.rejected(reason));
    this.#app = this.#createApp();
    this.#addHooks();
    for (const route of options.routes) this.#addRoute(route);
    for (const page of options.pages) this.#addPage(page);
    guardSockets(this.#app, options, { intake: this.#intake, awaitingContinue: this.#awaitingContinue });
    if (options.tls !== undefined) options.metrics.certificateEnds(certificateEnd(options.tls.cert));
  }

  /** Starts to listen and returns the URL. */
  async listen(): Promise<string> {
    return listenOn(this.#app, this.#options);
  }

  /** New connections use the new certificate; old ones keep theirs until they close. */
  reloadTls(pair: { cert: Buffer; key: Buffer }): void {
    (this.#app.server as unknown as { setSecureContext(options: object): void }).setSecureContext({ ...pair, minVersion: "TLSv1.3" });
    this.#options.metrics.certificateEnds(certificateEnd(pair.cert));
  }

  /** Stops the server. New requests get a 503 at once; running requests finish. */
  async stop(): Promise<void> {
    this.#isDraining = true;
    this.#streaming.abort();
    await poll(async () => (this.#inFlight === 0 ? true : undefined), { timeoutMs: DRAIN_MS, everyMs: 10 });
    const closed = this.#app.close();
    this.#app.server.closeIdleConnections();
    await poll(async () => (this.#inFlight === 0 ? true : undefined), { timeoutMs: 1_000, everyMs: 10 });
    this.#app.server.closeAllConnections();
    await closed;
  }

  #createApp(): FastifyInstance {
    const { tls, trustedProxies, requestTimeoutMs, log } = this.#options;
    const isTls = tls !== undefined;
    const connection = {
      maxHeaderSize: MAX_HEADER_BYTES,
      connectionsCheckingInterval: CHECK_CONNECTIONS_MS,
      headersTimeout: requestTimeoutMs,
      // Node compares both before Fastify sets it.
      requestTimeout: requestTimeoutMs,
      // Node would respond to a missing Host header itself, without a request id.
      requireHostHeader: false,
    };
    return Fastify({
      ...(isTls ? { https: { ...connection, ...tls, minVersion: "TLSv1.3" } } : { http: connection }),
      logger: false,
      genReqId: newRequestId,
      trustProxy: trustedProxies.length > 0 ? [...trustedProxies] : false,
      bodyLimit: BODY_LIMIT_BYTES,
      requestTimeout: requestTimeoutMs,
      keepAliveTimeout: KEEP_ALIVE_MS,
      // Requests that arrive during the close reach the hook of this server, and so get a problem as the response.
      return503OnClosing: false,
      forceCloseConnections: false,
      routerOptions: { maxParamLength: 200 },
      clientErrorHandler: (error, socket) => {
        const requestId = respondToBrokenRequest(error, socket, isTls);
        if (requestId !== undefined) log.info({ request_id: requestId, reason: error.code }, "unreadable request");
      },
      // An invalid URL fails before any hook, so the work of the hook is done here.
      frameworkErrors: (error, request, reply) => {
        this.#begin(request, reply);
        void this.#sendError(error, request, reply);
      },
    });
  }

  #addHooks(): void {
    const app = this.#app;
    app.removeAllContentTypeParsers();
    // `checks.ts` checks the media type before; here the bytes are only collected. The first name is the fast path.
    for (const type of ["application/json", "*"])
      app.addContentTypeParser(type, (request, payload, done) => collectBody(payload, request.arrival.body ?? NO_BODY_ALLOWED, done));
    app.decorateRequest("credential", undefined);
    app.decorateRequest("arrival");
    app.decorateRequest("heldBody", undefined);
    app.decorateRequest("span", undefined);
    app.addHook("onRequest", (request, reply, done) => {
      this.#begin(request, reply);
      done(this.#earlyRefusal(request, reply) ?? this.#takeIn(request));
    });
    app.setErrorHandler((error, request, reply) => this.#sendError(error as Error, request, reply));
    app.setNotFoundHandler((request, reply) => this.#sendError(this.#unmatched(request), request, reply));
  }

  /** Sets the common headers. When the response ends, it is counted and logged. */
  #begin(request: FastifyRequest, reply: FastifyReply): void {
    this.#inFlight += 1;
    const startedAt = performance.now();
    // Not `onResponse`, which does not fire when the client disconnects before the end of the body.
    reply.raw.once("close", () => this.#onClose(request, reply, performance.now() - startedAt));
    reply.headers(commonHeaders(request.id, this.#options.tls !== undefined));
  }

  #onClose(request: FastifyRequest, reply: FastifyReply, tookMs: number): void {
    this.#inFlight -= 1;
    (request.arrival as Arrival | undefined)?.end();
    const route = request.routeOptions.url ?? "unmatched";
    const status = reply.raw.writableFinished ? reply.statusCode : CLIENT_CLOSED;
    this.#options.metrics.responded(route, request.method, status, tookMs / 1_000);
    request.span?.end({ "http.response.status_code": status }, status >= 500);
    this.#options.writeLogLine(requestLine(request, route, status, tookMs));
  }

  /** Refuses a request before its body is read. */
  #earlyRefusal(request: FastifyRequest, reply: FastifyReply): Problem | undefined {
    if (this.#isDraining) {
      reply.header("connection", "close");
      return unavailable("the service is stopping");
    }
    const fault = headerFault(request.raw);
    if (fault !== undefined) return new Problem("invalid_request_payload", { errors: [fault] });
    if (request.is404) return this.#unmatched(request);
    return undefined;
  }

  #takeIn(request: FastifyRequest): Problem | undefined {
    try {
      request.arrival = this.#intake.begin(request);
      return undefined;
    } catch (error) {
      return error as Problem;
    }
  }

  #unmatched(request: FastifyRequest): Problem {
    const [path = ""] = request.url.split("?");
    const allowed = this.#allowedMethods(decodedPath(path));
    if (allowed.length === 0) return new Problem("not_found", { detail: "no such path" });
    return new Problem("method_not_allowed", { detail: `use ${allowed.join(", ")}`, headers: { allow: allowed.join(", ") } });
  }

  #addRoute(route: Route): void {
    const { parse, check, read } = createReader(route, this.#options.box);
    const bodyLimit = route.maxBodyBytes ?? BODY_LIMIT_BYTES;
    const { metrics, tracing } = this.#options;
    this.#app.route({
      method: route.method,
      url: fastifyPath(route.path),
      bodyLimit,
      onRequest: (request, reply, done) => {
        const keep = (credential: Credential): undefined => {
          if (route.method !== "GET") this.#intake.reserveFor(credential.environmentKey, request, bodyLimit);
          if (tracing !== undefined) request.span = beginSpan(tracing, route, request, credential);
        };
        settleHook(done, () => {
          const credential = admit(route, request, reply, this.#options);
          if (!(credential instanceof Promise)) return keep(credential);
          // Handled here as well, for a request that is refused below while its credential is looked up.
          void credential.catch(() => undefined);
          this.#intake.holdAnonymous(request, BODY_LIMIT_BYTES);
          request.heldBody = holdBody(request);
          return credential.then(keep);
        });
      },
      preParsing: (request, reply, payload, done) => {
        this.#askForBody(request, reply);
        done(null, request.heldBody ?? payload);
      },
      handler: async (request, reply) => {
        const credential = request.credential as Credential;
        request.arrival.complete();
        // Only a body above the usual limit takes long enough to be read in several turns of the event loop.
        const isLarge = Buffer.isBuffer(request.body) && request.body.length > BODY_LIMIT_BYTES;
        const parsed = parse(request);
        if (route.cost !== undefined) await chargeMore(route, parsed.value, credential, reply, this.#options);
        if (isLarge) await setImmediate();
        const checked = check(request, parsed);
        if (isLarge) await setImmediate();
        const call = read(request, checked, credential, {
          origin: () => callerOf(request, credential),
          writeProblem: (problem) => problem.toBody(originOf(request), request.id),
          isAdmitted: () => isAdmitted(this.#options.authenticator, request),
          gone: () => goneSignal(reply.raw, this.#streaming.signal),
          trace: request.span?.trace ?? (route.keepsTrace ? readTrace(request.headers) : undefined),
        });
        const response = await this.#run(route, call);
        if ("frames" in response) return this.#stream({ ...response, frames: await begin(response.frames) }, reply);
        if (response.isReplay) {
          reply.header("idempotent-replayed", "true");
          metrics.replayed();
        }
        if (response.location) reply.header("location", response.location);
        return reply.code(response.status).header("content-type", contentTypeFor(response.status)).send(response.body);
      },
    });
  }

  /** Node would ask for the body of a request that is refused as well. */
  #askForBody({ raw }: FastifyRequest, reply: FastifyReply): void {
    if (this.#awaitingContinue.has(raw)) reply.raw.writeContinue();
  }

  /** The work counts as in flight even after its client has disconnected, so that a stop waits for it. */
  async #run(route: Route, call: Call<never, never, never>): Promise<RouteResponse | StreamResponse> {
    this.#inFlight += 1;
    try {
      return await this.#options.turns.run(route, call.credential, () => route.handle(call));
    } finally {
      this.#inFlight -= 1;
    }
  }

  async #stream({ status, contentType, frames }: StreamResponse, reply: FastifyReply): Promise<FastifyReply> {
    reply.hijack();
    reply.raw.writeHead(status, { ...(reply.getHeaders() as OutgoingHttpHeaders), "content-type": contentType });
    await pumpFrames(reply.raw, frames, { signal: this.#streaming.signal }).catch((error: unknown) => {
      this.#options.log.error(
        { event: "http.stream_failed", request_id: reply.request.id, ...errorFields(error) },
        "a streaming response failed",
      );
      reply.raw.destroy();
    });
    return reply;
  }

  #addPage(page: Page): void {
    this.#app.route({
      method: page.method,
      url: fastifyPath(page.path),
      bodyLimit: page.maxBodyBytes ?? BODY_LIMIT_BYTES,
      config: { writeProblem: page.writeProblem },
      onRequest: (request, _reply, done) => {
        settleHook(done, () => {
          const { maxBodyBytes } =
            page.admit?.({ params: request.params as Record<string, string>, headers: singles(request.headers) }) ?? page;
          if (page.method !== "GET" && maxBodyBytes !== undefined) this.#intake.reserveAnonymous(request, maxBodyBytes);
          return undefined;
        });
      },
      preParsing: (request, reply, payload, done) => {
        this.#askForBody(request, reply);
        done(null, payload);
      },
      handler: async (request, reply) => {
        const origin = originOf(request);
        const {
          status,
          contentType,
          body,
          headers = {},
        } = await page.render({
          params: request.params as Record<string, string>,
          query: singles(request.query as Record<string, unknown>),
          headers: singles(request.headers),
          url: `${origin}${request.url}`,
          body: page.maxBodyBytes !== undefined && Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0),
          peer: request.ip,
          isLocal: isFromThisMachine(request.raw),
          origin,
        });
        return reply.code(status).headers(headers).header("content-type", contentType).send(body);
      },
    });
  }

  async #sendError(error: Error, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    // An unread body must not block the next request of the connection.
    request.heldBody?.resume();
    if (request.credential === undefined && hasLargeRest(request.raw)) closeUnread(request, reply);
    const known = toProblem(error, request.routeOptions.bodyLimit);
    const problem = known ?? new Problem("internal_server_error", { detail: "quote the request id when you report this" });
    if (problem.status === 401) this.#options.metrics.failedToAuthenticate(problem.code);
    if (problem.status === 401) await this.#failures.delay(request.ip, this.#streaming.signal);
    // A refusal for load has no cause, and is expected: a line for each would help to overload the service.
    if (known === undefined || (known.status >= 500 && known.cause !== undefined))
      this.#options.log.error(
        { event: "http.request_failed", request_id: request.id, code: problem.code, ...errorFields(known?.cause ?? error) },
        "request failed",
      );
    const { writeProblem } = request.routeOptions.config;
    const origin = originOf(request);
    return reply
      .code(problem.status)
      .headers(problem.headers)
      .header("content-type", writeProblem === undefined ? contentTypeFor(problem.status) : JSON_TYPE)
      .send(writeProblem?.(problem, origin, request.id) ?? problem.toBody(origin, request.id));
  }
}

const fastifyPath = (path: string): string => path.replaceAll(/\{(\w+)\}/g, ":$1");
