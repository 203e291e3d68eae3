/** An error for the client, in the form of RFC 9457. Any code may throw it; the server writes the response. */
import { hasSuggestion } from "../lib/nearest.ts";
import { ERRORS, type ErrorCode } from "./codes.ts";

/** One fault of a request, with its location. */
export type Fault = ({ pointer: string } | { parameter: string } | { header: string }) & { code: string; detail: string };

// Names come from the request and have any length.
const MAX_NAME = 100;

/** A name as a part of a pointer (RFC 6901), shortened. */
export const escapePointer = (name: string): string => name.slice(0, MAX_NAME).replaceAll("~", "~0").replaceAll("/", "~1");

export type ProblemOptions = {
  detail?: string;
  errors?: readonly Fault[];
  headers?: Readonly<Record<string, string>>;
  /** Members in addition to the standard ones. */
  members?: Readonly<Record<string, unknown>>;
  cause?: unknown;
};

export const PROBLEM_TYPE = "application/problem+json";

// A little less than 64 kB, since some responses have members beside those of a problem.
const MAX_BODY_BYTES = 64_000;
// Longer than any sentence of this service. A longer one repeats text of the request.
const MAX_DETAIL = 1_999;
// The most bytes of a UTF-16 unit in UTF-8.
const MAX_UNIT_BYTES = 3;

export class Problem extends Error {
  override name = "Problem";
  readonly code: ErrorCode;
  readonly status: number;
  readonly detail: string;
  readonly errors: readonly Fault[] | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly members: Readonly<Record<string, unknown>>;

  constructor(code: ErrorCode, { detail, errors, headers = {}, members = {}, cause }: ProblemOptions = {}) {
    const text = (detail ?? (errors === undefined ? ERRORS[code].title : summary(errors))).slice(0, MAX_DETAIL);
    super(text, { cause });
    this.code = code;
    this.status = ERRORS[code].status;
    this.detail = text;
    this.errors = errors;
    this.headers = headers;
    this.members = members;
  }

  /** The response body, of a bounded size: faults that do not fit are left out from the end, and the detail counts them. `origin` is the
   *  address that the client used, so that `type` is a page that the client can open. */
  toBody(origin: string, requestId: string): string {
    const whole = this.#write(origin, requestId, this.errors);
    if (whole.length <= MAX_BODY_BYTES / MAX_UNIT_BYTES || Buffer.byteLength(whole) <= MAX_BODY_BYTES) return whole;
    return this.#write(
      origin,
      requestId,
      fitting(this.errors ?? [], MAX_BODY_BYTES - Buffer.byteLength(this.#write(origin, requestId, []))),
    );
  }

  #write(origin: string, requestId: string, errors: readonly Fault[] | undefined): string {
    return JSON.stringify({
      type: `${origin}/errors/${this.code}`,
      title: ERRORS[this.code].title,
      status: this.status,
      code: this.code,
      detail: toSentence(this.detail),
      request_id: requestId,
      ...(errors === undefined ? {} : { errors }),
      ...this.members,
    });
  }
}

/** A detail is written as a fragment, because other texts include it. A name of a field at its beginning stays as it is. */
export const toSentence = (detail: string): string =>
  detail.replace(/^[a-z](?=[a-z]*[ ,])/, (letter) => letter.toUpperCase()) + (/[.!?]$/.test(detail) ? "" : ".");

/** The first faults, as many as fit into that many bytes. */
function fitting(errors: readonly Fault[], maxBytes: number): readonly Fault[] {
  let bytes = 0;
  const end = errors.findIndex((fault) => (bytes += Buffer.byteLength(JSON.stringify(fault)) + 1) > maxBytes);
  return end === -1 ? errors : errors.slice(0, end);
}

/** Names a request body as a whole: `body` is also the name of a field. */
export const WHOLE_BODY = "request body";

const location = (fault: Fault): string =>
  "pointer" in fault ? fault.pointer.slice(1) || WHOLE_BODY : "parameter" in fault ? fault.parameter : fault.header;

/** The fault with a suggestion, or the first one: a mistyped name explains other faults, such as that of the missing field. */
const summary = (errors: readonly Fault[]): string => {
  const first = errors.find(({ detail }) => hasSuggestion(detail)) ?? errors[0];
  if (first === undefined) return "";
  const more = errors.length > 1 ? ` (and ${errors.length - 1} more)` : "";
  return `${location(first)}: ${first.detail}${more}`;
};

export const unavailable = (detail: string, retryAfterSeconds = 1, cause?: unknown): Problem =>
  new Problem("service_unavailable", { detail, headers: { "retry-after": String(retryAfterSeconds) }, cause });
