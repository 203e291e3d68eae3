/** Twilio's error codes, in the response to a message and in its later status: each once, with its consequence. Our messages replace
 *  Twilio's, which quote numbers. */
import type { HttpResponse } from "../../outbound/http-client.ts";
import { parseJsonObject } from "../carrier-fields.ts";
import { meaningsOf, outcomeOf, paused, permanent, receiptError, THROTTLED, transient, type Meaning } from "../error-meanings.ts";
import { interpretStatus, type ResponseOutcome } from "../http-link.ts";
import { RECIPIENT_OPTED_OUT, type CarrierError } from "../provider.ts";

const REJECTED = permanent("rejected_by_carrier", "Twilio refused the message");
const UNDELIVERED = permanent("rejected_by_carrier", "Twilio did not deliver the message, and does not say why");

const MEANINGS = meaningsOf([
  [[14107, 20429, 21611, 30001, 30022, 30023, 30027], THROTTLED],

  [20003, paused("Twilio refuses the account SID or the auth token")],
  [[20005, 30002], paused("Twilio has suspended the account, or closed it")],
  [20008, paused("the credentials are Twilio's test credentials, which send nothing")],
  [20404, paused("Twilio does not know the account")],
  [[21701, 21703, 21704, 21705], paused("Twilio does not know the messaging service, or the service has no sender")],

  [[21211, 21214, 21217, 21614], permanent("invalid_destination", "The recipient is not a number that takes messages")],
  [30005, permanent("invalid_destination", "The number does not exist, or is not in use any more")],
  [21408, permanent("destination_not_permitted", "The account may not send to this region")],
  [21608, permanent("destination_not_permitted", "A trial account sends to verified numbers only")],
  [21612, permanent("destination_unreachable", "The sender cannot reach this recipient")],
  [21610, permanent(RECIPIENT_OPTED_OUT, "The recipient has opted out with this sender")],
  [[21212, 21603, 21606, 21659, 21660], permanent("invalid_sender", "The account cannot send from this sender")],
  [21617, permanent("rejected_by_carrier", "The text is longer than 1,600 characters")],

  [30003, transient("recipient_unreachable", "The phone is switched off, or cannot be reached")],
  [30004, permanent("recipient_blocked", "The recipient does not take such messages")],
  [30006, permanent("landline_unreachable", "The number is a landline, or its carrier cannot be reached")],
  [30007, permanent("blocked_by_carrier", "A carrier filtered the message out")],
  [30008, transient("unknown_carrier_error", "A carrier did not deliver the message, and does not say why")],
  [30010, permanent("rejected_by_carrier", "The price of the message is above the limit of the request")],
  [30018, permanent("invalid_sender", "The country requires a sender that is registered there")],
  [30024, permanent("invalid_sender", "The sender is not provisioned at the carrier of the recipient")],
  [30032, permanent("blocked_by_carrier", "The toll-free sender is not verified")],
  [30034, permanent("blocked_by_carrier", "The sender is not registered for messages to this country")],
]);

const UNKNOWN_DELIVERY = transient("unknown_carrier_error", "Twilio did not deliver the message, for a reason that is not known here");

/** The meaning of a code that the table does not have, by its range: 30xxx and 63xxx are faults on the way to the recipient, many of which
 *  pass. Codes of other ranges find a fault in the request. */
const rangeMeaning = (code: number): Meaning | undefined => {
  const range = Math.floor(code / 1_000);
  return range === 30 || range === 63 ? UNKNOWN_DELIVERY : undefined;
};

const meaningOf = (code: number): Meaning | undefined => MEANINGS.get(code) ?? rangeMeaning(code);

const parseCode = (value: unknown): number | undefined => {
  const code = typeof value === "string" && /^\d{1,6}$/.test(value) ? Number(value) : value;
  return typeof code === "number" && Number.isSafeInteger(code) ? code : undefined;
};

export function interpretResponse(response: HttpResponse): ResponseOutcome {
  const fields = parseJsonObject(response);
  if (response.status < 200 || response.status > 299) {
    const code = parseCode(fields?.["code"]);
    return code === undefined ? interpretStatus(response) : interpretError(code, response);
  }
  const sid = fields?.["sid"];
  return typeof sid === "string" && sid !== ""
    ? { kind: "accepted", providerMessageId: sid }
    : { kind: "unknown", detail: "Twilio said yes, and gave the message no SID" };
}

function interpretError(code: number, { status, retryAfterMs }: HttpResponse): ResponseOutcome {
  const providerCode = String(code);
  // A server that failed does not know whether it had created the message before.
  if (status >= 500) return { kind: "unknown", detail: `HTTP ${status} with Twilio's code ${providerCode}` };
  return outcomeOf(meaningOf(code) ?? statusMeaning(status), providerCode, { retryAfterMs, recipientMs: null });
}

function statusMeaning(status: number): Meaning {
  if (status === 429) return THROTTLED;
  if (status === 401) return paused("Twilio refuses the account SID or the auth token");
  return REJECTED;
}

/** The error of a message that Twilio accepted and did not deliver. */
export function toReceiptError(errorCode: string | null): CarrierError {
  const code = parseCode(errorCode);
  const meaning = (code === undefined ? undefined : meaningOf(code)) ?? UNDELIVERED;
  return { ...receiptError("Twilio", meaning), providerCode: code === undefined ? null : String(code) };
}
