/** The notifications in a webhook request of the Cloud API: statuses of sent messages, inbound messages, choices of people and template reviews. A request
 *  has many, of several kinds. Unreadable ones are counted and skipped: a refused request would be repeated with all its contents. */
import { isUserId } from "../../model/phone-number.ts";
import type { CarrierTemplateStatus, ReviewUpdate } from "../business-account.ts";
import { asList, asObject, parseAddress, parseIdentifier, parseNumber, parseText, rawFields, type JsonObject } from "../carrier-fields.ts";
import type { InboundMessage, Preference, Receipt, ReceiptStatus } from "../provider.ts";
import { toReceiptError } from "./errors.ts";
import { parseStatus } from "./template-list.ts";
import { messageDetails, inboundText, parseContent } from "./inbound-content.ts";

/** A status as WhatsApp wrote it. */
export type StatusReport = { receipt: Receipt; raw: JsonObject };

/** The notifications about one of the app's phone numbers. */
export type NumberNotifications = { statuses: StatusReport[]; messages: InboundMessage[]; preferences: Preference[] };

export type Notifications = {
  /** By phone number id. An app has one webhook URL for all its numbers. */
  byNumber: ReadonlyMap<string | undefined, NumberNotifications>;
  reviews: readonly ReviewUpdate[];
  /** The number of skipped notifications, for the log. */
  ignored: number;
};

/** Returns the name of an entry's business account. An app has one webhook URL for all its accounts. */
type AccountName = (wabaId: string | undefined) => string | undefined;

/** `failed` follows the acceptance of a message, so the message is undelivered. */
const STATUSES: Readonly<Record<string, ReceiptStatus>> = {
  sent: "sent",
  delivered: "delivered",
  read: "read",
  failed: "undelivered",
};

// WhatsApp documents 1,000 as the most of one request.
const MAX_NOTIFICATIONS = 1_000;

/** Undefined if there are more notifications than WhatsApp puts into one request. */
export function parseNotifications(payload: unknown, accountName: AccountName): Notifications | undefined {
  const found = { byNumber: new Map<string | undefined, NumberNotifications>(), reviews: [] as ReviewUpdate[], ignored: 0 };
  let count = 0;
  const keep = <T>(list: T[], parsed: readonly (T | undefined)[]): void => {
    count += parsed.length;
    for (const each of parsed)
      if (each === undefined) found.ignored += 1;
      else list.push(each);
  };
  const keepOfNumber = (change: JsonObject): void => {
    const id = parseIdentifier(asObject(change["metadata"])["phone_number_id"]);
    const { statuses, messages, preferences } = found.byNumber.get(id) ?? { statuses: [], messages: [], preferences: [] };
    found.byNumber.set(id, { statuses, messages, preferences });
    keep(statuses, asList(change["statuses"]).map(parseStatusReport));
    keep(
      messages,
      asList(change["messages"]).map((message) => parseInbound(message, change)),
    );
    keep(
      preferences,
      asList(change["user_preferences"]).map((preference) => parsePreference(preference, change)),
    );
  };
  for (const entry of asList(asObject(payload)["entry"]).map(asObject))
    for (const { field, value } of asList(entry["changes"]).map(asObject)) {
      const change = asObject(value);
      if (field === "message_template_status_update") keep(found.reviews, [parseReviewUpdate(change, entry, accountName)]);
      else if (field === "messages" || field === "user_preferences") keepOfNumber(change);
      else found.ignored += 1;
    }
  return count > MAX_NOTIFICATIONS ? undefined : found;
}

function parseStatusReport(value: unknown): StatusReport | undefined {
  const receipt = parseReceipt(value);
  return receipt && { receipt, raw: asObject(value) };
}

function parseReceipt(value: unknown): Receipt | undefined {
  const fields = asObject(value);
  const id = parseIdentifier(fields["id"]);
  const name = fields["status"];
  const status = typeof name === "string" && Object.hasOwn(STATUSES, name) ? STATUSES[name] : undefined;
  if (id === undefined || status === undefined) return undefined;
  const [error] = asList(fields["errors"]).map(asObject);
  return {
    providerMessageId: id,
    reference: parseIdentifier(fields["biz_opaque_callback_data"]) ?? null,
    status,
    error: status === "undelivered" ? toReceiptError(error) : null,
    // WhatsApp may know the recipient by another number than the one that we sent to.
    raw: rawFields({
      id,
      status: name,
      timestamp: fields["timestamp"],
      recipient_id: fields["recipient_id"],
      error_code: error?.["code"],
      error_title: error?.["title"],
    }),
  };
}

/** Parses the choice of a person to stop or to resume marketing messages. */
function parsePreference(value: unknown, change: JsonObject): Preference | undefined {
  const fields = asObject(value);
  const addresses = [parseNumber(fields["wa_id"]), parseUserId(fields["user_id"])];
  const { from, ...rest } = person(addresses, change, fields["wa_id"]);
  const isKnown = fields["category"] === "marketing_messages" && (fields["value"] === "stop" || fields["value"] === "resume");
  return from === "" || !isKnown ? undefined : { from, ...rest, to: ourNumber(change), isOptOut: fields["value"] === "stop" };
}

