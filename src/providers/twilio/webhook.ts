/** Webhook requests of Twilio: statuses of messages, and inbound messages. The signature covers the fields and the called URL. */
import { withoutQuery } from "../../lib/urls.ts";
import { createHmac } from "node:crypto";
import { waysToWrite } from "../called-url.ts";
import { parseAddress, parseIdentifier, parseText, rawFields } from "../carrier-fields.ts";
import { countFields, isSameSecret, storeReports, textResponse, type CarrierReports } from "../carrier-request.ts";
import type { CarrierError, CarrierRequest, CarrierResponse, Host, InboundMessage, Receipt, ReceiptStatus } from "../provider.ts";
import { toReceiptError } from "./errors.ts";
import { mediaPlaceholder, parseInboundContent } from "./inbound-content.ts";

/** Asks Twilio to repeat a status callback up to five times when we could not store it, which Twilio does not do by default. Twilio
 *  reads these options from the fragment of the URL. */
export const RETRY_FRAGMENT = "#rc=5&rp=5xx,ct,rt";

type WebhookSettings = { authToken: string; statusCallbackUrl: string | null };

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

/** Twilio's signature: HMAC-SHA1 over the URL and all fields with their values, sorted by name. */
function isSigned(settings: WebhookSettings, request: CarrierRequest, form: URLSearchParams): boolean {
  const { authToken } = settings;
  if (authToken === "") return false;
  const given = request.headers[SIGNATURE_HEADER] ?? "";
  const fields = signedFields(form);
  const sign = (candidate: string): string => createHmac("sha1", authToken).update(candidate).update(fields).digest("base64");
  return [...candidateUrls(settings, request)].map((candidate) => isSameSecret(given, sign(candidate))).includes(true);
}

/** The part of the signed text after the URL. A field that is repeated with the same value counts once. */
function signedFields(form: URLSearchParams): string {
  const names = [...new Set(form.keys())].toSorted();
  return names.flatMap((name) => [...new Set(form.getAll(name))].toSorted().map((value) => name + value)).join("");
}

/** The URLs that Twilio may have signed. Twilio signs the URL that it was configured with, and a proxy may show us a different one, so
 *  our public URL comes first. */
function candidateUrls({ statusCallbackUrl }: WebhookSettings, request: CarrierRequest): Set<string> {
  const { url } = request;
  const at = url.indexOf("?");
  const search = at === -1 ? "" : url.slice(at);
  const called = [...(statusCallbackUrl === null ? [] : [withoutQuery(statusCallbackUrl) + search]), url];
  const all = called.flatMap((each) => waysToWrite(each, request));
  // A request does not contain the fragment. Twilio does not document whether it signs the fragment.
  return new Set(all.flatMap((each) => [each, each + RETRY_FRAGMENT]));
}

/** Statuses without new information (`queued`, `sending`) are left out. */
const STATUSES: Readonly<Record<string, ReceiptStatus>> = {
  sent: "sent",
  delivered: "delivered",
  read: "read",
  undelivered: "undelivered",
  partially_delivered: "undelivered",
  canceled: "failed",
  failed: "failed",
};

/** The errors of statuses that say why by themselves. */
const STATUS_ERRORS: Readonly<Record<string, CarrierError>> = {
  partially_delivered: {
    code: "partially_delivered",
    message: "Twilio delivered only a part of the message",
    providerCode: null,
    isPermanent: false,
  },
  canceled: { code: "canceled_at_carrier", message: "The message was canceled at Twilio", providerCode: null, isPermanent: true },
};

const messageStatus = (form: URLSearchParams): string | null => form.get("MessageStatus") ?? form.get("SmsStatus");

function parseReports(form: URLSearchParams, reference: string | undefined): CarrierReports | undefined {
  const status = messageStatus(form);
  // An inbound message has a status too.
  if (status === null || status === "received" || status === "receiving") {
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
    error: isFailure ? (STATUS_ERRORS[name] ?? toReceiptError(form.get("ErrorCode"))) : null,
    raw: rawFields({ sid, status: name, error_code: form.get("ErrorCode") }),
  };
}

function parseInbound(form: URLSearchParams): InboundMessage | undefined {
  const isWhatsApp = form.get("From")?.startsWith(WHATSAPP_PREFIX) === true;
  const from = parseAddress(addressOf(form, "From")) ?? "";
  const { content, details } = parseInboundContent(form);
  // The label of a chosen button is what the person wrote.
  const body = parseText(form.get("Body")) ?? parseText(form.get("ButtonText"));
  const text = body ?? mediaPlaceholder(form);
  const sid = parseIdentifier(form.get("MessageSid"));
  // A request about something else, such as a call.
  if (text === "" && (from === "" || sid === undefined)) return undefined;
  return {
    providerMessageId: sid ?? null,
    channel: isWhatsApp ? "whatsapp" : "sms",
    from,
    to: parseAddress(addressOf(form, "To")) ?? null,
    text,
    // Twilio does not report the message that this one replies to.
    inReplyTo: null,
    ...reportedMeaning(form.get("OptOutType")),
    ...(content === undefined ? {} : { content }),
    ...(details === undefined ? {} : { details }),
  };
}

// Twilio writes the channel in front of addresses other than those of SMS.
const WHATSAPP_PREFIX = "whatsapp:";

const addressOf = (form: URLSearchParams, field: "From" | "To"): string => (form.get(field) ?? "").replace(WHATSAPP_PREFIX, "");

const OPT_OUT_TYPES: Readonly<Record<string, InboundMessage["reported"]>> = { STOP: "out", START: "in", HELP: "help" };

/** The meaning that Twilio's Advanced Opt-Out found in a message. Twilio has replied then. */
function reportedMeaning(type: string | null): Pick<InboundMessage, "reported"> {
  const reported = type !== null && Object.hasOwn(OPT_OUT_TYPES, type) ? OPT_OUT_TYPES[type] : undefined;
  return reported === undefined ? {} : { reported };
}
