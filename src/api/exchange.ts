/** One request with its response: what the server knows of it while it runs, how it finds its row, and how it responds. */
import { METHODS, type IncomingMessage, type ServerResponse } from "node:http";
import type { Readable } from "node:stream";
import { all as addressesOf, compile } from "@fastify/proxy-addr";
import findMyWay, { type HTTPMethod } from "find-my-way";
import type { Credential } from "../access/authenticate.ts";
import { Problem } from "../http/problem.ts";
import { encodeId } from "../model/id.ts";
import type { Span } from "../tracing/tracing.ts";
import type { Arrival } from "./intake.ts";
import type { Page } from "./page.ts";
import type { RequestHead, Route } from "./route.ts";
import { commonHeaders, newRequestId } from "./responses.ts";

const NO_CONTENT = 204;
const NOT_MODIFIED = 304;

/** The path of a request as the router writes it, and the form of its errors. */
export type Matched = {
  path: string;
  /** The operation of an API route whose requests are in the request log. */
  operation?: string | undefined;
  /** The request stores and sends nothing. */
  isReadOnly?: boolean;
  writeProblem?: Page["writeProblem"] | undefined;
  /** The response to a refused request, for a compatible API. */
  writeRefusal?: NonNullable<Route["compatible"]>["writeRefusal"] | undefined;
};

/** The proxies that this server trusts to name the client: its address, and the origin that it used. */
type ProxyTrust = {
  /** The address of the client: that of the connection, or the one that trusted proxies name. */
  addressOf(request: IncomingMessage): string;
  /** The last value of a forwarding header, if the connection is that of a trusted proxy: the others may be those of a client. */
  forwarded(request: IncomingMessage, header: "x-forwarded-proto" | "x-forwarded-host"): string | undefined;
};

const NO_PROXY: ProxyTrust = {
  addressOf: ({ socket }) => socket.remoteAddress ?? "",
  forwarded: () => undefined,
};

/** `proxies`: addresses and CIDR blocks. */
export function trustProxies(proxies: readonly string[]): ProxyTrust {
  if (proxies.length === 0) return NO_PROXY;
  const isTrusted = compile([...proxies]);
  return {
    addressOf: (request) => addressesOf(request, isTrusted).at(-1) ?? "",
    forwarded: ({ headers, socket }, header) => {
      const value = headers[header];
      if (typeof value !== "string" || value === "" || !isTrusted(socket.remoteAddress ?? "", 0)) return undefined;
      return value.slice(value.lastIndexOf(",") + 1).trim();
    },
  };
}

/** The same for all requests of a server. `onUnread` gets each response, with its length, that the operating system has not taken at once. */
export type ExchangeOptions = {
  proxies: ProxyTrust;
  isTls: boolean;
  /** The base paths of host names whose paths leave them out. */
  basePaths?: ReadonlyMap<string, string> | undefined;
  onUnread: (exchange: Exchange, bytes: number) => void;
};

export class Exchange {
  readonly requestId = newRequestId();
  /** The id as the client sees it. */
  readonly id = encodeId("req", this.requestId);
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
  /** The handler reads the body as a stream. */
  isUpload = false;
  /** The bytes of such a body that have arrived. */
  uploadedBytes = 0;
  /** The span of an admitted request, with tracing. */
  span: Span | undefined;
  /** The path of the record that the request has created. */
  location: string | undefined;
  /** The status of the response, once there is one. */
  status = 0;
  /** The size of the response's body. */
  sentBytes = 0;
  isReplay = false;
  /** The body of the response to a refused request. */
  refusal: string | undefined;
  readonly #options: ExchangeOptions;
  /** Names and values of the response's headers in turn, the fastest form for Node. */
  readonly #headers: string[];

  constructor(request: IncomingMessage, response: ServerResponse, options: ExchangeOptions) {
    this.request = request;
    this.response = response;
    this.#options = options;
    this.ip = options.proxies.addressOf(request);
    this.#headers = commonHeaders(this.id, options.isTls);
  }

  get method(): string {
    return this.request.method ?? "";
  }

  /** The path with its query, as the client sent it. */
  get url(): string {
    return this.request.url ?? "";
  }

  /** The path with its query, as the router knows it. */
  get routedUrl(): string {
    const { basePaths, proxies } = this.#options;
    if (basePaths === undefined || basePaths.size === 0) return this.url;
    const host = proxies.forwarded(this.request, "x-forwarded-host") ?? this.request.headers.host ?? "";
    const base = basePaths.get(host.replace(/:\d+$/, "").toLowerCase());
    return base === undefined || !this.url.startsWith("/") ? this.url : base + this.url;
  }

  get head(): RequestHead {
    return { method: this.method, target: this.url, headers: this.request.headers };
  }

  /** The origin that the client used, for links in its responses. An origin with other characters than those of a host, or with another scheme
   *  than that of a web page, is dropped: a proxy may pass on what its client wrote. */
  get origin(): string {
    const { proxies, isTls } = this.#options;
    const protocol = proxies.forwarded(this.request, "x-forwarded-proto") ?? (isTls ? "https" : "http");
    const host = proxies.forwarded(this.request, "x-forwarded-host") ?? this.request.headers.host ?? "";
    return /^https?$/.test(protocol) && /^[A-Za-z0-9.:[\]-]{1,255}$/.test(host) ? `${protocol}://${host}` : "";
  }

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
    const bytes = hasContent ? Buffer.byteLength(body) : 0;
    this.sentBytes = bytes;
    if (status >= 400 && typeof body === "string") this.refusal = body;
    if (hasContent) {
      this.header("content-type", contentType);
      this.header("content-length", String(bytes));
    }
    this.#writeHead(status);
    if (hasContent) this.response.end(body);
    else this.response.end();
    if (this.request.socket.writableLength > 0) this.#options.onUnread(this, bytes);
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
const MAX_PARAMETER_LENGTH = 200;

export type Router = ReturnType<typeof createRouter>;

export function createRouter(rows: readonly RoutedRow[]) {
  const router = findMyWay({ maxParamLength: MAX_PARAMETER_LENGTH, onBadUrl: () => undefined });
  for (const row of rows) router.on(row.method === "GET" ? ["GET", "HEAD"] : row.method, row.path, () => undefined, row);
  /** Finds the row of a request and reads the parameters of its path and query. Undefined: no row. Throws for a URL that cannot be decoded. */
  const find = (exchange: Exchange): RoutedRow | undefined => {
    const found = router.find(exchange.method as HTTPMethod, exchange.routedUrl);
    if (found === null) return undefined;
    const row = found.store as RoutedRow | null;
    if (row === null) throw new Problem("invalid_request_payload", { detail: "the URL is not valid" });
    exchange.matched = row;
    exchange.params = found.params as Readonly<Record<string, string>>;
    exchange.query = found.searchParams;
    return row;
  };
  // A URL that cannot be decoded is found without a row. The router takes `*` for the root.
  const hasRow = (method: string, url: string): boolean =>
    url.startsWith("/") && (router.find(method as HTTPMethod, url)?.store ?? null) !== null;
  /** The methods of a path. Only requests without a row need them, so all methods are tried. */
  const methodsOf = (url: string): string[] => METHODS.filter((method) => hasRow(method, url)).toSorted();
  return { find, methodsOf };
}

/** The path of a route in the form of the router: `/v1/messages/:id`. */
export const routerPath = (path: string): string => path.replaceAll(/\{(\w+)\}/g, ":$1");
