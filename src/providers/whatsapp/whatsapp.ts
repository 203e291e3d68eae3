/** The WhatsApp Cloud API: a POST for each message, and signed webhook requests for statuses and inbound messages. */
import { assert } from "../../lib/assert.ts";
import { targetBelow } from "../../outbound/http-client.ts";
import { failed, isResponseWith, succeeded, testCall, unexpected } from "../connection-test.ts";
import { HttpLink, type HttpLinkSettings } from "../http-link.ts";
import type { Provider } from "../provider.ts";
import { interpretResponse, TEMPLATE_REJECTED } from "./errors.ts";
import { requestBody } from "./request.ts";
import { accountName, WhatsAppBusinessAccount } from "./business-account.ts";
import { handleRequest } from "./webhook.ts";

export type WhatsAppSettings = HttpLinkSettings & {
  baseUrl?: string;
  /** The version of the Graph API. */
  version?: string;
  phoneNumberId: string;
  /** The business account, which owns the templates. */
  wabaId: string | null;
  /** The account that created the link: others that name the same business account have not proven that it is theirs. */
  owner?: string;
  accessToken: string;
  /** WhatsApp signs its webhook requests with this secret. */
  appSecret: string;
  /** WhatsApp sends this token when it verifies our webhook URL. */
  verifyToken: string;
  messagesPerSecond?: number;
};

const BASE_URL = "https://graph.facebook.com";
const VERSION = "v23.0";
// WhatsApp's default limit of a number.
const MESSAGES_PER_SECOND = 80;
// Twice the need of that rate, if a response takes half a second.
const WINDOW = 80;

// A request has up to 1,000 notifications of about a kilobyte.
const MAX_REQUEST_BYTES = 1_048_576;

export const whatsapp: Provider<WhatsAppSettings> = {
  name: "whatsapp",
  // The rate belongs to the number, so all nodes share it.
  isExclusive: true,
  handleRequest: (settings, request, host, links = () => []) =>
    handleRequest({ ...settings, baseUrl: settings.baseUrl ?? BASE_URL }, request, { host, links }),
  requestMethods: ["GET", "POST"],
  maxRequestBytes: MAX_REQUEST_BYTES,
  businessAccountName: ({ baseUrl = BASE_URL, wabaId, owner }) => (wabaId === null ? undefined : accountName({ baseUrl, owner }, wabaId)),
  openBusinessAccount({ baseUrl = BASE_URL, version = VERSION, wabaId, accessToken, gate }, log) {
    assert(wabaId !== null, "the link has a business account");
    return new WhatsAppBusinessAccount({ baseUrl, version, wabaId, accessToken, gate }, log);
  },
  test({ baseUrl = BASE_URL, version = VERSION, phoneNumberId, accessToken, gate }, _log, signal) {
    const path = `/${version}/${encodeURIComponent(phoneNumberId)}?fields=display_phone_number`;
    const call = { baseUrl, gate, path, headers: { authorization: `Bearer ${accessToken}` } };
    return testCall(call, signal, (response) => {
      if (isResponseWith(response, "display_phone_number")) return succeeded("WhatsApp knows the number, and accepts the access token.");
      // The Graph API refuses tokens with 400 and a code as well.
      return response.status === 400 || response.status === 404
        ? failed("credentials", "WhatsApp does not show this phone number id to this access token.")
        : unexpected(response);
    });
  },
  async open(settings, host) {
    const { version = VERSION, phoneNumberId, accessToken } = settings;
    assert(/^v\d+\.\d+$/.test(version), "the version of the Graph API is one such as v23.0");
    assert(/^\d+$/.test(phoneNumberId), "a phone number id has digits only");
    const { origin, path } = targetBelow(settings.baseUrl ?? BASE_URL, `/${version}/${phoneNumberId}/messages`);
    const headers = { authorization: `Bearer ${accessToken}`, "content-type": "application/json" };
    return new HttpLink(
      {
        name: "whatsapp",
        origin,
        window: settings.window ?? WINDOW,
        perSecond: settings.messagesPerSecond ?? MESSAGES_PER_SECOND,
        settings,
        toRequest: (message) => ({ origin, path, method: "POST", headers, body: requestBody(message) }),
        sizeOf: () => 1,
        interpret: (response, message) => {
          const outcome = interpretResponse(response, message);
          if (outcome.kind === "refused" && outcome.code === TEMPLATE_REJECTED) host.templatesChanged();
          return outcome;
        },
      },
      host,
    );
  },
};
