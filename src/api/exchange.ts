/** One request with its response: what the server knows of it while it runs, how it finds its row, and how it responds. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Readable } from "node:stream";
import findMyWay, { type HTTPMethod } from "find-my-way";
import type { Credential } from "../access/authenticate.ts";
import { Problem } from "../http/problem.ts";
import type { Span } from "../tracing/tracing.ts";
import type { Arrival } from "./intake.ts";
import type { Page } from "./page.ts";
import type { ProxyTrust } from "./proxy-trust.ts";
import { commonHeaders, newRequestId } from "./responses.ts";

const NO_CONTENT = 204;
const NOT_MODIFIED = 304;

/** The path of a request as the router writes it, and the form of its errors. */
export type Matched = { path: string; writeProblem?: Page["writeProblem"] | undefined };

/** The same for all requests of a server. */
export type ExchangeOptions = { proxies: ProxyTrust; isTls: boolean };

export class Exchange {
  readonly id = newRequestId();
  readonly startedAt = performance.now();
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** The address of the client; behind a trusted proxy, the one that the proxy names. */
  readonly ip: string;
  /** Set if the router knows the path. */
  matched: Matched | undefined;
  params: Readonly<Record<string, string>> = {};
  query: Readonly<Record<string, unknown>> = {};
  credential: Credential | undefined;
  /** Set for every request that a row accepts. */
  arrival: Arrival | undefined;
  heldBody: Readable | undefined;
  body: Buffer | undefined;
  /** The span of an admitted request, with tracing. */
  span: Span | undefined;
  /** The status of the response, once there is one. */
  status = 0;
  readonly #proxies: ProxyTrust;
  readonly #isTls: boolean;
  /** Names and values of the response's headers in turn, the fastest form for Node. */
  readonly #headers: string[];

  constructor(request: IncomingMessage, response: ServerResponse, { proxies, isTls }: ExchangeOptions) {
    this.request = request;
    this.response = response;
    this.#proxies = proxies;
    this.#isTls = isTls;
    this.ip = proxies.addressOf(request);
    this.#headers = commonHeaders(this.id, isTls);
  }

  get method(): string {
    return this.request.method ?? "";
  }

  /** The path with its query, as the client sent it. */
  get url(): string {
    return this.request.url ?? "";
  }

  /** The origin that the client used, for links in its responses. An origin with other characters than those of a host, or with another scheme
   *  than that of a web page, is dropped: a proxy may pass on what its client wrote. */
  get origin(): string {
    const own = this.#isTls ? "https" : "http";
    const protocol = this.#proxies.forwarded(this.request, "x-forwarded-proto") ?? own;
    const host = this.#proxies.forwarded(this.request, "x-forwarded-host") ?? this.request.headers.host ?? "";
    return /^https?$/.test(protocol) && /^[A-Za-z0-9.:[\]-]{1,255}$/.test(host) ? `${protocol}://${host}` : "";
  }

  /** Sets a header of the response. */
  header(name: string, value: string): void {
    const headers = this.#headers;
    for (let at = 0; at < headers.length; at += 2) {
      if (headers[at] !== name) continue;
      headers[at + 1] = value;
      return;
    }
    headers.push(name, value);
  }

  headers(all: Readonly<Record<string, string>>): void {
    for (const name of Object.keys(all)) this.header(name, all[name] as string);
  }

  send(status: number, contentType: string, body: string | Buffer): void {
    const hasContent = status !== NO_CONTENT && status !== NOT_MODIFIED;
    if (hasContent) {
      this.header("content-type", contentType);
      this.header("content-length", String(Buffer.byteLength(body)));
    }
    this.#writeHead(status);
    if (hasContent) this.response.end(body);
    else this.response.end();
  }

  /** Sends the head of a response whose body is a stream. */
  beginStream(status: number, contentType: string): void {
    this.header("content-type", contentType);
    this.#writeHead(status);
  }

  #writeHead(status: number): void {
    this.status = status;
    this.response.writeHead(status, this.#headers);
  }
}

/** The work for the requests of one path. */
export type RoutedRow = Matched & {
  method: HTTPMethod;
  /** Checks a request before its body is read. Returns the rest of the work, for which the body is read; throws if the request is
   *  refused. */
  admit: (exchange: Exchange) => Promise<() => Promise<void>>;
};

/** A path with a longer parameter is unknown. */
export const MAX_PARAMETER_LENGTH = 200;

/** Returns a function that finds the row of a request and reads the parameters of its path and query. Undefined: no row. Throws for a URL that
 *  cannot be decoded. */
export function createRouter(rows: readonly RoutedRow[]): (exchange: Exchange) => RoutedRow | undefined {
  const router = findMyWay({ maxParamLength: MAX_PARAMETER_LENGTH, onBadUrl: () => undefined });
  for (const row of rows) router.on(row.method === "GET" ? ["GET", "HEAD"] : row.method, row.path, () => undefined, row);
  return (exchange) => {
    const found = router.find(exchange.method as HTTPMethod, exchange.url);
    if (found === null) return undefined;
    const row = found.store as RoutedRow | null;
    if (row === null) throw new Problem("invalid_request_payload", { detail: "the URL is not valid" });
    exchange.matched = row;
    exchange.params = found.params as Readonly<Record<string, string>>;
    exchange.query = found.searchParams;
    return row;
  };
}

/** The path of a route in the form of the router: `/v1/messages/:id`. */
export const routerPath = (path: string): string => path.replaceAll(/\{(\w+)\}/g, ":$1");
