/** The settings of a `[[link]]` table, one schema for each provider. The names are those of the file. A secret is given by the name of
 *  the environment variable that holds it. */
import { X509Certificate } from "node:crypto";
import { createSecureContext } from "node:tls";
import type { Fault } from "../http/problem.ts";
import { HINT, oneOf, Type, type Schema } from "../http/schema.ts";
import { isLoopback } from "../lib/addresses.ts";
import type { SegmentRules } from "../model/segments.ts";
import { RECEIPT_IDS } from "../providers/provider.ts";
import type { ProviderName } from "../providers/providers.ts";
import { BIND_MODES, INTERFACE_VERSIONS, SMPP_DEFAULTS, smscAddresses, VALIDITIES, type SmppSettings } from "../providers/smpp/settings.ts";
import { findStatusFaults, STATUS_RANGE } from "../providers/smpp/status.ts";
import { segmentRules } from "../providers/smpp/text.ts";
import { findTlvFaults, findTlvOptionFaults, TLV_TYPES } from "../providers/smpp/tlvs.ts";
import { countryField, nameField, senderField } from "./address.ts";
import type { Channel } from "./channel.ts";
import { deriveHttp, HTTP_FIELDS, type DeriveContext } from "./http-definition.ts";

/** The name of a variable and not the secret itself, since files get into backups. */
const secret = Type.String({ pattern: "^[A-Z][A-Z0-9_]{0,99}$", [HINT]: "must be the name of an environment variable" });
const text = (maxLength = 256) => Type.String({ minLength: 1, maxLength });
const flag = Type.Boolean();
const count = (minimum: number, maximum: number) => Type.Integer({ minimum, maximum });
const url = Type.String({ pattern: "^https?://[^\\s]+$", [HINT]: "must be a URL" });

const COMMON = {
  name: nameField,
  provider: text(),
  sender: Type.Optional(senderField),
  country: Type.Optional(countryField),
  inbound_account: Type.Optional(text(100)),
  on_unknown: Type.Optional(oneOf(["fail", "resend"])),
  hold_seconds: Type.Optional(count(1, 259_200)),
  window: Type.Optional(count(1, 1_000)),
  rate: Type.Optional(Type.Number({ minimum: 0.1, maximum: 10_000 })),
};

/** For carriers on another machine that offer no TLS: passwords and messages are readable on the network. */
const PLAINTEXT = { allow_plaintext: Type.Optional(flag) };

const of = (fields: Record<string, Schema>) => Type.Object({ ...COMMON, ...fields }, { additionalProperties: false });
const ton = Type.Optional(count(0, 6));
const npi = Type.Optional(count(0, 18));

const hostName = Type.String({ pattern: "^[A-Za-z0-9._:-]{1,253}$", [HINT]: "must be a host name or an IP address" });
const hostAndPort = Type.String({
  pattern: "^(\\[[0-9a-fA-F:.]+\\]|[A-Za-z0-9._-]{1,253}):\\d{1,5}$",
  [HINT]: "must be a host and a port such as smpp.acme.example:2775",
});
const flagValue = { minimum: 0, maximum: 3 };
const priorityFlag = Type.Unsafe<SmppSettings["priorityFlag"]>({
  type: ["integer", "object"],
  ...flagValue,
  additionalProperties: false,
  properties: Object.fromEntries(["high", "normal", "bulk"].map((name) => [name, Type.Integer(flagValue)])),
});
const tag = count(1, 0xffff);
const tlv = Type.Object(
  { tag, type: oneOf(TLV_TYPES), value: Type.Unsafe<string | number>({ type: ["string", "integer"], maxLength: 510 }) },
  { additionalProperties: false },
);
const dltId = Type.String({ pattern: "^\\d{1,30}$", [HINT]: "must be up to 30 digits" });

/** The members of `carrier_options` on an SMPP link. */
const SMPP_OPTIONS: CarrierOptionKind = {
  schema: Type.Object(
    { tlvs: Type.Optional(Type.Array(tlv, { maxItems: 20 })), dlt_template_id: Type.Optional(dltId), flash: Type.Optional(flag) },
    { additionalProperties: false },
  ),
  findFaults: (options, settings) => findTlvOptionFaults(options, settings as SmppSettings),
};

const statuses = Type.Optional(
  Type.Array(
    Type.Unsafe<number | string>({
      type: ["integer", "string"],
      minimum: 1,
      maximum: 0xffffffff,
      pattern: STATUS_RANGE,
      [HINT]: 'must be a status such as 0x400, or a range such as "0x400-0x4FF"',
    }),
    { maxItems: 100 },
  ),
);

