/** Helpers of the server that read a raw request: its origin, its headers, and its line in the log. */
import type { IncomingMessage } from "node:http";
import type { Credential } from "../access/authenticate.ts";
import type { AnsweredRequest } from "../model/answered-request.ts";
import { encodeId } from "../model/id.ts";
import type { ChangeOrigin } from "../model/origin.ts";
import { readTrace, traceIdOf } from "../lib/trace.ts";
import type { Span, Tracing } from "../tracing/tracing.ts";
import { compress } from "./compression.ts";
import type { Exchange, Matched } from "./exchange.ts";
import type { Page } from "./page.ts";
import { nextPageOf } from "./paging.ts";
import { CLIENT_CLOSED, contentTypeFor, JSON_TYPE } from "./responses.ts";
import type { Route, RouteResponse, StreamResponse } from "./route.ts";
import { begin } from "./stream.ts";
import { Problem, type Fault } from "../http/problem.ts";
import { isLoopback } from "../lib/addresses.ts";

/** The caller of a request: the API key, or an access token of the key. */
export const callerOf = ({ ip, id }: Exchange, { keyId, keyName, tokenExpiresAtMs }: Credential): ChangeOrigin => ({
  actor: { type: tokenExpiresAtMs === null ? "key" : "token", id: encodeId("key", keyId), name: keyName },
  peer: ip,
  requestId: id,
});

// They come every second from every load balancer.
const PROBES: ReadonlySet<string> = new Set(["/livez", "/readyz", "/metrics"]);

export type Reports = {
  /** The share of the requests with a status below 400 that have a line in the log of the service. */
  logSample: number;
  /** Writes the log line of a request. The fields are JSON already. */
  writeLogLine: (fields: string) => void;
  /** Notes a request of the API for the request log of its account. */
  note: (credential: Credential, status: number, describe: () => AnsweredRequest) => void;
};

type Outcome = { status: number; tookMs: number };

/** Reports a request that has ended to the log of the service, and to the request log of its account. */
export function report(exchange: Exchange, route: string, outcome: Outcome, { logSample, writeLogLine, note }: Reports): void {
  const { credential, matched } = exchange;
  const { status } = outcome;
  const isLogged = !PROBES.has(route) && (status >= 400 || logSample === 1 || Math.random() < logSample);
  if (isLogged) writeLogLine(requestLine(exchange, route, outcome));
  if (credential !== undefined && matched?.operation !== undefined && !isViewOfConsole(exchange, matched, status))
    note(credential, status, () => answeredRequest(exchange, matched, outcome));
}

/** Whether the console shows something to a person. It reads again every few seconds, validates a message while the person types, and would fill
 *  the request log. Its event streams end when the person leaves. */
const isViewOfConsole = ({ request }: Exchange, { isReadOnly = false }: Matched, status: number): boolean =>
  isReadOnly && (status < 400 || status === CLIENT_CLOSED) && request.headers["sec-fetch-site"] === "same-origin";

/** The fields of a request's log line, as JSON. Every value is a number, a known word, or consists of characters that JSON does not escape. */
function requestLine(exchange: Exchange, route: string, { status, tookMs }: Outcome): string {
  const { id, method, credential, request, ip } = exchange;
  // A client without a credential must not be able to write to the log.
  const clientRequestId = credential && sanitized(request.headers["x-request-id"]);
  return (
    `,"request_id":"${id}","method":"${method}","route":"${route}","status":${status},"ms":${Math.round(tookMs * 100) / 100}` +
    `,"peer":"${sanitized(ip) ?? ""}"${credential === undefined ? "" : credentialFields(credential) + subjectFields(exchange)}` +
    `${clientRequestId === undefined ? "" : `,"client_request_id":"${clientRequestId}"`},"msg":"request"`
  );
}

const MESSAGE_PATH = /^\/v1\/messages\/(msg_[0-9a-z]{26})(?:\/|$)/;
const MESSAGE_ID = /^msg_[0-9a-z]{26}$/;

/** The id of the message that the request created or named. */
function messageOf({ location, params }: Exchange): string | undefined {
  const named = params["id"];
  return location === undefined ? (MESSAGE_ID.test(named ?? "") ? named : undefined) : MESSAGE_PATH.exec(location)?.[1];
}

