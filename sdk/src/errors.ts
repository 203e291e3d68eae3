/** What can go wrong with a call, each kind a class of its own. */
import type { Problem } from "./schema.ts";

/** What the service says was wrong; the set may grow. */
export type ErrorCode = Problem["code"] | "unexpected_answer";
export type Fault = NonNullable<Problem["errors"]>[number];

/** Everything this package throws, but for the reason of your own signal and a `TypeError` for options that make no sense. */
export class GodwitError extends Error {
  override readonly name: string = "GodwitError";
  /** How many requests were made. */
  attempts = 1;
  /** The key of the call, where it had one: with it the same call can be made again, later, without a second effect. */
  idempotencyKey: string | null = null;
}

export type ApiErrorFields = {
  status: number;
  code: ErrorCode;
  title: string;
  detail: string;
  requestId: string | null;
  errors: readonly Fault[];
  requiredScopes: readonly string[];
  retryAfterSeconds: number | null;
  headers: Headers;
};

/** The service answered, and the answer is no. Switch on `code`. */
export class ApiError extends GodwitError {
  override readonly name = "ApiError";
  readonly status: number;
  readonly code: ErrorCode;
  readonly title: string;
  readonly detail: string;
  /** Quote it in reports. */
  readonly requestId: string | null;
  /** Every fault of the request, each with its place. */
  readonly errors: readonly Fault[];
  /** With `forbidden_insufficient_scope`: what the credential lacks. */
  readonly requiredScopes: readonly string[];
  readonly retryAfterSeconds: number | null;
  readonly headers: Headers;

  constructor(fields: ApiErrorFields) {
    super(`${fields.status} ${fields.code}: ${fields.detail}`);
    this.status = fields.status;
    this.code = fields.code;
    this.title = fields.title;
    this.detail = fields.detail;
    this.requestId = fields.requestId;
    this.errors = fields.errors;
    this.requiredScopes = fields.requiredScopes;
    this.retryAfterSeconds = fields.retryAfterSeconds;
    this.headers = fields.headers;
  }
}

/** No answer: the connection could not be made, or broke. `cause` is what the runtime said. */
export class ConnectionError extends GodwitError {
  override readonly name = "ConnectionError";
}

/** No answer in time. Whether the request was executed is not known; a repetition with its key finds out. */
export class TimeoutError extends GodwitError {
  override readonly name = "TimeoutError";
}

/** Whether it is the service's refusal with one of these codes. */
export const hasCode = <Code extends ErrorCode>(error: unknown, ...codes: readonly Code[]): error is ApiError & { code: Code } =>
  error instanceof ApiError && (codes as readonly string[]).includes(error.code);

type ProblemBody = Partial<Record<keyof Problem, unknown>>;

const textOr = (value: unknown, otherwise: string): string => (typeof value === "string" && value !== "" ? value : otherwise);
const arrayOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** The error that an answer stands for. What is no problem document comes from something between us and the service. */
export function toApiError(response: Response, text: string): ApiError {
  const problem = parseObject(text);
  const { status, statusText, headers } = response;
  return new ApiError({
    status,
    code: textOr(problem.code, "unexpected_answer"),
    title: textOr(problem.title, statusText),
    detail: textOr(problem.detail, `the answer is no problem document: ${headers.get("content-type") ?? "without a type"}`),
    requestId: headers.get("x-request-id"),
    errors: arrayOf(problem.errors) as readonly Fault[],
    requiredScopes: arrayOf(problem.required_scopes) as readonly string[],
    retryAfterSeconds: retryAfterSeconds(headers.get("retry-after")),
    headers,
  });
}

/** An answer that the service would not have given. */
export const unexpectedAnswer = ({ status, headers, statusText }: Response, detail: string): ApiError =>
  new ApiError({
    status,
    code: "unexpected_answer",
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

/** Seconds, or a date as proxies send it. */
function retryAfterSeconds(text: string | null): number | null {
  if (text === null) return null;
  if (/^\d{1,9}$/.test(text)) return Number(text);
  const at = Date.parse(text);
  return Number.isNaN(at) ? null : Math.max(0, Math.ceil((at - Date.now()) / 1_000));
}
