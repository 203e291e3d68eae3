/** An error for the client, in the form of RFC 9457. Any code may throw it; the server writes the response. */
import { ERRORS, type ErrorCode } from "./codes.ts";

/** One fault of a request, with its location. */
export type Fault = ({ pointer: string } | { parameter: string } | { header: string }) & { code: string; detail: string };

export type ProblemOptions = {
  detail?: string;
  errors?: readonly Fault[];
  headers?: Readonly<Record<string, string>>;
  /** Members in addition to the standard ones. */
  members?: Readonly<Record<string, unknown>>;
  cause?: unknown;
};

export const PROBLEM_TYPE = "application/problem+json";

export class Problem extends Error {
  override name = "Problem";
  readonly code: ErrorCode;
  readonly status: number;
  readonly detail: string;
  readonly errors: readonly Fault[] | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly members: Readonly<Record<string, unknown>>;

  constructor(code: ErrorCode, { detail, errors, headers = {}, members = {}, cause }: ProblemOptions = {}) {
    const text = detail ?? (errors === undefined ? ERRORS[code].title : summary(errors));
    super(text, { cause });
    this.code = code;
    this.status = ERRORS[code].status;
    this.detail = text;
    this.errors = errors;
    this.headers = headers;
    this.members = members;
  }

  /** The response body. `origin` is the address that the client used, so that `type` is a page that the client can open. */
  toBody(origin: string, requestId: string): string {
    return JSON.stringify({
      type: `${origin}/errors/${this.code}`,
      title: ERRORS[this.code].title,
      status: this.status,
      code: this.code,
      detail: this.detail,
      request_id: requestId,
      ...(this.errors === undefined ? {} : { errors: this.errors }),
      ...this.members,
    });
  }
}

const location = (fault: Fault): string =>
  "pointer" in fault ? fault.pointer.slice(1) || "body" : "parameter" in fault ? fault.parameter : fault.header;

const summary = (errors: readonly Fault[]): string => {
  const [first] = errors;
  if (first === undefined) return "";
  const more = errors.length > 1 ? ` (and ${errors.length - 1} more)` : "";
  return `${location(first)}: ${first.detail}${more}`;
};

export const unavailable = (detail: string, retryAfterSeconds = 1, cause?: unknown): Problem =>
  new Problem("service_unavailable", { detail, headers: { "retry-after": String(retryAfterSeconds) }, cause });
