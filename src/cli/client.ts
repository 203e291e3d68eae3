/** Requests to the API of a running service: one attempt, or attempts with the same idempotency key until there is a final response. */
import type { Flags } from "../config.ts";
import { StartupError } from "../database/startup-error.ts";
import { WHOLE_BODY, type Fault } from "../http/problem.ts";
import { backoffMs } from "../lib/backoff.ts";
import { requireUrl } from "../lib/urls.ts";
import { pause } from "../lib/wait.ts";
import { NO_LIMITS } from "../lib/scan-json.ts";
import { parseJsonObject } from "../providers/carrier-fields.ts";
import type { ClientConfig } from "./client-config.ts";
import { say } from "./output.ts";

/** A file to upload. Each attempt opens it again. */
export type SourceFile = { bytes: number; open: () => AsyncIterable<Uint8Array> };

/** `file`: the body, in place of `body`. `limitMs`: the time limit of an attempt. */
export type ApiRequest = {
  method: string;
  path: string;
  body?: unknown;
  file?: SourceFile;
  headers?: Readonly<Record<string, string>>;
  limitMs?: number;
};

export type ApiResponse = {
  kind: "response";
  status: number;
  /** The URL of the request. */
  url: string;
  headers: Headers;
  text: string;
  /** Undefined if the body is not a JSON object. */
  json: Readonly<Record<string, unknown>> | undefined;
};

export type NoResponse = {
  kind: "no_response";
  reason: string;
  /** Whether the request can have reached the server. */
  mayHaveArrived: boolean;
  /** Whether another attempt would fail in the same way. */
  isPermanent: boolean;
  /** Whether no program listens at the address. */
  isRefused: boolean;
};

/** The outcome of a request that was repeated as often as it made sense. */
export type RequestResult =
  | ApiResponse
  /** No attempt was executed. */
  | { kind: "unreachable"; reason: string }
  /** An attempt may have been executed, but no response confirms it. */
  | { kind: "unknown"; reason: string };

/** `signal` aborts on an interrupt and at the deadline. A wait that would end after the deadline, on the monotonic clock, is not started. */
export type RepeatOptions = {
  signal: AbortSignal;
  deadline: number;
  /** The abort ends waits, and not a request on its way. */
  finishesRequest?: true;
  /** Receives a line about each further attempt in place of the standard error. */
  onRetry?: (line: string) => void;
};

/** A client, with the limits of its next request. */
export type Caller = { client: ClientConfig; repeat: () => RepeatOptions };

const FIRST_RETRY_MS = 500;
const MAX_RETRY_MS = 8_000;
const REQUEST_MS = 15_000;
const NEVER = new AbortController().signal;
const MAX_RESPONSE_BYTES = 4 * 1_048_576;

/** The clients whose service has responded. It may be restarting when a later connection is refused. */
const responding = new WeakSet<ClientConfig>();

/** Repeats the request until it has a final response. A request that changes something needs an idempotency key. A read ends at once if the service
 *  does not run: it can be repeated at any time. */
export const callRepeatedly = (client: ClientConfig, request: ApiRequest, options: RepeatOptions): Promise<RequestResult> =>
  attemptRepeatedly(async (signal) => {
    const result = await callApi(client, request, signal);
    if (result.kind === "response") responding.add(client);
    else if (result.isRefused && request.method === "GET" && !responding.has(client)) return { ...result, isPermanent: true };
    return result;
  }, options);

type Attempt = (signal: AbortSignal) => Promise<ApiResponse | NoResponse>;

/** Repeats the attempt until it has a final response. */
export async function attemptRepeatedly(
  attempt: Attempt,
  { signal, deadline, finishesRequest, onRetry = say }: RepeatOptions,
): Promise<RequestResult> {
  let mayHaveArrived = false;
  for (let attempts = 1; ; attempts += 1) {
    const result = await attempt(finishesRequest === true ? NEVER : signal);
    const reason = result.kind === "response" ? describeStatus(result) : result.reason;
    const afterMs = retryAfterMs(result) ?? backoffMs(attempts, FIRST_RETRY_MS, MAX_RETRY_MS);
    if (result.kind === "response" && isFinal(result)) {
      // A refused credential does not learn whether the earlier attempt was executed, and a proxy in between does not know it.
      const isHidden = mayHaveArrived && ([401, 403, 404].includes(result.status) || !isOfService(result));
      return isHidden ? { kind: "unknown", reason } : result;
    }
    mayHaveArrived ||= mayBeExecuted(result);
    const isLast = result.kind === "no_response" && result.isPermanent;
    if (!isLast && !signal.aborted && performance.now() + afterMs <= deadline) {
      onRetry(`${reason}; the next attempt follows in ${(afterMs / 1_000).toFixed(1)} s`);
      await pause(afterMs, signal);
      if (!signal.aborted) continue;
    }
    return { kind: mayHaveArrived ? "unknown" : "unreachable", reason };
  }
}

