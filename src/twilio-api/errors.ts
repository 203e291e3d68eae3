/** Twilio's errors: their codes with the HTTP statuses and texts that Twilio documents, and the error that stands for each of our problems. */
import { unreachable } from "../lib/assert.ts";
import type { ErrorCode } from "../http/codes.ts";
import { Problem, type Fault } from "../http/problem.ts";

/** A code with its status and text. Twilio's own texts quote numbers; ours do not. */
const ERRORS = {
  20001: [400, "Unknown or unsupported parameters"],
  20003: [401, "Authenticate"],
  20004: [405, "Method not allowed"],
  20009: [400, "Cannot delete this resource before it is complete"],
  20403: [403, "Forbidden"],
  20404: [404, "The requested resource was not found"],
  20409: [409, "Conflict"],
  20429: [429, "Too Many Requests"],
  20500: [500, "Internal Server Error"],
  20503: [503, "Service Unavailable"],
  21211: [400, "The 'To' number is not a valid phone number."],
  21212: [400, "The 'From' number is not a valid phone number, short code or alphanumeric sender ID."],
  21408: [400, "Permission to send an SMS has not been enabled for the region indicated by the 'To' number."],
  21602: [400, "Message body is required."],
  21603: [400, "A 'From' phone number is required."],
  21604: [400, "A 'To' phone number is required."],
  21606: [400, "The 'From' phone number provided is not a valid message-capable phone number for this destination/account."],
  21609: [400, "The 'StatusCallback' URL is not a valid URL."],
  21610: [400, "Attempt to send to unsubscribed recipient"],
  21612: [400, "Message cannot be sent with the current combination of 'To' and/or 'From' parameters."],
  21617: [400, "The concatenated message body exceeds the 1600 character limit"],
  21620: [400, "Invalid media URL(s)"],
  21621: [400, "The 'From' number has not been enabled for MMS"],
  21623: [400, "Number of media files exceeds allowed limit"],
  21624: [400, "Validity period can only be set to integers between 1 and 36,000 seconds (10 hours max)."],
  21655: [400, "The ContentSid is Invalid"],
  21701: [404, "The Messaging Service does not exist"],
  21910: [400, "Invalid 'From' and 'To' pair. 'From' and 'To' should be of the same channel"],
  30400: [400, "Parameters are not valid"],
  30409: [400, "This message cannot be canceled"],
  35111: [400, "SendAt timestamp is missing"],
  35114: [400, "SendAt time must be between 300 seconds and 35 days (3024000 seconds) in the future, inclusive."],
  35118: [400, "MessagingServiceSid is required to schedule a message"],
  35126: [400, "The ScheduleType value provided is not supported for this channel"],
  60200: [400, "Invalid parameter"],
  60202: [429, "Max check attempts reached"],
  60203: [429, "Max send attempts reached"],
  63016: [400, "Failed to send freeform message because you are outside the allowed window. Please use a Template."],
} as const satisfies Record<number, readonly [status: number, message: string]>;

export type TwilioCode = keyof typeof ERRORS;

export type TwilioError = { code: TwilioCode; message: string; more_info: string; status: number };

const CODE = "twilio_code";

/** The code of our problems with the same status, for metrics and for the delay of failed authentications. */
function problemCode(status: (typeof ERRORS)[TwilioCode][0]): ErrorCode {
  switch (status) {
    case 400:
      return "invalid_request_payload";
    case 401:
      return "unauthorized_invalid_token";
    case 403:
      return "forbidden_insufficient_scope";
    case 404:
      return "not_found";
    case 405:
      return "method_not_allowed";
    case 409:
      return "idempotency_conflict";
    case 429:
      return "rate_limit_exceeded";
    case 500:
      return "internal_server_error";
    case 503:
      return "service_unavailable";
    default:
      return unreachable(status);
  }
}

/** A problem that the client reads as this error of Twilio. */
export const twilioProblem = (code: TwilioCode, message: string = ERRORS[code][1]): Problem =>
  new Problem(problemCode(ERRORS[code][0]), { detail: message, members: { [CODE]: code } });

/** Refuses parameters that Twilio does not know, or that mean something that this service does not do. */
export const unsupported = (names: readonly string[]): Problem =>
  twilioProblem(20001, `These parameters, or their values, are not supported here: ${names.join(", ")}`);

/** The error that a client of Twilio expects in place of a problem. */
export function toTwilioError(problem: Problem): TwilioError {
  const { [CODE]: own } = problem.members;
  if (own !== undefined) return errorWith(own as TwilioCode, problem.detail);
  const code = codeOf(problem);
  return errorWith(code, code === 20001 || code === 20403 ? problem.detail : ERRORS[code][1], statusOf(problem, code));
}

const errorWith = (code: TwilioCode, message: string, status: number = ERRORS[code][0]): TwilioError => ({
  code,
  message,
  more_info: `https://www.twilio.com/docs/errors/${code}`,
  status,
});

/** The problem's own status, where Twilio has one code for several of them. */
const statusOf = ({ status }: Problem, code: TwilioCode): number =>
  code === 20001 && [408, 413, 415, 431].includes(status) ? status : ERRORS[code][0];

const CODES: Readonly<Partial<Record<ErrorCode, TwilioCode>>> = {
  unauthorized_missing_token: 20003,
  unauthorized_invalid_token: 20003,
  forbidden_insufficient_scope: 20403,
  forbidden_address: 20403,
  not_found: 20404,
  method_not_allowed: 20004,
  idempotency_conflict: 20409,
  rate_limit_exceeded: 20429,
  internal_server_error: 20500,
  service_unavailable: 20503,
  no_route: 21612,
  destination_not_permitted: 21408,
  sender_not_allowed: 21606,
  recipient_opted_out: 21610,
  service_window_closed: 63016,
  message_not_cancelable: 30409,
  message_not_redactable: 20009,
  verification_too_soon: 60203,
  verification_limit_reached: 60203,
  media_kind_mismatch: 21620,
  media_fetch_failed: 21620,
  media_not_ready: 21620,
  media_quota_exceeded: 21620,
};

/** The codes of faults of one field. */
const CODES_OF_FIELDS: readonly (readonly [RegExp, TwilioCode])[] = [
  [/^\/recipient/, 21211],
  [/^\/sender/, 21212],
  [/^\/body/, 21617],
  [/^\/send_at/, 35114],
  [/^\/ttl_seconds/, 21624],
  [/^\/content\/(url|media_id)/, 21620],
  [/^\/content/, 21621],
];

function codeOf({ code, errors }: Problem): TwilioCode {
  // The fault has the status of the verification as its code. A finished one does not exist for a client of Verify.
  if (code === "verification_not_pending") return errors?.[0]?.code === "failed" ? 60202 : 20404;
  const known = CODES[code];
  if (known !== undefined) return known;
  const pointers = (errors ?? []).map((fault: Fault) => ("pointer" in fault ? fault.pointer : ""));
  const [, ofField] = CODES_OF_FIELDS.find(([field]) => pointers.some((pointer) => field.test(pointer))) ?? [];
  return ofField ?? 20001;
}
