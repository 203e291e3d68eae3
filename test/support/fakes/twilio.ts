/** A fake of Twilio: accepts messages, sends signed callbacks, and behaves for each recipient as the test sets. */
import { createHmac } from "node:crypto";
import { HttpCarrierServer, type CarrierBehavior, type Seen } from "./http-carrier.ts";

export const TWILIO_SECRETS = { accountSid: "ACcafe0000000000000000000000000001", authToken: "auth-token-of-ours" };

export const TWILIO_RECIPIENTS = {
  delivered: "+15005550006",
  undelivered: "+15005550005",
  refused: "+15005550002",
  throttled: "+15005550012",
  unknown: "+15005550013",
};

export const twilioError = (code: number, status = 400, headers: Record<string, string> = {}): CarrierBehavior => ({
  kind: "responds",
  status,
  headers,
  body: JSON.stringify({ code, message: "as Twilio says it", more_info: `https://www.twilio.com/docs/errors/${code}`, status }),
});

/** The signature of Twilio: over the URL, followed by the name and the value of each field in the order of the names. */
export function twilioSignature(url: string, fields: Readonly<Record<string, string>>, authToken = TWILIO_SECRETS.authToken): string {
  const text = Object.keys(fields)
    .toSorted()
    .reduce((all, name) => all + name + fields[name], url);
  return createHmac("sha1", authToken).update(text).digest("base64");
}

let sids = 0;
const newSid = (): string => `SM${String((sids += 1)).padStart(32, "0")}`;

export class FakeTwilio {
  /** The behavior by recipient. Messages to all other recipients are accepted and reported as delivered. */
  readonly behaviors = new Map<string, CarrierBehavior | ((seen: Seen) => CarrierBehavior)>();
  readonly server: HttpCarrierServer;

  private constructor() {
    this.server = new HttpCarrierServer((seen) => this.#behaviorFor(seen));
    this.behaviors.set(TWILIO_RECIPIENTS.refused, twilioError(21211));
    this.behaviors.set(TWILIO_RECIPIENTS.throttled, twilioError(20429, 429, { "retry-after": "0" }));
    this.behaviors.set(TWILIO_RECIPIENTS.unknown, { kind: "disconnects" });
  }

  static async start(address?: string): Promise<FakeTwilio> {
    const fake = new FakeTwilio();
    await fake.server.listen(address);
    return fake;
  }

  get url(): string {
    return this.server.url;
  }

  /** The forms of all messages. */
  get messages(): Record<string, string>[] {
    return this.server.seen.map(({ body }) => Object.fromEntries(new URLSearchParams(body)));
  }

  /** Calls a URL with a signature. The fragment of the URL has options for Twilio, and is not sent. */
  call(url: string, fields: Readonly<Record<string, string>>, afterMs = 0): void {
    const called = url.replace(/#.*$/, "");
    const headers = { "content-type": "application/x-www-form-urlencoded", "x-twilio-signature": twilioSignature(called, fields) };
    this.server.callUntilAccepted(called, headers, new URLSearchParams(fields).toString(), afterMs);
  }

  close(): Promise<void> {
    return this.server.close();
  }

  #behaviorFor(seen: Seen): CarrierBehavior {
    const { accountSid, authToken } = TWILIO_SECRETS;
    const isKnown = seen.headers["authorization"] === `Basic ${btoa(`${accountSid}:${authToken}`)}`;
    if (isKnown && seen.method === "GET" && seen.path === `/2010-04-01/Accounts/${accountSid}.json`)
      return { kind: "responds", status: 200, body: JSON.stringify({ sid: accountSid, status: "active" }) };
    if (!isKnown || seen.path !== `/2010-04-01/Accounts/${accountSid}/Messages.json`) return twilioError(20003, 401);
    const form = new URLSearchParams(seen.body);
    const to = form.get("To") ?? "";
    const sid = newSid();
    const behavior = this.behaviors.get(to);
    if (behavior === undefined || to === TWILIO_RECIPIENTS.unknown) this.#report(sid, form);
    if (behavior !== undefined) return typeof behavior === "function" ? behavior(seen) : behavior;
    return { kind: "responds", status: 201, body: JSON.stringify({ sid, status: "queued", to, error_code: null }) };
  }

  #report(sid: string, form: URLSearchParams): void {
    const url = form.get("StatusCallback");
    if (url === null) return;
    const fields = { MessageSid: sid, SmsSid: sid, AccountSid: TWILIO_SECRETS.accountSid, To: form.get("To") ?? "" };
    this.call(url, { ...fields, MessageStatus: "sent" }, 10);
    if (form.get("To") === TWILIO_RECIPIENTS.undelivered)
      this.call(url, { ...fields, MessageStatus: "undelivered", ErrorCode: "30007" }, 20);
    else this.call(url, { ...fields, MessageStatus: "delivered" }, 20);
  }
}