/** An opened chat: the person has sent nothing. */
const isEmptyChat = ({ type }: JsonObject): boolean => type === "request_welcome";

function parseInbound(message: unknown, change: JsonObject): InboundMessage | undefined {
  const fields = asObject(message);
  const id = parseIdentifier(fields["id"]);
  const { from: number, from_user_id: userId } = fields;
  const writer = person([parseNumber(number), parseUserId(userId), parseUserId(number)], change, number);
  if ((id === undefined && writer.from === "") || isEmptyChat(fields)) return undefined;
  const inReplyTo = fields["type"] === "reaction" ? asObject(fields["reaction"])["message_id"] : asObject(fields["context"])["id"];
  const writtenAtMs = parseTime(Number(fields["timestamp"]));
  const content = parseContent(fields);
  return {
    providerMessageId: id ?? null,
    channel: "whatsapp",
    ...writer,
    to: ourNumber(change),
    text: inboundText(fields),
    inReplyTo: parseIdentifier(inReplyTo) ?? null,
    ...(writtenAtMs === null ? {} : { writtenAtMs }),
    ...(typeof fields["group_id"] === "string" ? { isToGroup: true } : {}),
    ...(content === undefined ? {} : { content }),
    ...messageDetails(fields, content),
  };
}

function ourNumber(change: JsonObject): string | null {
  const { display_phone_number: number } = asObject(change["metadata"]);
  return parseNumber(number) ?? parseAddress(number) ?? null;
}

/** A person by their number, their user id, or both. WhatsApp may show only one of them. */
type Person = Pick<InboundMessage, "from" | "alsoFrom">;

/** The person with these addresses, otherwise the only contact of the notification, otherwise an address in a form that is not known. Empty
 *  if there is none of them. */
function person(addresses: readonly (string | undefined)[], change: JsonObject, written: unknown): Person {
  const [from, alsoFrom] = [...new Set([...addresses, ...onlyContact(change)])].filter((each) => each !== undefined);
  return { from: from ?? parseAddress(written) ?? "", ...(alsoFrom === undefined ? {} : { alsoFrom }) };
}

const parseUserId = (value: unknown): string | undefined => (typeof value === "string" && isUserId(value) ? value : undefined);

/** The addresses of the person of a notification that is about one person only. */
function onlyContact(change: JsonObject): (string | undefined)[] {
  const [contact, ...others] = asList(change["contacts"]).map(asObject);
  return contact === undefined || others.length > 0 ? [] : [parseNumber(contact["wa_id"]), parseUserId(contact["user_id"])];
}

/** Undefined if the template cannot be identified. */
function parseReviewUpdate(change: JsonObject, entry: JsonObject, accountName: AccountName): ReviewUpdate | undefined {
  const wabaId = parseIdentifier(entry["id"]);
  const account = accountName(wabaId !== undefined && /^\d+$/.test(wabaId) ? wabaId : undefined);
  const name = parseIdentifier(change["message_template_name"]);
  const language = parseIdentifier(change["message_template_language"]);
  if (account === undefined || name === undefined || language === undefined) return undefined;
  const { status, reason } = parseDecision(change);
  // WhatsApp sometimes writes the BCP 47 tag here in place of its own code.
  return { account, name, code: language.replaceAll("-", "_"), status, reason, atMs: parseTime(entry["time"]) };
}

/** WhatsApp reports whole seconds; the result is the last millisecond of that second. */
const parseTime = (time: unknown): number | null =>
  typeof time === "number" && Number.isSafeInteger(time) && time > 0 && time < 1e11 ? time * 1_000 + 999 : null;

function parseDecision(change: JsonObject): { status: CarrierTemplateStatus | null; reason: string | null } {
  const { event } = change;
  if (event === "REINSTATED") return { status: "approved", reason: null };
  // FLAGGED warns of a decision and is none.
  const known = event === "FLAGGED" ? undefined : parseStatus(event);
  if (known === undefined) return { status: null, reason: null };
  return { status: known.status, reason: known.reason && (explanation(change) ?? known.reason) };
}

/** All of WhatsApp's texts about the decision. */
function explanation(change: JsonObject): string | undefined {
  const { reason, recommendation } = asObject(change["rejection_info"]);
  const { title, description } = asObject(change["other_info"]);
  const short = parseText(change["reason"]);
  const all = [
    short === "NONE" ? undefined : short,
    parseText(reason),
    parseText(recommendation),
    parseText(description) ?? parseText(title),
  ];
  const texts = all.filter((each) => each !== undefined);
  return texts.length === 0 ? undefined : texts.join(": ");
}
