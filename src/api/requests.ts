/** Helpers of the server that read a raw request: the methods of its path, its origin, and its line in the log. */
import { METHODS, type IncomingMessage } from "node:http";
import type { Credential } from "../access/authenticate.ts";
import { encodeId } from "../model/id.ts";
import type { ChangeOrigin } from "../model/origin.ts";
import { readTrace } from "../lib/trace.ts";
import type { Span, Tracing } from "../tracing/tracing.ts";
import { MAX_PARAMETER_LENGTH, type Exchange } from "./exchange.ts";
import type { Route } from "./route.ts";
import type { Fault } from "../http/problem.ts";
import { isLoopback } from "../lib/addresses.ts";

/** Decodes a path like the router. */
export function decodedPath(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

/** Finds the methods of a path. Only requests without a route need it, so it may test each pattern in turn. */
export function methodTable(rows: readonly { method: string; path: string }[]): (path: string) => string[] {
  const patterns = rows.map(({ method, path }) => ({
    method,
    pattern: new RegExp(`^${path.replaceAll(".", "\\.").replaceAll(/\{\w+\}/g, `[^/]{1,${MAX_PARAMETER_LENGTH}}`)}$`),
  }));
  return (path) => {
    const methods = new Set(patterns.filter(({ pattern }) => pattern.test(path)).map(({ method }) => method));
    if (methods.has("GET")) methods.add("HEAD");
    return METHODS.filter((method) => methods.has(method)).toSorted();
  };
}

/** The caller of a request: the API key, or an access token of the key. */
export const callerOf = ({ ip, id }: Exchange, { keyId, keyName, tokenExpiresAtMs }: Credential): ChangeOrigin => ({
  actor: { type: tokenExpiresAtMs === null ? "key" : "token", id: encodeId("key", keyId), name: keyName },
  peer: ip,
  requestId: id,
});

/** The fields of a request's log line, as JSON. Every value is a number, a known word, or consists of characters that JSON does not escape. */
export function requestLine(exchange: Exchange, route: string, status: number, tookMs: number): string {
  const { id, method, credential, request, ip } = exchange;
  // A client without a credential must not be able to write to the log.
  const clientRequestId = credential && sanitized(request.headers["x-request-id"]);
  return (
    `,"request_id":"${id}","method":"${method}","route":"${route}","status":${status},"ms":${Math.round(tookMs * 100) / 100}` +
    `,"peer":"${sanitized(ip) ?? ""}"${credential === undefined ? "" : credentialFields(credential)}` +
    `${clientRequestId === undefined ? "" : `,"client_request_id":"${clientRequestId}"`},"msg":"request"`
  );
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

/** Returns the fault of a request without Host, or with two of a header that must be there once: Node silently keeps the first of several, and a
 *  proxy in front of this service may use another one. */
export function headerFault({ rawHeaders, headers, httpVersion }: IncomingMessage): Fault | undefined {
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
export const isFromThisMachine = ({ headers, socket }: IncomingMessage): boolean =>
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
