/** Twilio's HTTP interface for SMS, and those that are like it: a POST for each message, and signed calls for what becomes of it. */
import { assert } from "../../lib/assert.ts";
import { segmentsOf } from "../../lib/segments.ts";
import { HttpLink } from "../http-link.ts";
import type { Provider } from "../provider.ts";
import { readAnswer } from "./errors.ts";
import { formOf } from "./request.ts";
import { answer } from "./webhook.ts";

export type TwilioSettings = {
  baseUrl?: string;
  accountSid: string;
  /** Ours towards Twilio, and what Twilio signs with. */
  authToken: string;
  /** Sends what has no sender of its own. */
  messagingServiceSid: string | null;
  /** Our own address as Twilio calls it: /providers/twilio/{link}. Without it there are no receipts. */
  statusCallbackUrl: string | null;
  /** The address that Twilio has for what people write, where it is another. */
  publicUrl?: string | null;
  partsPerSecond?: number;
  window?: number;
  /** How long an answer may take. */
  timeoutMs?: number;
};

const BASE_URL = "https://api.twilio.com";
// What Twilio queues for a toll-free number or a short code without being asked for more is above this; a long code sends one a
// second, and Twilio queues the rest for hours.
const PARTS_PER_SECOND = 10;
const WINDOW = 20;
// The longest text that Twilio takes has so many. What is longer is refused, and must not hold up the link for minutes.
const MAX_PARTS = 24;

export const twilio: Provider<TwilioSettings> = {
  name: "twilio",
  // The rate is that of the account, whoever sends.
  isExclusive: true,
  handleRequest: answer,
  async open(settings, host) {
    const { accountSid, authToken } = settings;
    assert(/^\w+$/.test(accountSid), "an account SID has letters and digits only");
    const path = `/2010-04-01/Accounts/${accountSid}/Messages.json`;
    const headers = {
      authorization: `Basic ${Buffer.from(`${accountSid}:${authToken}`).toString("base64")}`,
      "content-type": "application/x-www-form-urlencoded",
    };
    return new HttpLink(
      {
        name: "twilio",
        baseUrl: settings.baseUrl ?? BASE_URL,
        window: settings.window ?? WINDOW,
        perSecond: settings.partsPerSecond ?? PARTS_PER_SECOND,
        timeoutMs: settings.timeoutMs,
        requestOf: (message) => ({ path, headers, body: formOf(settings, message, host.now()) }),
        sizeOf: ({ body }) => Math.min(MAX_PARTS, segmentsOf(body).count),
        read: readAnswer,
      },
      host,
    );
  },
};
