/** Helpers of the server that read a raw request: the methods of its path, its origin, and its line in the log. */
import { METHODS, type IncomingMessage } from "node:http";
import type { FastifyRequest } from "fastify";
import type { Credential } from "../access/authenticate.ts";
import { encodeId } from "../lib/id.ts";
import type { ChangeOrigin } from "../lib/origin.ts";
import { readTrace } from "../lib/trace.ts";
import type { Span, Tracing } from "../tracing/tracing.ts";
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
    pattern: new RegExp(`^${path.replaceAll(".", "\\.").replaceAll(/\{\w+\}/g, "[^/]+")}$`),
  }));
  return (path) => {
    const methods = new Set(patterns.filter(({ pattern }) => pattern.test(path)).map(({ method }) => method));
    if (methods.has("GET")) methods.add("HEAD");
    return METHODS.filter((method) => methods.has(method)).toSorted();
  };
}

/** The caller of a request: the API key, or an access token of the key. */
export const callerOf = ({ ip, id }: FastifyRequest, { keyId, keyName, tokenExpiresAtMs }: Credential): ChangeOrigin => ({
  actor: { type: tokenExpiresAtMs === null ? "key" : "token", id: encodeId("key", keyId), name: keyName },
  peer: ip,
  requestId: id,
});

/** The fields of a request's log line, as JSON. Every value is a number, a known word, or consists of characters that JSON does not escape. */
export function requestLine(request: FastifyRequest, route: string, status: number, tookMs: number): string {
  const { id, method, credential, headers, ip } = request;
  // A client without a credential must not be able to write to the log.
  const clientRequestId = credential && sanitised(headers["x-request-id"]);
  return (
    `,"request_id":"${id}","method":"${method}","route":"${route}","status":${status},"ms":${Math.round(tookMs * 100) / 100}` +
    `,"peer":"${sanitised(ip) ?? ""}"${credential === undefined ? "" : credentialFields(credential)}` +
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

const sanitised = (text: string | string[] | undefined): string | undefined =>
  typeof text === "string" ? text.replaceAll(/[^\w.:-]/g, "").slice(0, 64) || undefined : undefined;

/** The values that occur once. */
export const singles = (values: Readonly<Record<string, unknown>>): Record<string, string> =>
  Object.fromEntries(Object.entries(values).filter((entry): entry is [string, string] => typeof entry[1] === "string"));

// Node silently keeps the first of several of these, and a proxy in front of this service may use another one.
const SINGLE_HEADERS = ["Host", "Authorization", "Content-Type"];
const LOWER_CASE = SINGLE_HEADERS.map((name) => name.toLowerCase());

/** Returns the fault of a request without Host, or with two of a header that must be there once. Names and values alternate in the raw list. */
export function headerFault({ rawHeaders, httpVersion }: IncomingMessage): Fault | undefined {
  const counts = SINGLE_HEADERS.map(() => 0);
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? "";
    const index = LOWER_CASE.findIndex((each) => each.length === name.length && each === name.toLowerCase());
    if (index >= 0) counts[index] = (counts[index] ?? 0) + 1;
  }
  if (counts[0] === 0 && httpVersion === "1.1") return { header: "Host", code: "required", detail: "is required" };
  const header = SINGLE_HEADERS[counts.findIndex((count) => count > 1)];
  return header === undefined ? undefined : { header, code: "repeated", detail: "must be there once" };
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

/** The origin that the client used, for links in its responses. An origin with other characters than those of a host, or with another scheme
 *  than that of a web page, is dropped: a proxy may pass on what its client wrote. */
export function originOf(request: FastifyRequest): string {
  const { host, protocol } = request;
  return /^https?$/.test(protocol) && /^[A-Za-z0-9.:[\]-]{1,255}$/.test(host ?? "") ? `${protocol}://${host}` : "";
}

/** Ends a hook after its work, which may return a promise. */
export function settleHook(done: (error?: Error) => void, work: () => Promise<void> | undefined): void {
  try {
    const pending = work();
    if (pending === undefined) return done();
    const succeed = (): void => done();
    pending.then(succeed, done);
  } catch (error) {
    done(error as Error);
  }
}

export const beginSpan = (
  tracing: Tracing,
  { method, path }: Route,
  request: FastifyRequest,
  { environment }: Credential,
): Span | undefined =>
  tracing.beginTrace(`${method} ${path}`, "server", readTrace(request.headers), {
    "http.request.method": method,
    "http.route": path,
    "godwit.request_id": request.id,
    "godwit.environment": environment,
  });
