/** The door for Twilio's calls: what became of a message, and what people wrote. Each is signed, together with the address that was
 *  called. */
import { createHmac } from "node:crypto";
import { isCommitted, isSameSecret, nameIn, numberIn, plain, rawOf, textIn, type Said } from "../http-answer.ts";
import type { CarrierResponse, CarrierRequest, Host, InboundMessage, Receipt, ReceiptStatus } from "../provider.ts";
import { receiptError } from "./errors.ts";
import { CALL_AGAIN } from "./request.ts";

type Door = { authToken: string; statusCallbackUrl: string | null; publicUrl?: string | null };

// Twilio takes the answer for instructions: there are none.
const NOTHING_TO_DO: CarrierResponse = { status: 200, contentType: "text/xml; charset=utf-8", body: "<Response></Response>" };

export async function answer(door: Door, request: CarrierRequest, host: Host): Promise<CarrierResponse> {
  if (request.method !== "POST") return plain(405, "POST is answered here");
  const form = new URLSearchParams(request.body.toString("utf8"));
  if (!isSigned(door, request, form)) {
    host.log.warn({ event: "providers.signature_invalid", provider: "twilio" }, "a request with a wrong signature was refused");
    return plain(403, "the signature is not right");
  }
  const said = saidIn(form, request.query["reference"]);
  if (said === undefined) {
    host.log.info({ provider: "twilio", status: statusIn(form) }, "a request reported a status that is not processed");
    return NOTHING_TO_DO;
  }
  return (await isCommitted(host, said)) ? NOTHING_TO_DO : plain(503, "not stored: say it again");
}

/** HMAC-SHA1, as Twilio prescribes it, over the address and every field with its value, by name. */
function signatureOf(authToken: string, url: string, form: URLSearchParams): string {
  const names = [...new Set(form.keys())].toSorted((a, b) => (a < b ? -1 : 1));
  const fields = names.flatMap((name) => [...new Set(form.getAll(name))].toSorted().map((value) => name + value));
  return createHmac("sha1", authToken)
    .update(url + fields.join(""), "utf8")
    .digest("base64");
}

function isSigned(door: Door, { url, headers }: CarrierRequest, form: URLSearchParams): boolean {
  if (door.authToken === "") return false;
  const given = headers["x-twilio-signature"] ?? "";
  return addresses(door, url)
    .map((address) => isSameSecret(given, signatureOf(door.authToken, address, form)))
    .includes(true);
}

/** Twilio signs the address that it was given. Proxies show us another, so what we are known by outside comes first. */
function addresses({ publicUrl, statusCallbackUrl }: Door, url: string): string[] {
  const at = url.indexOf("?");
  const search = at === -1 ? "" : url.slice(at);
  const known = [publicUrl ?? null, statusCallbackUrl].filter((address) => address !== null);
  const all = [...known.map((address) => address.replace(/[?#].*$/, "") + search), url];
  // What we ask for behind the # is not part of a request; whether it is signed is not written anywhere.
  return all.flatMap((address) => [address, address + CALL_AGAIN]);
}

/** Words for what is no news (`queued`, `sending`) are not here. */
const STATUSES: Readonly<Record<string, ReceiptStatus>> = {
  sent: "sent",
  delivered: "delivered",
  read: "read",
  undelivered: "undelivered",
  failed: "failed",
};

const statusIn = (form: URLSearchParams): string | null => form.get("MessageStatus") ?? form.get("SmsStatus");

function saidIn(form: URLSearchParams, reference: string | undefined): Said | undefined {
  const status = statusIn(form);
  // What people write has a status too.
  if (status === null || status === "received") {
    const message = messageIn(form);
    return message && { receipts: [], messages: [message] };
  }
  const receipt = receiptIn(form, status, reference);
  return receipt && { receipts: [receipt], messages: [] };
}

function receiptIn(form: URLSearchParams, word: string, reference: string | undefined): Receipt | undefined {
  const sid = nameIn(form.get("MessageSid"));
  const status = Object.hasOwn(STATUSES, word) ? STATUSES[word] : undefined;
  if (sid === undefined || status === undefined) return undefined;
  const isBad = status === "undelivered" || status === "failed";
  return {
    providerMessageId: sid,
    reference: nameIn(reference) ?? null,
    status,
    error: isBad ? receiptError(form.get("ErrorCode")) : null,
    raw: rawOf({ sid, status: word, error_code: form.get("ErrorCode") }),
  };
}

function messageIn(form: URLSearchParams): InboundMessage | undefined {
  const sid = nameIn(form.get("MessageSid"));
  const from = numberIn(form.get("From"));
  // A number of ours may be a short one.
  const to = /^\+?\d{3,15}$/.exec(form.get("To") ?? "")?.[0];
  if (sid === undefined || from === undefined || to === undefined) return undefined;
  return {
    providerMessageId: sid,
    channel: "sms",
    from,
    to,
    text: textIn(form.get("Body")) ?? pictureIn(form),
    // Twilio does not say what is answered.
    inReplyTo: null,
  };
}

/** Of a message that is only a picture or the like: what it is. */
function pictureIn(form: URLSearchParams): string {
  if (!/^[1-9]/.test(form.get("NumMedia") ?? "")) return "";
  const [, kind = "media"] = /^(image|audio|video)\//.exec(form.get("MediaContentType0") ?? "") ?? [];
  return `[${kind}]`;
}
