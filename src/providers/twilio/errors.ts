/** What Twilio's error codes mean, in the answer to a message and in its status later: each once, with its consequence. Our sentences
 *  stand in place of Twilio's, which quote numbers. */
import { unreachable } from "../../lib/assert.ts";
import type { HttpAnswer } from "../http-call.ts";
import { readWordless, wordsOf, type Reading } from "../http-link.ts";
import type { Receipt } from "../provider.ts";

type Meaning =
  | { kind: "slow" }
  /** Nothing is taken until a person has acted. */
  | { kind: "person"; reason: string }
  /** It may go better in a moment. */
  | { kind: "passing"; code: string; message: string }
  | { kind: "final"; code: string; message: string };

const SLOW: Meaning = { kind: "slow" };
const person = (reason: string): Meaning => ({ kind: "person", reason });
const final = (code: string, message: string): Meaning => ({ kind: "final", code, message });
const passing = (code: string, message: string): Meaning => ({ kind: "passing", code, message });

const UNAVAILABLE = passing("carrier_unavailable", "Twilio could not work on the message just now");
const REJECTED = final("rejected_by_carrier", "Twilio refused the message");
const UNDELIVERED = final("rejected_by_carrier", "Twilio did not deliver the message, and does not say why");
const INVALID = final("invalid_destination", "The recipient is not a number that takes messages");
const BAD_SENDER = final("invalid_sender", "The account cannot send from this sender");
const SUSPENDED = person("Twilio has suspended the account, or closed it");

const MEANINGS: ReadonlyMap<number, Meaning> = new Map<number, Meaning>([
  [14107, SLOW],
  [20429, SLOW],
  [21611, SLOW],
  [30001, SLOW],

  [20003, person("Twilio refuses the account SID or the auth token")],
  [20005, SUSPENDED],
  [30002, SUSPENDED],
  [20008, person("the credentials are Twilio's test credentials, which send nothing")],
  [20404, person("Twilio does not know the account")],

  [21211, INVALID],
  [21214, INVALID],
  [21217, INVALID],
  [21614, INVALID],
  [30005, final("invalid_destination", "The number does not exist, or is not in use any more")],
  [21408, final("destination_not_permitted", "The account may not send to this region")],
  [21608, final("destination_not_permitted", "A trial account sends to verified numbers only")],
  [21612, final("destination_unreachable", "The sender cannot reach this recipient")],
  [21610, final("recipient_opted_out", "The recipient has opted out with this sender")],
  [21212, BAD_SENDER],
  [21603, BAD_SENDER],
  [21606, BAD_SENDER],
  [21659, BAD_SENDER],
  [21660, BAD_SENDER],
  [21617, final("rejected_by_carrier", "The text is longer than 1,600 characters")],

  [30003, passing("recipient_unreachable", "The phone is switched off, or cannot be reached")],
  [30004, final("recipient_blocked", "The recipient does not take such messages")],
  [30006, final("landline_unreachable", "The number is a landline, or its carrier cannot be reached")],
  [30007, final("blocked_by_carrier", "A carrier filtered the message out")],
  [30008, passing("unknown_carrier_error", "A carrier did not deliver the message, and does not say why")],
  [30034, final("blocked_by_carrier", "The sender is not registered for messages to this country")],
]);

const codeIn = (value: unknown): number | undefined => {
  const code = typeof value === "string" && /^\d{1,6}$/.test(value) ? Number(value) : value;
  return typeof code === "number" && Number.isSafeInteger(code) ? code : undefined;
};

/** The answer to a message. */
export function readAnswer(answer: HttpAnswer): Reading {
  const words = wordsOf(answer);
  if (answer.status < 200 || answer.status > 299) {
    const code = codeIn(words?.["code"]);
    return code === undefined ? readWordless(answer) : readError(code, answer);
  }
  const sid = words?.["sid"];
  return typeof sid === "string" && sid !== ""
    ? { kind: "accepted", providerMessageId: sid }
    : { kind: "unknown", detail: "Twilio said yes, and gave the message no SID" };
}

function readError(code: number, { status, retryAfterMs }: HttpAnswer): Reading {
  const providerCode = String(code);
  const meaning = MEANINGS.get(code) ?? meaningOfStatus(status);
  switch (meaning.kind) {
    case "slow":
      return { kind: "throttled", scope: "link", retryAfterMs, providerCode };
    case "person":
      return { kind: "paused", reason: meaning.reason, providerCode };
    case "passing":
    case "final":
      return { kind: "refused", ...explained(meaning), providerCode };
    default:
      return unreachable(meaning);
  }
}

function meaningOfStatus(status: number): Meaning {
  if (status === 429) return SLOW;
  if (status === 401) return person("Twilio refuses the account SID or the auth token");
  return status >= 500 ? UNAVAILABLE : REJECTED;
}

/** Why a message that was accepted was not delivered after all. */
export function receiptError(errorCode: string | null): NonNullable<Receipt["error"]> {
  const code = codeIn(errorCode);
  const meaning = (code === undefined ? undefined : MEANINGS.get(code)) ?? UNDELIVERED;
  return { ...explained(meaning), providerCode: code === undefined ? null : String(code) };
}

function explained(meaning: Meaning): { code: string; message: string; isPermanent: boolean } {
  switch (meaning.kind) {
    case "slow":
      return { code: "throttled_by_carrier", message: "Twilio took it, and then found it too much at a time", isPermanent: false };
    case "person":
      return { code: "carrier_account_blocked", message: "Twilio delivers nothing for the account at the moment", isPermanent: false };
    case "passing":
      return { code: meaning.code, message: meaning.message, isPermanent: false };
    case "final":
      return { code: meaning.code, message: meaning.message, isPermanent: true };
    default:
      return unreachable(meaning);
  }
}