const isFinal = ({ status }: ApiResponse): boolean => status !== 409 && status !== 429 && status < 500;

/** A record, or a problem with a code. Anything else comes from another program. */
const isOfService = ({ status, json }: ApiResponse): boolean => typeof json?.[status < 300 ? "object" : "code"] === "string";

/** Whether the request may be executed although the response does not confirm it. A 429, and a 503 from the service itself, mean that
 *  nothing was done. Any other 5xx may come from a proxy that lost the response of the service. */
const mayBeExecuted = (result: ApiResponse | NoResponse): boolean =>
  result.kind === "no_response" ? result.mayHaveArrived : result.status !== 429 && result.json?.["code"] !== "service_unavailable";

/** A failure that is repeated, for one line. */
export const describeStatus = ({ status, json }: ApiResponse): string =>
  [status, json?.["code"]].filter((part) => typeof part === "number" || typeof part === "string").join(" ");

/** Returns the wait that the server asks for with Retry-After. */
function retryAfterMs(result: ApiResponse | NoResponse): number | undefined {
  const text = result.kind === "response" ? result.headers.get("retry-after") : null;
  return text !== null && /^\d{1,6}$/.test(text) ? Number(text) * 1_000 : undefined;
}

/** Returns a successful response. Any other outcome ends the command, and --json prints the problem of the API. */
export function expectSuccess(outcome: RequestResult, { url }: ClientConfig, flags: Flags): ApiResponse {
  if (outcome.kind === "unreachable") throw new StartupError(`${outcome.reason} (${url})`);
  if (outcome.kind === "unknown") throw new StartupError(`it is not known whether the request was executed: ${outcome.reason} (${url})`);
  if (outcome.status >= 200 && outcome.status < 300) return outcome;
  if (flags["json"] === true && outcome.json !== undefined) process.stdout.write(`${JSON.stringify(outcome.json)}\n`);
  throw new StartupError(explainProblem(outcome));
}

/** Sends the request once. Never throws: a failure is part of the result. */
export async function callApi(
  client: ClientConfig,
  { method, path, body, file, headers = {}, limitMs = REQUEST_MS }: ApiRequest,
  signal: AbortSignal,
): Promise<ApiResponse | NoResponse> {
  try {
    // A redirect would send the key to another host. Node copies a request that may be redirected or has a window, and the copy keeps all bytes of a
    // stream.
    const response = await fetch(urlOf(client, path), {
      method,
      ...(file === undefined ? { redirect: "manual" } : { redirect: "error", window: null, body: file.open(), duplex: "half" }),
      headers: { ...authorizationOf(client), accept: "application/json", ...bodyHeaders(body, file), ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      // The time of an upload depends on its size. fetch ends one that makes no progress for five minutes.
      signal: file === undefined ? AbortSignal.any([signal, AbortSignal.timeout(limitMs)]) : signal,
    });
    return await toApiResponse(response);
  } catch (error) {
    return failureResult(error as Error);
  }
}

export const urlOf = ({ url }: ClientConfig, path: string): string => `${url.replace(/\/$/, "")}${path}`;

export const authorizationOf = ({ key }: ClientConfig): Record<string, string> => ({ authorization: `Bearer ${key}` });

// The service finds the type of a file by its content and its name.
function bodyHeaders(body: unknown, file: SourceFile | undefined): Record<string, string> {
  if (file !== undefined) return { "content-type": "application/octet-stream", "content-length": String(file.bytes) };
  return body === undefined ? {} : { "content-type": "application/json" };
}

/** Reads a response whose body is a text. */
export async function toApiResponse(response: Response): Promise<ApiResponse> {
  const text = await readText(response);
  return {
    kind: "response",
    status: response.status,
    url: response.url,
    headers: response.headers,
    text,
    json: parseJsonObject({ text }, NO_LIMITS),
  };
}

async function readText(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += (chunk as Uint8Array).length;
    if (bytes > MAX_RESPONSE_BYTES) throw new Error("the response is longer than any response of Godwit");
    chunks.push(chunk as Uint8Array);
  }
  return Buffer.concat(chunks).toString("utf8");
}

