/** The WhatsApp Cloud API: a POST for each message, and signed calls for what becomes of it. */
import { assert } from "../../lib/assert.ts";
import { HttpLink } from "../http-link.ts";
import type { Provider } from "../provider.ts";
import { readAnswer, TEMPLATE } from "./errors.ts";
import { requestBody } from "./request.ts";
import { accountName, WhatsAppBusinessAccount } from "./business-account.ts";
import { answer } from "./webhook.ts";

export type WhatsAppSettings = {
  baseUrl?: string;
  /** Of the Graph API. */
  version?: string;
  phoneNumberId: string;
  /** The business account, which owns the templates. */
  wabaId: string | null;
  accessToken: string;
  /** Signs what WhatsApp tells us. */
  appSecret: string;
  /** WhatsApp shows it when it asks whether our address is ours. */
  verifyToken: string;
  messagesPerSecond?: number;
  window?: number;
  /** How long an answer may take. */
  timeoutMs?: number;
};

const BASE_URL = "https://graph.facebook.com";
const VERSION = "v23.0";
// What a number may do without asking for more.
const MESSAGES_PER_SECOND = 80;
// At half a second for an answer, twice what that rate needs.
const WINDOW = 80;

export const whatsapp: Provider<WhatsAppSettings> = {
  name: "whatsapp",
  // The rate is that of the number, whoever sends.
  isExclusive: true,
  handleRequest: (settings, request, host) => answer({ ...settings, baseUrl: settings.baseUrl ?? BASE_URL }, request, host),
  businessAccountName: ({ baseUrl = BASE_URL, wabaId }) => (wabaId === null ? undefined : accountName(baseUrl, wabaId)),
  openBusinessAccount({ baseUrl = BASE_URL, version = VERSION, wabaId, accessToken }, log) {
    assert(wabaId !== null, "a link without a business account has no desk");
    return new WhatsAppBusinessAccount({ baseUrl, version, wabaId, accessToken }, log);
  },
  async open(settings, host) {
    const { version = VERSION, phoneNumberId, accessToken } = settings;
    assert(/^v\d+\.\d+$/.test(version), "the version of the Graph API is one such as v23.0");
    assert(/^\d+$/.test(phoneNumberId), "a phone number id has digits only");
    const path = `/${version}/${phoneNumberId}/messages`;
    const headers = { authorization: `Bearer ${accessToken}`, "content-type": "application/json" };
    return new HttpLink(
      {
        name: "whatsapp",
        baseUrl: settings.baseUrl ?? BASE_URL,
        window: settings.window ?? WINDOW,
        perSecond: settings.messagesPerSecond ?? MESSAGES_PER_SECOND,
        timeoutMs: settings.timeoutMs,
        requestOf: (message) => ({ path, headers, body: requestBody(message) }),
        sizeOf: () => 1,
        read: (given, message) => {
          const reading = readAnswer(given, message);
          if (reading.kind === "refused" && reading.code === TEMPLATE) host.templatesChanged();
          return reading;
        },
      },
      host,
    );
  },
};
