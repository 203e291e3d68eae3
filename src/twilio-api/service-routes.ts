/** Twilio's messaging services, to read: the operator's configuration and our own API define the senders and their pools. */
import type { Composer } from "../messages/compose.ts";
import { countryOf, type Recipient } from "../model/phone-number.ts";
import type { OwnedSender } from "../links/directory.ts";
import { isoTime } from "../lib/time.ts";
import { uuidTimeMs } from "../lib/uuid.ts";
import { requireKnown } from "./forms.ts";
import { senderSid, servicesOf, type MessagingService } from "./messaging-services.ts";
import { jsonReply, notFound, type TwilioRequest, type TwilioRow } from "./twilio-route.ts";
import { wholeList } from "./whole-list.ts";

const SERVICES = "/v1/Services";

type SenderKind = {
  /** The name of the subresource in paths, and of its records in lists. */
  path: string;
  key: string;
  sid: "PN" | "SC" | "AI";
  field: string;
  isOne: (number: string) => boolean;
  capabilities: readonly string[];
};

const KINDS: readonly SenderKind[] = [
  {
    path: "PhoneNumbers",
    key: "phone_numbers",
    sid: "PN",
    field: "phone_number",
    isOne: (number) => number.startsWith("+"),
    capabilities: ["SMS"],
  },
  {
    path: "ShortCodes",
    key: "short_codes",
    sid: "SC",
    field: "short_code",
    isOne: (number) => /^\d+$/.test(number),
    capabilities: ["SMS"],
  },
  {
    path: "AlphaSenders",
    key: "alpha_senders",
    sid: "AI",
    field: "alpha_sender",
    isOne: (number) => /^(?!\+)(?=.*[A-Za-z])/.test(number),
    capabilities: ["SMS"],
  },
];

type ServiceParts = { composer: Composer };

export const serviceRows = ({ composer }: ServiceParts): TwilioRow[] => [
  {
    method: "GET",
    path: SERVICES,
    operationId: "twilioListServices",
    scope: "links:read",
    handle: async (request) => {
      const all = servicesOf(composer.linkDirectory, request.credential).map((service) => serviceResource(service, request));
      return jsonReply(wholeList(all, `${request.baseUrl}${SERVICES}`, "services", request.parameters));
    },
  },
  {
    method: "GET",
    path: `${SERVICES}/{ServiceSid}`,
    operationId: "twilioFetchService",
    scope: "links:read",
    handle: async (request) => {
      requireKnown(request.parameters);
      return jsonReply(serviceResource(findService(composer, request), request));
    },
  },
  ...KINDS.flatMap((kind) => senderRows(composer, kind)),
];

const senderRows = (composer: Composer, kind: SenderKind): TwilioRow[] => [
  {
    method: "GET",
    path: `${SERVICES}/{ServiceSid}/${kind.path}`,
    operationId: `twilioList${kind.path}`,
    scope: "links:read",
    handle: async (request) => {
      const service = findService(composer, request);
      const senders = sendersOfKind(service, kind).map((number) => senderResource(kind, number, service, request));
      const url = `${request.baseUrl}${SERVICES}/${service.sid}/${kind.path}`;
      return jsonReply(wholeList(senders, url, kind.key, request.parameters));
    },
  },
  {
    method: "GET",
    path: `${SERVICES}/{ServiceSid}/${kind.path}/{Sid}`,
    operationId: `twilioFetch${kind.path}`,
    scope: "links:read",
    handle: async (request) => {
      requireKnown(request.parameters);
      const service = findService(composer, request);
      const number = sendersOfKind(service, kind).find((each) => senderSid(kind.sid, request.credential, each) === request.params["Sid"]);
      if (number === undefined) throw notFound(request.path);
      return jsonReply(senderResource(kind, number, service, request));
    },
  },
];

/** A sender may be on several links. */
const sendersOfKind = ({ senders }: MessagingService, { isOne }: SenderKind): string[] => [
  ...new Set(senders.map(({ number }: OwnedSender) => number).filter(isOne)),
];

function findService({ linkDirectory }: Composer, { credential, params, path }: TwilioRequest): MessagingService {
  const service = servicesOf(linkDirectory, credential).find(({ sid }) => sid === params["ServiceSid"]);
  if (service === undefined) throw notFound(path);
  return service;
}

/** The service has the settings of Twilio that describe what Godwit does. */
function serviceResource({ sid, name }: MessagingService, { credential, accountSid, baseUrl }: TwilioRequest) {
  const url = `${baseUrl}${SERVICES}/${sid}`;
  const createdAt = isoTime(uuidTimeMs(credential.accountId));
  return {
    sid,
    account_sid: accountSid,
    friendly_name: name,
    date_created: createdAt,
    date_updated: createdAt,
    inbound_request_url: null,
    inbound_method: "POST",
    fallback_url: null,
    fallback_method: "POST",
    status_callback: null,
    sticky_sender: true,
    mms_converter: false,
    smart_encoding: false,
    scan_message_content: "inherit",
    fallback_to_long_code: false,
    area_code_geomatch: false,
    synchronous_validation: false,
    validity_period: 36_000,
    url,
    links: Object.fromEntries(KINDS.map(({ path, key }) => [key, `${url}/${path}`])),
    usecase: "undeclared",
    us_app_to_person_registered: false,
    use_inbound_webhook_on_number: false,
  };
}

function senderResource(
  { path, sid: prefix, field, capabilities }: SenderKind,
  number: string,
  service: MessagingService,
  request: TwilioRequest,
) {
  const { credential, accountSid, baseUrl } = request;
  const sid = senderSid(prefix, credential, number);
  const createdAt = isoTime(uuidTimeMs(credential.accountId));
  return {
    sid,
    account_sid: accountSid,
    service_sid: service.sid,
    date_created: createdAt,
    date_updated: createdAt,
    [field]: number,
    ...(field === "alpha_sender" ? {} : { country_code: number.startsWith("+") ? (countryOf(number as Recipient) ?? null) : null }),
    capabilities,
    url: `${baseUrl}${SERVICES}/${service.sid}/${path}/${sid}`,
  };
}