// Errors before the connection was established: no bytes of the request have left.
const NOT_CONNECTED = /^(ECONNREFUSED|ENOTFOUND|EAI_\w+|EHOSTUNREACH|ENETUNREACH|EADDRNOTAVAIL|UND_ERR_CONNECT_TIMEOUT)$/;
const NOT_SECURE = /SSL|TLS|CERT|SELF_SIGNED|UNABLE_TO_VERIFY|ISSUER|DEPTH_ZERO|HOSTNAME/;

export function failureResult(error: Error): NoResponse {
  const cause = error.cause instanceof Error ? (error.cause as NodeJS.ErrnoException) : undefined;
  const code = cause?.code ?? "";
  // fetch refuses some ports, as browsers do, before it connects. That error has no code.
  const isPermanent = code === "ENOTFOUND" || NOT_SECURE.test(code) || /^(bad port|unexpected redirect)$/.test(cause?.message ?? "");
  const mayHaveArrived = !isPermanent && !NOT_CONNECTED.test(code);
  return { kind: "no_response", reason: serviceFailure(error), mayHaveArrived, isPermanent, isRefused: code === "ECONNREFUSED" };
}

/** Returns the reason of a failed request to the service. */
export function serviceFailure(error: Error): string {
  const reason = failureReason(error);
  const isRefused = (error.cause as NodeJS.ErrnoException | undefined)?.code === "ECONNREFUSED";
  return isRefused ? `${reason}: is the service running? godwit serve starts it` : reason;
}

/** Returns the reason of a failed request, with a hint if the user can fix it. fetch hides the reason in the cause, behind "fetch failed". */
export function failureReason({ name, message, cause }: Error): string {
  if (name === "TimeoutError") return "no response in time";
  if (name === "AbortError") return "it was stopped";
  if (!(cause instanceof Error)) return message;
  const { code = "", message: reason } = cause as NodeJS.ErrnoException;
  if (reason === "bad port") return "this port cannot be used for HTTP, as in browsers: check the port in the URL";
  if (reason === "unexpected redirect") return "the server redirects the request: is it the right URL?";
  if (/SELF_SIGNED|UNABLE_TO_(?:VERIFY|GET_ISSUER)/.test(code))
    return "the certificate is not from a known authority: set NODE_EXTRA_CA_CERTS to the file of the certificate, or of its authority";
  if (code === "CERT_HAS_EXPIRED") return "the certificate of the service has expired";
  if (code === "ERR_TLS_CERT_ALTNAME_INVALID") return "the certificate is for another name: use the name of the certificate in the URL";
  // A name with several addresses, such as localhost: the error has no message, and each address has an error of its own.
  if (reason === "" && cause instanceof AggregateError) return (cause.errors as Error[]).map((each) => each.message).join(", ");
  return reason || code;
}

const CHECK_KEY = "check that the key was copied completely, and that it is a key of this service";

type ApiProblem = { title?: string; detail?: string; code?: string; request_id?: string; errors?: readonly Fault[] };

/** Describes an error response for people: the code, its meaning, every fault, and the request id for the server's log.
 *  `nameOf` returns the caller's name of a field. */
export function explainProblem({ status, url, json, headers }: ApiResponse, nameOf: (field: string) => string = (field) => field): string {
  const { title, detail, code, request_id: requestId = headers.get("x-request-id") ?? undefined, errors = [] } = (json ?? {}) as ApiProblem;
  if (code === undefined && title === undefined) return `the server responded with ${status}, but not as Godwit does: is it the right URL?`;
  const faults = errors.map((fault) => `  ${nameOf(faultField(fault))}: ${fault.detail} (${fault.code})`);
  return [
    `${status} ${code ?? ""}: ${title ?? ""}`,
    // With faults, the detail only repeats the first fault.
    ...(faults.length === 0 && detail !== undefined && detail !== title ? [`  ${detail}`] : faults),
    ...(code === "unauthorized_invalid_token" ? [`  ${CHECK_KEY} at ${requireUrl(url).origin}`] : []),
    ...(requestId === undefined ? [] : [`  request ${requestId}`]),
  ].join("\n");
}

const faultField = (fault: Fault): string =>
  "pointer" in fault ? fault.pointer.slice(1).replaceAll("/", ".") || WHOLE_BODY : "parameter" in fault ? fault.parameter : fault.header;