export type LinkKind = {
  schema: Schema;
  channels: readonly Channel[];
  defaults: Readonly<Record<string, unknown>>;
  rateName: string;
  /** The members of `carrier_options` that messages on such links may have; none by default. */
  carrierOptions?: CarrierOptionKind;
  /** Derives further settings from the settings and the name of the link. */
  derive?: (settings: Readonly<Record<string, unknown>>, name: string, context: DeriveContext) => Record<string, unknown>;
  /** Settings that are required in addition to those of the schema, which depend on the others. */
  required?: (table: Readonly<Record<string, unknown>>) => readonly string[];
  /** Returns faults that the schema does not find, each with the name of its setting. */
  findFaults?: (settings: Readonly<Record<string, unknown>>) => readonly string[];
  /** Whether the link only receives, so that no message is sent over it. */
  isReceiveOnly?: (settings: Readonly<Record<string, unknown>>) => boolean;
  /** The account at the carrier, where receipts of one link may come on another link of the same account. */
  carrierAccount?: (settings: Readonly<Record<string, unknown>>) => string;
  /** The rules by which texts are counted and split, where they differ from the usual ones. */
  segmentRules?: (settings: Readonly<Record<string, unknown>>) => SegmentRules;
};

/** The members of `carrier_options` of a provider. `findFaults` returns what depends on the settings of the link, with pointers into the
 *  options. */
export type CarrierOptionKind = {
  schema: Schema;
  findFaults?: (options: Readonly<Record<string, unknown>>, settings: Readonly<Record<string, unknown>>) => readonly Fault[];
};

export const LINK_KINDS: Readonly<Record<ProviderName, LinkKind>> = {
  simulator: {
    schema: of({ speed: Type.Optional(Type.Number({ minimum: 0.01, maximum: 1_000_000 })) }),
    channels: ["sms", "whatsapp"],
    defaults: { speed: 1 },
    rateName: "messagesPerSecond",
    // Requests for any carrier can be tried in `test`.
    carrierOptions: { schema: Type.Object({}, { additionalProperties: true }) },
  },
  smpp: {
    schema: of({
      ...PLAINTEXT,
      host: Type.Optional(hostName),
      port: Type.Optional(count(1, 65_535)),
      hosts: Type.Optional(Type.Array(hostAndPort, { minItems: 1, maxItems: 10 })),
      binds: Type.Optional(count(1, 20)),
      tls: Type.Optional(flag),
      tls_server_name: Type.Optional(text()),
      tls_ca: Type.Optional(text(65_536)),
      tls_cert: Type.Optional(text(65_536)),
      tls_key_env: Type.Optional(secret),
      system_id: text(15),
      password_env: secret,
      system_type: Type.Optional(Type.String({ maxLength: 12 })),
      bind_mode: Type.Optional(oneOf(BIND_MODES)),
      enquire_seconds: Type.Optional(count(1, 600)),
      response_seconds: Type.Optional(count(1, 300)),
      alphabet: Type.Optional(oneOf(["gsm7", "latin1", "ascii"])),
      long_text: Type.Optional(oneOf(["udh8", "udh16", "sar", "payload"])),
      source_ton: ton,
      source_npi: npi,
      destination_ton: ton,
      destination_npi: npi,
      service_type: Type.Optional(Type.String({ maxLength: 5 })),
      // `learn` was the name of `auto` in 0.2.
      receipt_ids: Type.Optional(oneOf([...RECEIPT_IDS, "learn"])),
      tlvs: Type.Optional(Type.Array(tlv, { maxItems: 20 })),
      message_tlvs: Type.Optional(Type.Array(tag, { maxItems: 50 })),
      dlt_entity_id: Type.Optional(dltId),
      dlt_template_id: Type.Optional(dltId),
      status_final: statuses,
      status_transient: statuses,
      status_throttle: statuses,
      registered_delivery: Type.Optional(count(0, 31)),
      validity: Type.Optional(oneOf(VALIDITIES)),
      priority_flag: Type.Optional(priorityFlag),
      interface_version: Type.Optional(Type.Unsafe<number>({ type: "integer", enum: [...INTERFACE_VERSIONS] })),
      address_range: Type.Optional(Type.String({ maxLength: 40 })),
      bind_ton: ton,
      bind_npi: npi,
    }),
    channels: ["sms"],
    defaults: SMPP_DEFAULTS,
    rateName: "partsPerSecond",
    required: ({ hosts }) => (hosts === undefined ? ["host", "port"] : []),
    findFaults: (settings) => findSmppFaults(settings as SmppSettings),
    carrierOptions: SMPP_OPTIONS,
    isReceiveOnly: ({ bindMode }) => bindMode === "receiver",
    carrierAccount: (settings) => smppAccount(settings as SmppSettings),
    // Other commands show the first address.
    derive: ({ receiptIds, ...settings }) => ({
      ...settings,
      receiptIds: receiptIds === "learn" ? "auto" : receiptIds,
      ...smscAddresses(settings as SmppSettings)[0],
    }),
    segmentRules: (settings) => segmentRules(settings as SmppSettings),
  },
  whatsapp: {
    schema: of({
      ...PLAINTEXT,
      base_url: Type.Optional(url),
      version: Type.Optional(Type.String({ pattern: "^v\\d{1,3}\\.\\d{1,2}$", [HINT]: "must be a version such as v23.0" })),
      phone_number_id: Type.String({ pattern: "^\\d{1,64}$", [HINT]: "must be digits" }),
      waba_id: Type.Optional(Type.String({ pattern: "^\\d{1,32}$", [HINT]: "must be the id of a business account, digits only" })),
      access_token_env: secret,
      app_secret_env: secret,
      verify_token_env: secret,
    }),
    channels: ["whatsapp"],
    defaults: { baseUrl: "https://graph.facebook.com", version: "v23.0", wabaId: null, messagesPerSecond: 80, window: 50 },
    rateName: "messagesPerSecond",
  },
  twilio: {
    schema: of({
      ...PLAINTEXT,
      base_url: Type.Optional(url),
      account_sid: Type.String({ pattern: "^\\w{1,64}$", [HINT]: "must be letters and digits" }),
      auth_token_env: secret,
      messaging_service_sid: Type.Optional(text(64)),
      public_url: url,
    }),
    channels: ["sms"],
    defaults: { baseUrl: "https://api.twilio.com", messagingServiceSid: null, partsPerSecond: 10, window: 20 },
    rateName: "partsPerSecond",
    // The URL at which the carrier calls this service.
    derive: ({ publicUrl, ...rest }, name) => ({
      ...rest,
      statusCallbackUrl: `${String(publicUrl).replace(/\/+$/, "")}/providers/twilio/${name}`,
    }),
  },
  http: {
    schema: of({ ...PLAINTEXT, public_url: Type.Optional(url), ...HTTP_FIELDS }),
    channels: ["sms"],
    defaults: { partsPerSecond: 10, window: 20 },
    rateName: "partsPerSecond",
    derive: deriveHttp,
  },
};

