/** What the errors of the Cloud API mean: each code once, with its consequence. Our sentences stand in place of Meta's, which now
 *  and then quote what they complain about, a token or a number. */
import { unreachable } from "../../lib/assert.ts";
import type { HttpAnswer } from "../http-call.ts";
import { readWordless, wordsOf, type Reading } from "../http-link.ts";
import type { Outgoing, Receipt } from "../provider.ts";
import { textIn } from "../http-answer.ts";
import type { AccountFailure } from "../business-account.ts";

type Meaning =
  /** Too fast, for the number that sends. */
  | { kind: "slow" }
  /** Too fast for this recipient: one message in six seconds. */
  | { kind: "pair" }
  /** Nothing is taken until a person has acted. */
  | { kind: "person"; reason: string }
  /** The same message may be taken in a moment. */
  | { kind: "transient" }
  | { kind: "final"; code: string; message: string };

type CarrierError = { code: number | undefined; isTransient: boolean };

const SLOW: Meaning = { kind: "slow" };
const TRANSIENT: Meaning = { kind: "transient" };
const final = (code: string, message: string): Meaning => ({ kind: "final", code, message });
const person = (reason: string): Meaning => ({ kind: "person", reason });

/** The code of all that WhatsApp has against a template in a message. */
export const TEMPLATE = "template_rejected_by_carrier";
const REJECTED = final("rejected_by_carrier", "WhatsApp refused the message");
const BLOCKED = final("blocked_by_carrier", "WhatsApp chose not to deliver this message to this recipient");
const NO_ACCESS = person("WhatsApp refuses the access token, or it lacks a permission");

const MEANINGS: ReadonlyMap<number, Meaning> = new Map<number, Meaning>([
  [4, SLOW],
  [80007, SLOW],
  // Of those that hand in templates.
  [80008, SLOW],
  [130429, SLOW],
  [131057, SLOW],
  [133016, SLOW],
  [131056, { kind: "pair" }],

  [368, person("WhatsApp has blocked the account for a while, for a breach of its policies")],
  [131048, person("WhatsApp restricts the number: too many messages were reported as spam")],
  [131064, person("WhatsApp restricts what the number may send until a person has acted")],

  [1, TRANSIENT],
  [2, TRANSIENT],
  [131000, TRANSIENT],
  [131016, TRANSIENT],
  [131053, TRANSIENT],

  [131047, final("service_window_closed", "The recipient has not written for 24 hours: only a template may be sent")],

  [131026, final("recipient_not_on_whatsapp", "The number has no account on WhatsApp, or cannot be reached there")],
  [131021, final("invalid_destination", "The recipient is the number that sends")],
  [131030, final("destination_not_permitted", "The recipient is not on the list of those the number may write to")],
  [131050, final("recipient_opted_out", "The recipient has opted out of such messages on WhatsApp")],
  [131049, BLOCKED],
  [130472, BLOCKED],

  [132000, final(TEMPLATE, "The template has another number of variables at WhatsApp")],
  [132001, final(TEMPLATE, "WhatsApp has no approved template of this name in this language")],
  [132005, final(TEMPLATE, "The template becomes too long with these variables")],
  [132007, final(TEMPLATE, "The template breaks a rule of WhatsApp's")],
  [132008, final(TEMPLATE, "A variable does not have the form that WhatsApp asks for")],
  [132012, final(TEMPLATE, "A variable is not of the kind that the template has at WhatsApp")],
  [132015, final(TEMPLATE, "WhatsApp has paused the template for its low quality")],
  [132016, final(TEMPLATE, "WhatsApp has disabled the template for its low quality")],

  [100, final("rejected_by_carrier", "WhatsApp found a fault in the request")],
  [131008, final("rejected_by_carrier", "WhatsApp misses a field in the request")],
  [131009, final("rejected_by_carrier", "WhatsApp found a value in the request that it does not take")],

  [0, NO_ACCESS],
  [3, NO_ACCESS],
  [10, NO_ACCESS],
  [190, person("the access token has expired, or was revoked")],
  [131005, NO_ACCESS],
  [131031, person("WhatsApp has locked the account")],
  [131042, person("WhatsApp cannot charge for messages: see to the payment method")],
  [131045, person("the number is not registered rightly: its certificate is not accepted")],
]);

/** By the code where it is known; by what is said about it otherwise. */
function meaningOf({ code, isTransient }: CarrierError, status: number | null): Meaning {
  const known = code === undefined ? undefined : MEANINGS.get(code);
  if (known !== undefined) return known;
  if (code !== undefined && code >= 200 && code <= 299) return NO_ACCESS;
  if (status === 429) return SLOW;
  return isTransient || (status !== null && status >= 500) ? TRANSIENT : REJECTED;
}

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null;

/** As it stands in an answer, and in a status. Undefined where there is none. */
function errorIn(value: unknown): CarrierError | undefined {
  if (!isRecord(value)) return undefined;
  const { code, is_transient: isTransient } = value;
  return { code: Number.isSafeInteger(code) ? (code as number) : undefined, isTransient: isTransient === true };
}

