/** The errors of the Cloud API: each code once, with its consequence. Our messages replace Meta's, which sometimes quote the refused
 *  value, such as a token or a number. */
import { unreachable } from "../../lib/assert.ts";
import type { HttpResponse } from "../../outbound/http-client.ts";
import type { AccountFailure } from "../business-account.ts";
import { asList, asObject, isObject, parseJsonObject, parseText, type JsonObject } from "../carrier-fields.ts";
import { meaningsOf, outcomeOf, paused, permanent, receiptError, THROTTLED, transient, type Meaning } from "../error-meanings.ts";
import { interpretStatus, type ResponseOutcome } from "../http-link.ts";
import { RECIPIENT_OPTED_OUT, type Outgoing, type Receipt } from "../provider.ts";

type CarrierError = { code: number | undefined; isTransient: boolean };

const TRANSIENT = transient("carrier_unavailable", "WhatsApp could not process the message at the moment");

/** Our code for every error that concerns the template of a message. */
export const TEMPLATE_REJECTED = "template_rejected_by_carrier";
const REJECTED = permanent("rejected_by_carrier", "WhatsApp refused the message");
const NO_ACCESS = paused("WhatsApp refuses the access token, or it lacks a permission");

const MEANINGS = meaningsOf([
  // 80008 is the rate limit of template submissions.
  [[4, 80007, 80008, 130429, 131057, 133016], THROTTLED],
  // WhatsApp allows one message to a recipient in six seconds.
  [131056, { kind: "recipient_throttled" }],

  [368, paused("WhatsApp has blocked the account for a while, for a breach of its policies")],
  [131048, paused("WhatsApp restricts the number: too many messages were reported as spam")],
  [131064, paused("WhatsApp restricts what the number may send until a person has acted")],

  [[1, 2, 131000, 131016, 131053], TRANSIENT],

  [131047, permanent("service_window_closed", "The recipient has not written for 24 hours: only a template may be sent")],

  [131026, permanent("recipient_not_on_whatsapp", "The number has no account on WhatsApp, or cannot be reached there")],
  [131021, permanent("invalid_destination", "The recipient is the number that sends")],
  [131030, permanent("destination_not_permitted", "The recipient is not on the list of those the number may write to")],
  [131050, permanent(RECIPIENT_OPTED_OUT, "The recipient has opted out of such messages on WhatsApp")],
  [131062, permanent("destination_not_permitted", "WhatsApp sends this kind of message to phone numbers only, not to user ids")],
  // The restriction is for some countries. A pause of the link would hold the messages to all other countries.
  [130497, permanent("destination_not_permitted", "WhatsApp does not let the account write to people in this country")],
  [[131049, 130472], permanent("blocked_by_carrier", "WhatsApp chose not to deliver this message to this recipient")],

  [132000, permanent(TEMPLATE_REJECTED, "The template has another number of variables at WhatsApp")],
  [132001, permanent(TEMPLATE_REJECTED, "WhatsApp has no approved template of this name in this language")],
  [132005, permanent(TEMPLATE_REJECTED, "The template becomes too long with these variables")],
  [132007, permanent(TEMPLATE_REJECTED, "The template breaks a rule of WhatsApp's")],
  [132008, permanent(TEMPLATE_REJECTED, "A variable does not have the form that WhatsApp asks for")],
  [132012, permanent(TEMPLATE_REJECTED, "A variable is not of the kind that the template has at WhatsApp")],
  [132015, permanent(TEMPLATE_REJECTED, "WhatsApp has paused the template for its low quality")],
  [132016, permanent(TEMPLATE_REJECTED, "WhatsApp has disabled the template for its low quality")],
  [132018, permanent(TEMPLATE_REJECTED, "WhatsApp found a fault in the variables of the template")],
  [132068, permanent(TEMPLATE_REJECTED, "WhatsApp has blocked the Flow of the template")],
  [132069, permanent(TEMPLATE_REJECTED, "WhatsApp has limited the Flow of the template for its low quality")],

  [131051, permanent("content_not_supported", "WhatsApp does not send this kind of message to the recipient")],
  [131052, permanent("media_refused_by_carrier", "WhatsApp could not read the file of the message")],
  [100, permanent("rejected_by_carrier", "WhatsApp found a fault in the request")],
  [131008, permanent("rejected_by_carrier", "WhatsApp misses a field in the request")],
  [131009, permanent("rejected_by_carrier", "WhatsApp found a value in the request that it does not take")],

  [[0, 3, 10, 131005], NO_ACCESS],
  [190, paused("the access token has expired, or was revoked")],
  [131031, paused("WhatsApp has locked the account")],
  [131042, paused("WhatsApp cannot charge for messages: see to the payment method")],
  [131045, paused("the number is not registered rightly: its certificate is not accepted")],
  [33, paused("WhatsApp no longer has the number: it was deleted")],
  [131037, paused("WhatsApp has not approved the display name of the number")],
  [131055, paused("WhatsApp does not allow the account to send in this way")],
  [133005, paused("the PIN of the number is wrong: register the number again")],
  [133006, paused("the number must be verified again")],
  [133008, paused("the PIN of the number was wrong too often: WhatsApp asks to wait")],
  [133009, paused("the PIN of the number was tried too fast: WhatsApp asks to wait")],
  [133010, paused("the number is not registered")],
  [133015, paused("the number was deleted a moment ago: WhatsApp asks to wait before it is registered again")],
  [134011, paused("the terms of WhatsApp Payments have not been accepted")],
]);

