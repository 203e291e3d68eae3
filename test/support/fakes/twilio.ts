/** A fake of Twilio: accepts messages, sends signed callbacks, and behaves for each recipient as the test sets. */
import { createHmac } from "node:crypto";
import { RECIPIENTS } from "../recipient.ts";
import { HttpCarrierServer, respond, type CarrierBehavior, type Seen } from "./http-carrier.ts";

export const TWILIO_SECRETS = { accountSid: "ACcafe0000000000000000000000000001", authToken: "auth-token-of-ours" };

export const twilioError = (code: number, status = 400, headers: Record<string, string> = {}): CarrierBehavior =>
  respond({ code, message: "as Twilio says it", more_info: `https://www.twilio.com/docs/errors/${code}`, status }, status, headers);

/** The signature of Twilio: over the URL, followed by the name and the value of each field in the order of the names. */
export function twilioSignature(url: string, fields: Readonly<Record<string, string>>, authToken = TWILIO_SECRETS.authToken): string {
  const text = Object.keys(fields)
    .toSorted()
    .reduce((all, name) => all + name + fields[name], url);
  return createHmac("sha1", authToken).update(text).digest("base64");
}

let sids = 0;
const newSid = (): string => `SM${String((sids += 1)).padStart(32, "0")}`;

export class FakeTwilio extends HttpCarrierServer {
  /** The reactions to requests of files by their paths. */
  readonly files = new Map<string, CarrierBehavior>();

  constructor() {
    super();
    this.behaviors.set(RECIPIENTS.refused, twilioError(21211));
    this.behaviors.set(RECIPIENTS.throttled, twilioError(20429, 429, { "retry-after": "0" }));
    this.behaviors.set(RECIPIENTS.unknown, { kind: "disconnects" });
  }

  /** The forms of all messages. */
  get messages(): Record<string, string>[] {
    return this.seen.map(({ body }) => Object.fromEntries(new URLSearchParams(body)));
  }

  /** Calls a URL with a signature. The fragment of the URL has options for Twilio, and is not sent. */
  call(url: string, fields: Readonly<Record<string, string>>, afterMs = 0): void {
    const called = url.replace(/#.*$/, "");
    const headers = { "content-type": "application/x-www-form-urlencoded", "x-twilio-signature": twilioSignature(called, fields) };
    this.callUntilAccepted(called, headers, new URLSearchParams(fields).toString(), afterMs);
  }

  protected override behaviorFor(seen: Seen): CarrierBehavior {
    const { accountSid, authToken } = TWILIO_SECRETS;
    const isKnown = seen.headers["authorization"] === `Basic ${btoa(`${accountSid}:${authToken}`)}`;
    if (isKnown && seen.method === "GET" && seen.path === `/2010-04-01/Accounts/${accountSid}.json`)
      return respond({ sid: accountSid, status: "active" });
    const file = isKnown && seen.method === "GET" ? this.files.get(seen.path) : undefined;
    if (file !== undefined) return file;
    if (!isKnown || seen.path !== `/2010-04-01/Accounts/${accountSid}/Messages.json`) return twilioError(20003, 401);
    const form = new URLSearchParams(seen.body);
    const to = form.get("To") ?? "";
    const sid = newSid();
    const behavior = this.behaviors.get(to);
    if (behavior === undefined || to === RECIPIENTS.unknown) this.#report(sid, form);
    if (behavior !== undefined) return typeof behavior === "function" ? behavior(seen) : behavior;
    return respond({ sid, status: "queued", to, error_code: null }, 201);
  }

  #report(sid: string, form: URLSearchParams): void {
    const url = form.get("StatusCallback");
    if (url === null) return;
    const fields = { MessageSid: sid, SmsSid: sid, AccountSid: TWILIO_SECRETS.accountSid, To: form.get("To") ?? "" };
    this.call(url, { ...fields, MessageStatus: "sent" }, 10);
    if (form.get("To") === RECIPIENTS.undelivered) this.call(url, { ...fields, MessageStatus: "undelivered", ErrorCode: "30007" }, 20);
    else this.call(url, { ...fields, MessageStatus: "delivered" }, 20);
  }
}