/** The account on any port of its hosts: carriers have ports for each kind of bind. */
const smppAccount = (settings: SmppSettings): string =>
  `smpp ${settings.systemId}@${smscAddresses(settings)
    .map(({ host }) => host)
    .toSorted()
    .join(",")}`;

const findSmppFaults = (settings: SmppSettings): string[] => [
  ...findAddressFaults(settings),
  ...findCertificateFaults(settings),
  ...findStatusFaults(settings),
  ...findTlvFaults(settings),
];

function findAddressFaults(settings: SmppSettings): string[] {
  const { host, port, hosts } = settings as Partial<SmppSettings>;
  if (hosts === undefined || hosts.length === 0) return [];
  const isOne = host !== undefined || port !== undefined;
  const isPort = smscAddresses(settings).every((each) => each.port >= 1 && each.port <= 65_535);
  return [...(isOne ? ["hosts: cannot be combined with host and port"] : []), ...(isPort ? [] : ["hosts: a port is from 1 to 65,535"])];
}

/** Returns the fault of a client certificate without its key, or with another one's. */
function findCertificateFaults({ tls, tlsCert, tlsKey, tlsCa }: SmppSettings): string[] {
  if (tlsCa && !isCertificate(tlsCa)) return ["tls_ca: is no certificate in PEM"];
  if (!tlsCert && !tlsKey) return [];
  if (!tlsCert || !tlsKey) return ["tls_cert: needs tls_key_env, and the other way round"];
  if (!tls) return ["tls_cert: needs tls = true"];
  try {
    createSecureContext({ cert: tlsCert, key: tlsKey });
    return [];
  } catch {
    return ["tls_cert: the certificate and the key in tls_key_env do not belong together, or cannot be read"];
  }
}

function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).subject !== "\n";
  } catch {
    return false;
  }
}

export const isProviderName = (name: unknown): name is ProviderName => typeof name === "string" && Object.hasOwn(LINK_KINDS, name);

/** Returns the setting that makes a link send secrets or messages over a network without TLS, and what to write instead. */
export function findPlaintext(settings: Readonly<Record<string, unknown>>): string | undefined {
  const { hosts, host, tls, baseUrl, publicUrl, request, pollUrl } = settings;
  const names = Array.isArray(hosts) && hosts.length > 0 ? smscAddresses(settings as SmppSettings).map((each) => each.host) : [host];
  const remote = names.find((name): name is string => typeof name === "string" && !isLoopback(name));
  if (remote !== undefined && tls !== true) return `tls: is off, and ${remote} is on another machine; set tls = true`;
  for (const [name, value] of Object.entries({
    [request === undefined ? "base_url" : "request.url"]: baseUrl,
    "poll.url": pollUrl,
    public_url: publicUrl,
  })) {
    const address = typeof value === "string" ? URL.parse(value) : null;
    if (address?.protocol === "http:" && !isLoopback(address.hostname.replaceAll(/[[\]]/g, "")))
      return `${name}: is http:// on another machine; write https://`;
  }
  return undefined;
}
