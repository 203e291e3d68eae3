/** Twilio's HTTP API for SMS, and compatible ones: a POST for each message, and signed webhook requests for statuses and inbound
 *  messages. */
import { basicAuthorization } from "../../lib/basic-authorization.ts";
import { requireUrl, withoutQuery } from "../../lib/urls.ts";
import { assert } from "../../lib/assert.ts";
import { segmentsOf } from "../../model/segments.ts";
import { targetBelow } from "../../outbound/http-client.ts";
import { failed, isResponseWith, succeeded, testCall, unexpected } from "../connection-test.ts";
import { HttpLink, type HttpLinkSettings, type ResponseOutcome } from "../http-link.ts";
import type { Outgoing, Provider } from "../provider.ts";
import { interpretResponse } from "./errors.ts";
import { openMmsFile } from "./open-file.ts";
import { handleRequest, RETRY_FRAGMENT } from "./webhook.ts";

export type TwilioSettings = HttpLinkSettings & {
  baseUrl: string;
  accountSid: string;
  /** Our credential, with which Twilio also signs its webhook requests. */
  authToken: string;
  /** Sends the messages that have no sender. */
  messagingServiceSid: string | null;
  /** Our public URL of /providers/twilio/{link}. Without it there are no receipts. */
  statusCallbackUrl: string | null;
  partsPerSecond: number;
};

export const TWILIO_DEFAULTS = {
  baseUrl: "https://api.twilio.com",
  messagingServiceSid: null,
  // Below Twilio's default rate of toll-free numbers and short codes. A long code sends one part a second, and Twilio queues the rest
  // for hours.
  partsPerSecond: 10,
  window: 20,
};

// Twilio's limit.
const MAX_VALIDITY_SECONDS = 36_000;
// The number of parts in the longest text that Twilio accepts. A longer text is refused, and must not delay the link for minutes.
const MAX_PARTS = 24;

export const twilio: Provider<TwilioSettings> = {
  name: "twilio",
  // The rate belongs to the account, so all nodes share it.
  isExclusive: true,
  handleRequest,
  test({ baseUrl, accountSid, authToken, gate }, _log, signal) {
    const headers = { authorization: basicAuthorization(accountSid, authToken) };
    const path = `/2010-04-01/Accounts/${encodeURIComponent(accountSid)}.json`;
    return testCall({ baseUrl, gate, path, headers }, signal, (response) => {
      if (isResponseWith(response, "sid")) return succeeded("Twilio accepts the account SID and the auth token.");
      return response.status === 404 ? failed("credentials", "Twilio does not know the account SID.") : unexpected(response);
    });
  },
  openFile(settings, carrierFile, signal) {
    return openMmsFile(settings, basicAuthorization(settings.accountSid, settings.authToken), carrierFile, signal);
  },
  async open(settings, host) {
    const { accountSid, authToken } = settings;
    assert(/^\w+$/.test(accountSid), "an account SID has letters and digits only");
    const { origin, path } = targetBelow(settings.baseUrl, `/2010-04-01/Accounts/${accountSid}/Messages.json`);
    const headers = {
      authorization: basicAuthorization(accountSid, authToken),
      "content-type": "application/x-www-form-urlencoded",
    };
    return new HttpLink(
      {
        name: "twilio",
        origin,
        perSecond: settings.partsPerSecond,
        settings,
        prepare: async (message) => (message.media !== undefined && settings.statusCallbackUrl === null ? NO_PUBLIC_URL : message),
        toRequest: (message) => ({ origin, path, method: "POST", headers, body: toForm(settings, message, host.now()) }),
        sizeOf: ({ body }) => Math.min(MAX_PARTS, segmentsOf(body).count),
        interpret: interpretResponse,
      },
      host,
    );
  },
};

/** Twilio fetches the file of an MMS from us. */
const NO_PUBLIC_URL: ResponseOutcome = {
  kind: "refused",
  code: "media_not_reachable",
  message: "The link has no public_url, below which Twilio could fetch the file of the message",
  providerCode: null,
  isPermanent: true,
};

/** The body of a request: a form. */
function toForm({ messagingServiceSid, statusCallbackUrl }: TwilioSettings, message: Outgoing, nowMs: number): string {
  const { id, recipient, sender, body, media, expiresAtMs } = message;
  const seconds = Math.floor((expiresAtMs - nowMs) / 1_000);
  const form = new URLSearchParams({ To: recipient });
  if (body !== "") form.set("Body", body);
  if (media !== undefined && statusCallbackUrl !== null) form.set("MediaUrl", media.urlBelow(requireUrl(statusCallbackUrl).origin));
  if (sender !== null) form.set("From", sender);
  else if (messagingServiceSid !== null) form.set("MessagingServiceSid", messagingServiceSid);
  if (statusCallbackUrl !== null) form.set("StatusCallback", callbackUrl(statusCallbackUrl, id));
  form.set("ValidityPeriod", String(Math.min(MAX_VALIDITY_SECONDS, Math.max(1, seconds))));
  return form.toString();
}

/** The URL carries our id, which comes back with every status: a message whose response was lost can be matched only by it. */
const callbackUrl = (base: string, id: string): string => `${withoutQuery(base)}?reference=${encodeURIComponent(id)}${RETRY_FRAGMENT}`;