/** The answer to a message. */
export function readAnswer(answer: HttpAnswer, message: Pick<Outgoing, "attempt">): Reading {
  const words = wordsOf(answer);
  const error = errorIn(words?.["error"]);
  if (error?.code !== undefined) return readError(error, answer, message);
  if (answer.status < 200 || answer.status > 299) return readWordless(answer);
  const id = acceptedId(words);
  return id === undefined
    ? { kind: "unknown", detail: "WhatsApp said yes, and gave the message no id" }
    : { kind: "accepted", providerMessageId: id };
}

function acceptedId(words: Record<string, unknown> | undefined): string | undefined {
  const messages = words?.["messages"];
  const first: unknown = Array.isArray(messages) ? messages[0] : undefined;
  const id = isRecord(first) ? first["id"] : undefined;
  return typeof id === "string" && id !== "" ? id : undefined;
}

// Meta's own advice, up to the hour that no wait is longer than.
const pairWaitMs = (attempt: number): number => Math.min(4 ** attempt * 1_000, 3_600_000);

function readError(error: CarrierError, { status, retryAfterMs }: HttpAnswer, { attempt }: Pick<Outgoing, "attempt">): Reading {
  const providerCode = String(error.code ?? status);
  const meaning = meaningOf(error, status);
  switch (meaning.kind) {
    case "slow":
      return { kind: "throttled", scope: "link", retryAfterMs, providerCode };
    case "pair":
      return { kind: "throttled", scope: "recipient", retryAfterMs: pairWaitMs(attempt), providerCode };
    case "person":
      return { kind: "paused", reason: meaning.reason, providerCode };
    case "transient":
    case "final":
      return { kind: "refused", ...explained(meaning), providerCode };
    default:
      return unreachable(meaning);
  }
}

/** Why a message that was accepted was not delivered after all. */
export function receiptError(value: unknown): NonNullable<Receipt["error"]> {
  const error = errorIn(value) ?? { code: undefined, isTransient: false };
  return { ...explained(meaningOf(error, null)), providerCode: error.code === undefined ? null : String(error.code) };
}

function explained(meaning: Meaning): { code: string; message: string; isPermanent: boolean } {
  switch (meaning.kind) {
    case "slow":
    case "pair":
      return { code: "throttled_by_carrier", message: "WhatsApp took it, and then found it too much at a time", isPermanent: false };
    case "person":
      return { code: "carrier_account_blocked", message: "WhatsApp delivers nothing for the account at the moment", isPermanent: false };
    case "transient":
      return { code: "carrier_unavailable", message: "WhatsApp could not work on the message just now", isPermanent: false };
    case "final":
      return { code: meaning.code, message: meaning.message, isPermanent: true };
    default:
      return unreachable(meaning);
  }
}

// The account is not there, or not for this token.
const NOT_FOUND = 33;
// Someone has handed in a template of this name and language meanwhile.
const EXISTS = 2_388_024;

/** A no to whoever hands in templates. Of a template it is told in WhatsApp's words, which are meant for whoever wrote it. */
export function interpretTemplateError(answer: HttpAnswer): AccountFailure | { kind: "refused"; reason: string } | { kind: "exists" } {
  const words = wordsOf(answer)?.["error"];
  const error = errorIn(words);
  if (!isRecord(words) || error?.code === undefined) return interpretTemplateStatus(answer);
  const meaning = meaningOf(error, answer.status);
  const reason = `code ${error.code}`;
  switch (meaning.kind) {
    case "slow":
    case "pair":
      return { kind: "throttled", reason: `WhatsApp asks for less: ${reason}`, retryAfterMs: answer.retryAfterMs };
    case "person":
      return { kind: "blocked", reason: `${meaning.reason} (${reason})` };
    case "transient":
      return { kind: "unavailable", reason: `WhatsApp could not work on it just now: ${reason}` };
    case "final":
      if (words["error_subcode"] === NOT_FOUND)
        return { kind: "blocked", reason: `WhatsApp has no such business account, or the access token may not see it (${reason})` };
      if (words["error_subcode"] === EXISTS) return { kind: "exists" };
      return { kind: "refused", reason: complaintIn(words) ?? `WhatsApp refused the template: ${reason}` };
    default:
      return unreachable(meaning);
  }
}

const complaintIn = (words: Record<string, unknown>): string | undefined => {
  const said = [textIn(words["error_user_title"]), textIn(words["error_user_msg"])].filter((each) => each !== undefined);
  return said.length === 0 ? undefined : said.join(": ");
};

/** An answer without WhatsApp's own words says nothing about a template. */
function interpretTemplateStatus({ status, retryAfterMs }: HttpAnswer): AccountFailure {
  if (status === 429) return { kind: "throttled", reason: "WhatsApp asks for less: HTTP 429", retryAfterMs };
  const reason = `HTTP ${status} that is not in WhatsApp's form`;
  return status >= 300 && status < 500 && status !== 408
    ? { kind: "blocked", reason: `${reason}: are base URL and access token right?` }
    : { kind: "unavailable", reason };
}