/** The message that the request created or named, and the trace that it named. */
function subjectFields(exchange: Exchange): string {
  const { request } = exchange;
  const id = messageOf(exchange);
  const trace = request.headers["traceparent"] === undefined ? undefined : readTrace(request.headers);
  return (id === undefined ? "" : `,"message_id":"${id}"`) + (trace === undefined ? "" : `,"trace_id":"${traceIdOf(trace)}"`);
}

/** Describes a request for the request log. */
function answeredRequest(exchange: Exchange, { path, operation = "" }: Matched, { status, tookMs }: Outcome): AnsweredRequest {
  const { requestId, method, params, isReplay, ip, request, body, sentBytes, refusal } = exchange;
  // The query and the body of a compatible API may have a password.
  const isOurs = exchange.matched?.writeRefusal === undefined;
  return {
    id: requestId,
    operation,
    method,
    route: path,
    params,
    query: isOurs ? exchange.query : {},
    status,
    tookMs,
    isReplay,
    peer: ip,
    userAgent: request.headers["user-agent"],
    requestBytes: body?.length ?? exchange.uploadedBytes,
    responseBytes: sentBytes,
    messageId: messageOf(exchange),
    refused: refusal === undefined ? undefined : { body: isOurs ? body : undefined, problem: refusal },
  };
}

const written = new WeakMap<Credential, string>();

/** The fields of a credential. A cached credential is written once. */
function credentialFields(credential: Credential): string {
  let fields = written.get(credential);
  if (fields === undefined) {
    const { environment, accountId, keyId } = credential;
    fields = `,"environment":"${environment}","account_id":"${encodeId("acct", accountId)}","key_id":"${encodeId("key", keyId)}"`;
    written.set(credential, fields);
  }
  return fields;
}

const sanitized = (text: string | string[] | undefined): string | undefined =>
  typeof text === "string" ? text.replaceAll(/[^\w.:-]/g, "").slice(0, 64) || undefined : undefined;

/** The values that occur once. */
export const singles = (values: Readonly<Record<string, unknown>>): Record<string, string> =>
  Object.fromEntries(Object.entries(values).filter((entry): entry is [string, string] => typeof entry[1] === "string"));

// A browser sends about twenty, and proxies add some. Node would keep hundreds for each request that has not arrived.
export const MAX_HEADERS = 100;
// Those of a carrier's callback. Each one is decoded, and checked against the names that the route knows.
const MAX_PARAMETERS = 200;

/** Whether Node has dropped some headers. It keeps a few more than the limit in the raw list of names and values. */
export const hasTooManyHeaders = ({ rawHeaders }: IncomingMessage): boolean => rawHeaders.length > 2 * MAX_HEADERS;

const UNCLEAR_FRAMING = { header: "Transfer-Encoding", code: "invalid_value", detail: "must be chunked, in HTTP/1.1" };

/** Returns the problem of a request that is refused whatever its path is. Its connection is closed, because other programs may understand
 *  its bytes in another way. */
export function malformation(request: IncomingMessage): Problem | undefined {
  if (hasTooManyHeaders(request)) return new Problem("request_header_fields_too_large", { detail: `more than ${MAX_HEADERS} headers` });
  const fault = isFramingUnclear(request) ? UNCLEAR_FRAMING : headerFault(request);
  if (fault !== undefined) return new Problem("invalid_request_payload", { errors: [fault] });
  return hasTooManyParameters(request.url ?? "")
    ? new Problem("invalid_request_payload", { detail: `the query has more than ${MAX_PARAMETERS} parameters` })
    : undefined;
}

function hasTooManyParameters(url: string): boolean {
  let count = 0;
  for (let at = url.indexOf("?"); at !== -1 && count <= MAX_PARAMETERS; at = url.indexOf("&", at + 1)) count += 1;
  return count > MAX_PARAMETERS;
}

/** Whether the length of the body can be understood in more than one way (RFC 9112 §6.1): Node reads a body with other codings than `chunked`
 *  as if it had none of them, and chunks in HTTP/1.0, which has none. */
const isFramingUnclear = ({ headers: { "transfer-encoding": encoding }, httpVersion }: IncomingMessage): boolean =>
  encoding !== undefined && (httpVersion !== "1.1" || encoding.toLowerCase() !== "chunked");

/** Returns the fault of a request without Host, or with two of a header that must be there once: Node silently keeps the first of several, and a
 *  proxy in front of this service may use another one. */