/** The meaning by the code, if it is known; otherwise by the status and `is_transient`. */
function meaningOf({ code, isTransient }: CarrierError, status: number | null): Meaning {
  const known = code === undefined ? undefined : MEANINGS.get(code);
  if (known !== undefined) return known;
  if (code !== undefined && code >= 200 && code <= 299) return NO_ACCESS;
  if (status === 429) return THROTTLED;
  return isTransient ? TRANSIENT : REJECTED;
}

/** Parses the error of a response or of a status notification. Undefined if there is none. */
function parseError(value: unknown): CarrierError | undefined {
  if (!isObject(value)) return undefined;
  const { code, is_transient: isTransient } = value;
  return { code: Number.isSafeInteger(code) ? (code as number) : undefined, isTransient: isTransient === true };
}

export function interpretResponse(response: HttpResponse, message: Pick<Outgoing, "attempt">): ResponseOutcome {
  const fields = parseJsonObject(response);
  const error = parseError(fields?.["error"]);
  // A server that failed does not know whether it had created the message before.
  if (response.status >= 500)
    return { kind: "unknown", detail: `HTTP ${response.status}${error?.code === undefined ? "" : ` with WhatsApp's code ${error.code}`}` };
  if (error?.code !== undefined) return interpretError(error, response, message);
  if (response.status < 200 || response.status > 299) return interpretStatus(response);
  const { id } = asObject(asList(fields?.["messages"])[0]);
  return typeof id === "string" && id !== ""
    ? { kind: "accepted", providerMessageId: id }
    : { kind: "unknown", detail: "WhatsApp said yes, and gave the message no id" };
}

// Meta recommends 4^n seconds. No wait of a message is longer than an hour.
const pairWaitMs = (attempt: number): number => Math.min(4 ** attempt * 1_000, 3_600_000);

function interpretError(
  error: CarrierError,
  { status, retryAfterMs }: HttpResponse,
  { attempt }: Pick<Outgoing, "attempt">,
): ResponseOutcome {
  const waits = { retryAfterMs, recipientMs: pairWaitMs(attempt) };
  return outcomeOf(meaningOf(error, status), String(error.code ?? status), waits);
}

/** The error of a message that WhatsApp accepted and did not deliver. */
export function toReceiptError(value: unknown): NonNullable<Receipt["error"]> {
  const error = parseError(value) ?? { code: undefined, isTransient: false };
  return { ...receiptError("WhatsApp", meaningOf(error, null)), providerCode: error.code === undefined ? null : String(error.code) };
}

// The account does not exist, or the token has no access to it.
const ACCOUNT_NOT_FOUND = 33;
// A template of this name and language was submitted by another client meanwhile.
const TEMPLATE_EXISTS = 2_388_024;

/** Interprets the error of a call about templates. The reason of a refused template is WhatsApp's own text, which is meant for its
 *  author. */
export function interpretTemplateError(
  response: HttpResponse,
  fields: unknown,
): AccountFailure | { kind: "refused"; reason: string } | { kind: "exists" } {
  const error = parseError(fields);
  if (!isObject(fields) || error?.code === undefined) return interpretTemplateStatus(response);
  const meaning = meaningOf(error, response.status);
  const reason = `code ${error.code}`;
  switch (meaning.kind) {
    case "throttled":
    case "recipient_throttled":
      return { kind: "throttled", reason: `WhatsApp asks for less: ${reason}`, retryAfterMs: response.retryAfterMs };
    case "paused":
      return { kind: "blocked", reason: `${meaning.reason} (${reason})` };
    case "transient":
      return { kind: "unavailable", reason: `WhatsApp could not work on it just now: ${reason}` };
    case "permanent":
      if (fields["error_subcode"] === ACCOUNT_NOT_FOUND)
        return { kind: "blocked", reason: `WhatsApp has no such business account, or the access token may not see it (${reason})` };
      if (fields["error_subcode"] === TEMPLATE_EXISTS) return { kind: "exists" };
      return { kind: "refused", reason: userMessage(fields) ?? `WhatsApp refused the template: ${reason}` };
    default:
      return unreachable(meaning);
  }
}

const userMessage = (fields: JsonObject): string | undefined => {
  const texts = [parseText(fields["error_user_title"]), parseText(fields["error_user_msg"])].filter((each) => each !== undefined);
  return texts.length === 0 ? undefined : texts.join(": ");
};

/** Interprets a response that is not in WhatsApp's form. It says nothing about a template. */
function interpretTemplateStatus(response: HttpResponse): AccountFailure {
  const { kind } = interpretStatus(response);
  if (kind === "throttled") return { kind, reason: "WhatsApp asks for less: HTTP 429", retryAfterMs: response.retryAfterMs };
  const reason = `HTTP ${response.status} that is not in WhatsApp's form`;
  return kind === "unknown"
    ? { kind: "unavailable", reason }
    : { kind: "blocked", reason: `${reason}: are base URL and access token right?` };
}
