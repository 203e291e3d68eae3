/** The responses of the Kannel API: their texts, and those of our problems. */
import type { RouteResponse } from "../api/route.ts";
import type { ErrorCode } from "../http/codes.ts";
import { Problem } from "../http/problem.ts";

// Kannel's own header.
const CONTENT_TYPE = "text/html";

/** A request that is refused. */
export class Refusal extends Error {
  override name = "Refusal";
  readonly status: number;

  constructor(text: string, status = 400) {
    super(text);
    this.status = status;
  }
}

const STATUS = "kannel_status";

/** The problem of a refusal, as which the request log shows it. */
export const problemOf = ({ status, message }: Refusal): Problem =>
  new Problem(status === 415 ? "unsupported_media_type" : "invalid_request_payload", { detail: message, members: { [STATUS]: status } });

export const answer = (status: number, text: string): RouteResponse => ({ status, contentType: CONTENT_TYPE, body: text });

export const ACCEPTED = "0: Accepted for delivery";
const NOT_ROUTABLE = "Not routable. Do not try again.";
export const TEMPORARY = "Temporal failure, try again later.";
export const DENIED = "Number(s) has/have been denied by white- and/or black-lists.";
export const SENDER_MISSING = "Sender missing and no global set, rejected";
const UNAUTHORIZED = "Authorization failed for sendsms";

/** The texts of problems, which have Kannel's statuses. A problem without a text of Kannel has one in the same form. */
const TEXTS: Readonly<Partial<Record<ErrorCode, readonly [status: number, text: string]>>> = {
  unauthorized_missing_token: [403, UNAUTHORIZED],
  unauthorized_invalid_token: [403, UNAUTHORIZED],
  forbidden_insufficient_scope: [403, UNAUTHORIZED],
  forbidden_address: [403, UNAUTHORIZED],
  no_route: [403, NOT_ROUTABLE],
  destination_not_permitted: [400, DENIED],
  recipient_opted_out: [400, DENIED],
  sender_not_allowed: [400, "Sender not allowed, rejected"],
  idempotency_conflict: [503, TEMPORARY],
  idempotency_key_reused: [400, "Idempotency-Key used for another request, rejected"],
  invalid_idempotency_key: [400, "Idempotency-Key field misformed, rejected"],
  rate_limit_exceeded: [503, TEMPORARY],
  service_unavailable: [503, TEMPORARY],
  internal_server_error: [500, "Sending failed."],
  not_found: [404, "Unknown request."],
  method_not_allowed: [400, "Unknown request."],
  unsupported_media_type: [415, "Unsupported content-type, rejected"],
  payload_too_large: [413, "Body too long, rejected"],
};

export function answerTo({
  code,
  status,
  errors,
  detail,
  members,
}: Pick<Problem, "code" | "status" | "errors" | "detail" | "members">): RouteResponse {
  const { [STATUS]: own } = members;
  if (own !== undefined) return answer(own as number, detail);
  const known = TEXTS[code];
  if (known !== undefined) return answer(...known);
  const [fault] = errors ?? [];
  return answer(status, `${escapeHtml(fault === undefined ? detail : describe(fault))}, rejected`);
}

const NAMES: Readonly<Record<string, string>> = {
  body: "Text",
  sender: "Sender",
  recipient: "Receiver number",
  send_at: "Deferred",
  ttl_seconds: "Validity",
};

function describe(fault: NonNullable<Problem["errors"]>[number]): string {
  const field = "pointer" in fault ? (fault.pointer.split("/")[1] ?? "") : "";
  return `${NAMES[field] ?? "Request"} ${fault.detail}`;
}

const ENTITIES: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };

/** The type of responses is HTML, so no text of a request may be in them as it came. */
export const escapeHtml = (text: string): string => text.replaceAll(/[&<>"']/g, (found) => ENTITIES[found] as string);