function headerFault({ rawHeaders, headers, httpVersion }: IncomingMessage): Fault | undefined {
  if (headers.host === undefined && httpVersion === "1.1") return { header: "Host", code: "required", detail: "is required" };
  const header = repeated(rawHeaders, "Host") ?? repeated(rawHeaders, "Authorization") ?? repeated(rawHeaders, "Content-Type");
  return header === undefined ? undefined : { header, code: "repeated", detail: "must be sent exactly once" };
}

/** Returns the name of a header that is there more than once. Names and values alternate in the raw list. */
function repeated(rawHeaders: readonly string[], header: string): string | undefined {
  let count = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] as string;
    if (name.length === header.length && (name === header || name.toLowerCase() === header.toLowerCase())) count += 1;
  }
  return count > 1 ? header : undefined;
}

// A proxy that adds none of these to its requests looks like a client on this machine.
const FORWARDING_HEADERS = ["forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip"];

/** Whether the request comes from this machine: over a loopback address, under a local name, and not through a proxy. A web page whose name
 *  resolves to a loopback address has its own name in Host. */
const isFromThisMachine = ({ headers, socket }: IncomingMessage): boolean =>
  isLoopback(socket.remoteAddress ?? "") &&
  isLoopback(hostName(headers.host ?? "localhost")) &&
  FORWARDING_HEADERS.every((name) => headers[name] === undefined);

/** The name or address in a Host header, without its port and the brackets of IPv6. */
const hostName = (host: string): string => host.replace(/:\d+$/, "").replace(/^\[(.*)\]$/, "$1");

export const beginSpan = (
  tracing: Tracing,
  { method, path }: Route,
  { id, request }: Exchange,
  { environment }: Credential,
): Span | undefined =>
  tracing.beginTrace(`${method} ${path}`, "server", readTrace(request.headers), {
    "http.request.method": method,
    "http.route": path,
    "godwit.request_id": id,
    "godwit.environment": environment,
  });

export async function sendReply(route: Route, exchange: Exchange, response: RouteResponse): Promise<void> {
  const { status, body, contentType = contentTypeFor(status), headers, location, isReplay } = response;
  if (isReplay) exchange.isReplay = true;
  if (location) exchange.location = location;
  if (headers) exchange.headers(headers);
  if (route.compatible !== undefined) return exchange.send(status, contentType, body);
  if (isReplay) exchange.header("idempotent-replayed", "true");
  if (location) exchange.header("location", location);
  const next = route.query === undefined ? undefined : nextPageOf(exchange.url, body);
  if (next !== undefined) exchange.header("link", `<${next}>; rel="next"`);
  exchange.send(status, contentType, route.isCompressible === true ? await compress(exchange, body) : body);
}

/** Sends a refusal in the form of its route or page. */
export function sendRefusal(exchange: Exchange, problem: Problem): void {
  const { origin, id, matched } = exchange;
  exchange.headers(problem.headers);
  if (matched?.writeRefusal !== undefined) {
    const { status, contentType = contentTypeFor(problem.status), body, headers = {} } = matched.writeRefusal(problem, origin);
    exchange.headers(headers);
    exchange.send(status, contentType, body);
    // The request log explains the refusal in its own form.
    exchange.refusal = problem.toBody(origin, id);
    return;
  }
  const own = matched?.writeProblem?.(problem, origin, id);
  exchange.send(problem.status, own === undefined ? contentTypeFor(problem.status) : JSON_TYPE, own ?? problem.toBody(origin, id));
}

type Stream = (response: StreamResponse, exchange: Exchange) => Promise<void>;

export async function respondWithPage(page: Page, exchange: Exchange, stream: Stream): Promise<void> {
  const { params, query, request, url, ip, origin, body } = exchange;
  const rendered = await page.render({
    params,
    query: singles(query),
    headers: singles(request.headers),
    url: `${origin}${url}`,
    body: (page.maxBodyBytes === undefined ? undefined : body) ?? Buffer.alloc(0),
    peer: ip,
    isLocal: isFromThisMachine(request),
    origin,
  });
  if ("frames" in rendered) return stream({ ...rendered, frames: await begin(rendered.frames) }, exchange);
  exchange.headers(rendered.headers ?? {});
  exchange.send(rendered.status, rendered.contentType, rendered.body);
}
