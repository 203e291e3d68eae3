/** Webhook requests of Twilio: statuses of messages, and inbound messages. The signature covers the fields and the called URL. */
import { createHmac } from "node:crypto";
import { parseIdentifier, parseNumber, parseText, rawFields } from "../carrier-fields.ts";
import { isSameSecret, storeReports, textResponse, type CarrierReports } from "../carrier-request.ts";
import type { CarrierRequest, CarrierResponse, Host, InboundMessage, Receipt, ReceiptStatus } from "../provider.ts";
import { toReceiptError } from "./errors.ts";
import { RETRY_FRAGMENT } from "./request.ts";

type WebhookSettings = { authToken: string; statusCallbackUrl: string | null; publicUrl?: string | null };

// Twilio reads the response as instructions. This one has none.
const NO_INSTRUCTIONS: CarrierResponse = { status: 200, contentType: "text/xml; charset=utf-8", body: "<Response></Response>" };

export async function handleRequest(settings: WebhookSettings, request: CarrierRequest, host: Host): Promise<CarrierResponse> {
  const form = hasSignature(request) && countFields(request.body) <= MAX_FIELDS ? new URLSearchParams(request.body.toString()) : undefined;
  if (form === undefined || !isSigned(settings, request, form)) {
    host.log.warn({ event: "providers.signature_invalid", provider: "twilio" }, "a request with a wrong signature was refused");
    return textResponse(403, "the signature is not right");
  }
  const reports = parseReports(form, request.query["reference"]);
  if (reports === undefined) {
    host.log.info({ provider: "twilio", status: messageStatus(form) }, "a request reported a status that is not processed");
    return NO_INSTRUCTIONS;
  }
  return (await storeReports(host, reports)) ? NO_INSTRUCTIONS : textResponse(503, "not stored: say it again");
}

// A SHA-1 in base64.
const SIGNATURE_LENGTH = 28;
// Twilio sends about 30.
const MAX_FIELDS = 200;

const SIGNATURE_HEADER = "x-twilio-signature";

const hasSignature = ({ headers }: CarrierRequest): boolean => headers[SIGNATURE_HEADER]?.length === SIGNATURE_LENGTH;

/** Counts at least as many fields as the form has, without parsing it. */
function countFields(body: Buffer): number {
  let count = 1;
  for (const byte of body) if (byte === AMPERSAND) count += 1;
  return count;
}

const AMPERSAND = 0x26;

/** Twilio's signature: HMAC-SHA1 over the URL and all fields with their values, sorted by name. */
function isSigned(settings: WebhookSettings, { url, headers }: CarrierRequest, form: URLSearchParams): boolean {
  const { authToken } = settings;
  if (authToken === "") return false;
  const given = headers[SIGNATURE_HEADER] ?? "";
  const fields = signedFields(form);
  const sign = (candidate: string): string => createHmac("sha1", authToken).update(candidate).update(fields).digest("base64");
  return candidateUrls(settings, url)
    .map((candidate) => isSameSecret(given, sign(candidate)))
    .includes(true);
}

/** The part of the signed text after the URL. A field that is repeated with the same value counts once. */
function signedFields(form: URLSearchParams): string {
  const values = new Map<string, Set<string>>();
  for (const [name, value] of form) {
    const known = values.get(name);
    if (known === undefined) values.set(name, new Set([value]));
    else known.add(value);
  }
  return [...values.keys()]
    .toSorted()
    .flatMap((name) => [...(values.get(name) ?? [])].toSorted().map((value) => name + value))
    .join("");
}

/** The URLs that Twilio may have signed. Twilio signs the URL that it was configured with, and a proxy may show us a different one, so
 *  our public URLs come first. */
function candidateUrls({ publicUrl, statusCallbackUrl }: WebhookSettings, url: string): string[] {
  const at = url.indexOf("?");
  const search = at === -1 ? "" : url.slice(at);
  const configured = [publicUrl ?? null, statusCallbackUrl].filter((each) => each !== null);
  const all = [...configured.map((each) => each.replace(/[?#].*$/, "") + search), url];
  // A request does not contain the fragment. Twilio does not document whether it signs the fragment.
  return all.flatMap((each) => [each, each + RETRY_FRAGMENT]);
}

/** Statuses without new information (`queued`, `sending`) are left out. */
const STATUSES: Readonly<Record<string, ReceiptStatus>> = {
  sent: "sent",
  delivered: "delivered",
  read: "read",
  undelivered: "undelivered",
  failed: "failed",
};

const messageStatus = (form: URLSearchParams): string | null => form.get("MessageStatus") ?? form.get("SmsStatus");

function parseReports(form: URLSearchParams, reference: string | undefined): CarrierReports | undefined {
  const status = messageStatus(form);
  // An inbound message has a status too.
  if (status === null || status === "received") {
    const message = parseInbound(form);
    return message && { receipts: [], messages: [message] };
  }
  const receipt = parseReceipt(form, status, reference);
  return receipt && { receipts: [receipt], messages: [] };
}

function parseReceipt(form: URLSearchParams, name: string, reference: string | undefined): Receipt | undefined {
  const sid = parseIdentifier(form.get("MessageSid"));
  const status = Object.hasOwn(STATUSES, name) ? STATUSES[name] : undefined;
  if (sid === undefined || status === undefined) return undefined;
  const isFailure = status === "undelivered" || status === "failed";
  return {
    providerMessageId: sid,
    reference: parseIdentifier(reference) ?? null,
    status,
    error: isFailure ? toReceiptError(form.get("ErrorCode")) : null,
    raw: rawFields({ sid, status: name, error_code: form.get("ErrorCode") }),
  };
}

function parseInbound(form: URLSearchParams): InboundMessage | undefined {
  const sid = parseIdentifier(form.get("MessageSid"));
  const from = parseNumber(form.get("From"));
  // Our number may be a short code.
  const to = /^\+?\d{3,15}$/.exec(form.get("To") ?? "")?.[0];
  if (sid === undefined || from === undefined || to === undefined) return undefined;
  return {
    providerMessageId: sid,
    channel: "sms",
    from,
    to,
    text: parseText(form.get("Body")) ?? mediaPlaceholder(form),
    // Twilio does not report the message that this one replies to.
    inReplyTo: null,
  };
}

/** The kind of media in brackets, for a message without text. */
function mediaPlaceholder(form: URLSearchParams): string {
  if (!/^[1-9]/.test(form.get("NumMedia") ?? "")) return "";
  const [, kind = "media"] = /^(image|audio|video)\//.exec(form.get("MediaContentType0") ?? "") ?? [];
  return `[${kind}]`;
}
