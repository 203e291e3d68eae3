/** The errors of a call, with one class for each kind. */
import type { Problem } from "./schema.ts";

/** The error codes of the API, and `unexpected_response` for a response that does not come from Godwit. New codes can be added. */
export type ErrorCode = Problem["code"] | "unexpected_response";
type ProblemFault = NonNullable<Problem["errors"]>[number];
/** One invalid value of a request. `where` is its position: the pointer, the parameter, or the header. */
export type Fault = ProblemFault & { where: string };

/** The base class of all errors of this package. The only other errors are the reason of your own signal, the error of your own stream of an upload, and
 *  a `TypeError` for invalid options. */
export class GodwitError extends Error {
  override readonly name: string = "GodwitError";
  /** The HTTP status of the response, or null if there was none. */
  readonly status: number | null = null;
  /** The error code of the response, or null if there was none. */
  readonly code: ErrorCode | null = null;
  /** The id of the request, or null if there was no response. Include it in bug reports. */
  readonly requestId: string | null = null;
  /** The number of requests that were made, including retries. */
  attempts = 1;
  /** The idempotency key of the call, or null for reads and deletions. Repeat the call later with this key; it has no second effect. */
  idempotencyKey: string | null = null;
}

export type ApiErrorFields = {
  status: number;
  code: ErrorCode;
  title: string;
  detail: string;
  requestId: string | null;
  errors: readonly ProblemFault[];
  requiredScopes: readonly string[];
  retryAfterSeconds: number | null;
  headers: Headers;
};

/** The service refused the request or failed. Distinguish the cases by `code`. */
export class ApiError extends GodwitError {
  override readonly name = "ApiError";
  override readonly status: number;
  override readonly code: ErrorCode;
  readonly title: string;
  readonly detail: string;
  override readonly requestId: string | null;
  /** Every invalid value of the request, each with its position. */
  readonly errors: readonly Fault[];
  /** With `forbidden_insufficient_scope`: the scopes that the credential lacks. */
  readonly requiredScopes: readonly string[];
  /** The wait that the service asks for with Retry-After. */
  readonly retryAfterSeconds: number | null;
  readonly headers: Headers;

  constructor(fields: ApiErrorFields) {
    super(`${fields.status} ${fields.code}: ${fields.detail}`);
    this.status = fields.status;
    this.code = fields.code;
    this.title = fields.title;
    this.detail = fields.detail;
    this.requestId = fields.requestId;
    this.errors = fields.errors.map((fault) => ({ ...fault, where: whereOf(fault) }));
    this.requiredScopes = fields.requiredScopes;
    this.retryAfterSeconds = fields.retryAfterSeconds;
    this.headers = fields.headers;
  }
}

// The pointer of the whole body is empty. The service names it so in `detail`, because `body` is also the name of a field.
const whereOf = ({ pointer, parameter, header }: ProblemFault): string => (pointer ?? parameter ?? header) || "request body";

/** No response: the connection could not be established, or it broke. `cause` is the error of the runtime. */
export class ConnectionError extends GodwitError {
  override readonly name = "ConnectionError";
}

/** No response in time. The service may have executed the request. Repeat the call with `idempotencyKey` to find out without a second
 *  effect. */
export class TimeoutError extends GodwitError {
  override readonly name = "TimeoutError";
}

/** An upload failed, and its stream cannot be read again for another attempt. `cause` is the error of the attempt. Upload the file again with
 *  `idempotencyKey`: if the service has stored it, it returns the same record. */
export class StreamConsumedError extends GodwitError {
  override readonly name = "StreamConsumedError";

  constructor(cause?: unknown) {
    const reason = cause instanceof Error ? `${cause.message}; ` : "";
    super(`${reason}the stream of the file was read and cannot be sent again: pass a function that opens it, a Blob, or bytes`, { cause });
  }
}

/** Whether the error is an `ApiError` with one of these codes. Narrows the type of the error. */
export const hasCode = <Code extends ErrorCode>(error: unknown, ...codes: readonly Code[]): error is ApiError & { code: Code } =>
  error instanceof ApiError && (codes as readonly string[]).includes(error.code);

type ProblemBody = Partial<Record<keyof Problem, unknown>>;

const textOr = (value: unknown, otherwise: string): string => (typeof value === "string" && value !== "" ? value : otherwise);
const arrayOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** Converts an error response. A body that is not a problem document comes from a proxy in front of the service. */
export function toApiError(response: Response, text: string): ApiError {
  const problem = parseObject(text);
  const { status, statusText, headers } = response;
  return new ApiError({
    status,
    code: textOr(problem.code, "unexpected_response"),
    title: textOr(problem.title, statusText),
    detail: textOr(problem.detail, `the response is not a problem document; its type is ${headers.get("content-type") ?? "missing"}`),
    requestId: headers.get("x-request-id"),
    errors: arrayOf(problem.errors).filter((fault): fault is ProblemFault => typeof fault === "object" && fault !== null),
    requiredScopes: arrayOf(problem.required_scopes) as readonly string[],
    retryAfterSeconds: retryAfterSeconds(headers.get("retry-after")),
    headers,
  });
}

/** The error for a response that the service never sends. */
export const unexpectedResponse = ({ status, headers, statusText }: Response, detail: string): ApiError =>
  new ApiError({
    status,
    code: "unexpected_response",
    title: statusText,
    detail,
    requestId: headers.get("x-request-id"),
    errors: [],
    requiredScopes: [],
    retryAfterSeconds: null,
    headers,
  });

function parseObject(text: string): ProblemBody {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? value : {};
  } catch {
    return {};
  }
}

/** Parses Retry-After: seconds, or a date, which some proxies send. */
function retryAfterSeconds(text: string | null): number | null {
  if (text === null) return null;
  if (/^\d{1,9}$/.test(text)) return Number(text);
  const at = Date.parse(text);
  return Number.isNaN(at) ? null : Math.max(0, Math.ceil((at - Date.now()) / 1_000));
}
