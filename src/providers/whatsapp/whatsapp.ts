/** The WhatsApp Cloud API: a POST for each message, and signed webhook requests for statuses and inbound messages. */
import { assert } from "../../lib/assert.ts";
import { targetBelow } from "../../outbound/http-client.ts";
import { failed, isResponseWith, succeeded, testCall, unexpected } from "../connection-test.ts";
import { HttpLink, type HttpLinkSettings, type ResponseOutcome } from "../http-link.ts";
import type { Provider, Outgoing, OutgoingTemplate, Variable } from "../provider.ts";
import { interpretResponse, TEMPLATE_REJECTED } from "./errors.ts";
import { accountName, openBusinessAccount } from "./business-account.ts";
import { openMetaFile } from "./open-file.ts";
import { handleRequest } from "./webhook.ts";
import { digitsOf, isUserId } from "../../model/phone-number.ts";
import { languageCode } from "./components.ts";
import { contentMembers, templateParts } from "./content.ts";
import { CarrierUploads } from "./upload.ts";

export type WhatsAppSettings = HttpLinkSettings & {
  baseUrl: string;
  /** The version of the Graph API. */
  version: string;
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
  messagesPerSecond: number;
};

export const WHATSAPP_DEFAULTS = {
  baseUrl: "https://graph.facebook.com",
  version: "v23.0",
  wabaId: null,
  // WhatsApp's default limit of a number.
  messagesPerSecond: 80,
  // More than the need of that rate, if a response takes half a second.
  window: 50,
};

// A request has up to 1,000 notifications of about a kilobyte.
const MAX_REQUEST_BYTES = 1_048_576;

export const whatsapp: Provider<WhatsAppSettings> = {
  name: "whatsapp",
  // The rate belongs to the number, so all nodes share it.
  isExclusive: true,
  handleRequest: (settings, request, host, links = () => []) => handleRequest(settings, request, { host, links }),
  openFile: openMetaFile,
  requestMethods: ["GET", "POST"],
  maxRequestBytes: MAX_REQUEST_BYTES,
  businessAccountName: ({ baseUrl, wabaId, owner }) => (wabaId === null ? undefined : accountName({ baseUrl, owner }, wabaId)),
  openBusinessAccount({ baseUrl, version, wabaId, accessToken, gate }, log) {
    assert(wabaId !== null, "the link has a business account");
    return openBusinessAccount({ baseUrl, version, wabaId, accessToken, gate }, log);
  },
  test({ baseUrl, version, phoneNumberId, accessToken, gate }, _log, signal) {
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
    const { version, phoneNumberId, accessToken } = settings;
    assert(/^v\d+\.\d+$/.test(version), "the version of the Graph API is one such as v23.0");
    assert(/^\d+$/.test(phoneNumberId), "a phone number id has digits only");
    const { origin, path } = targetBelow(settings.baseUrl, `/${version}/${phoneNumberId}/messages`);
    const headers = { authorization: `Bearer ${accessToken}`, "content-type": "application/json" };
    const media = targetBelow(settings.baseUrl, `/${version}/${phoneNumberId}/media`);
    const uploads = new CarrierUploads(
      { ...media, accessToken },
      { gate: settings.gate, ...(settings.ca === undefined ? {} : { ca: settings.ca }) },
      () => host.now(),
    );
    return new HttpLink(
      {
        name: "whatsapp",
        origin,
        perSecond: settings.messagesPerSecond,
        settings,
        toRequest: (message) => ({ origin, path, method: "POST", headers, body: requestBody(message) }),
        sizeOf: () => 1,
        prepare: async (message, signal) => prepare(message, uploads, signal),
        stop: () => uploads.close(),
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

/** Uploads the file of a message. A message that reacts to another one needs the id of that one. */
async function prepare(message: Outgoing, uploads: CarrierUploads, signal: AbortSignal): Promise<Outgoing | ResponseOutcome> {
  const { media, content, quotes } = message;
  if (content?.type === "reaction" && quotes === undefined) return NOTHING_TO_REACT_TO;
  if (media === undefined) return message;
  const uploaded = await uploads.idOf(media, signal);
  return typeof uploaded === "string" ? { ...message, carrierFile: uploaded } : uploaded;
}

const NOTHING_TO_REACT_TO: ResponseOutcome = {
  kind: "refused",
  code: "reply_target_missing",
  message: "The message to react to is no longer known",
  providerCode: null,
  isPermanent: true,
};

/** The body of a request: a text, a content, or a template, whose variables WhatsApp fills in. */
function requestBody(message: Outgoing): string {
  const { id, recipient, content = null, quotes } = message;
  return JSON.stringify({
    messaging_product: "whatsapp",
    recipient_type: "individual",
    // WhatsApp has a field of its own for user ids.
    ...(isUserId(recipient) ? { recipient } : { to: digitsOf(recipient) }),
    ...(quotes === undefined || content?.type === "reaction" ? {} : { context: { message_id: quotes } }),
    ...bodyMembers(message),
    // WhatsApp returns it in statuses: a message whose response was lost can be matched only by it.
    biz_opaque_callback_data: id,
  });
}

function bodyMembers(message: Outgoing): object {
  const { body, template, content = null } = message;
  if (template !== null)
    return { type: "template", template: toTemplate(template, content?.type === "template" ? templateParts(content, message) : []) };
  if (content !== null && content.type !== "template") return contentMembers(content, message);
  return { type: "text", text: { body: body.toWellFormed(), preview_url: false } };
}

function toTemplate(template: OutgoingTemplate, further: readonly object[]): object {
  const components = [...toComponents(template), ...further];
  return {
    name: template.name,
    language: { code: languageCode(template.language) },
    ...(components.length === 0 ? {} : { components }),
  };
}

function toComponents({ category, header, body }: OutgoingTemplate): object[] {
  if (category === "authentication") return codeComponents(body[0] ?? header[0]);
  return [
    ...(header.length === 0 ? [] : [{ type: "header", parameters: toParameters(header) }]),
    ...(body.length === 0 ? [] : [{ type: "body", parameters: toParameters(body) }]),
  ];
}

/** The components of an authentication template. WhatsApp writes its text, which has one unnamed variable, the code. Its button copies
 *  the same code. */
function codeComponents(code: Variable | undefined): object[] {
  if (code === undefined) return [];
  const parameters = [{ type: "text", text: code.value.toWellFormed() }];
  return [
    { type: "body", parameters },
    { type: "button", sub_type: "url", index: "0", parameters },
  ];
}

/** Numbered variables are matched by position, others by name. */
const toParameters = (variables: readonly Variable[]): object[] =>
  variables.map(({ name, value }) => ({
    type: "text",
    ...(/^\d+$/.test(name) ? {} : { parameter_name: name }),
    text: value.toWellFormed(),
  }));
