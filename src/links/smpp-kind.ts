/** The kind of links of the provider `smpp`: its settings, their explanations, and faults that the schema does not find. */
import { X509Certificate } from "node:crypto";
import { createSecureContext } from "node:tls";
import { HINT, oneOf, Type } from "../http/schema.ts";
import { readPrivateKey } from "../lib/private-key.ts";
import { NATIONAL_LANGUAGES } from "../model/national-alphabets.ts";
import { MAX_KEY_BITS } from "../outbound/tls-threads.ts";
import { RECEIPT_IDS } from "../providers/provider.ts";
import { findReceiptFaults, inCapitals, WORD_STATUSES } from "../providers/smpp/receipt.ts";
import { BIND_MODES, INTERFACE_VERSIONS, SMPP_DEFAULTS, smscAddresses, VALIDITIES, type SmppSettings } from "../providers/smpp/settings.ts";
import { findStatusFaults, STATUS_RANGE } from "../providers/smpp/status.ts";
import { segmentRules } from "../providers/smpp/text.ts";
import { findTlvFaults, findTlvOptionFaults, TLV_TYPES } from "../providers/smpp/tlvs.ts";
import {
  count,
  described,
  flag,
  linkSchema,
  optionally,
  PLAINTEXT,
  secret,
  text,
  type CarrierOptionKind,
  type LinkKind,
} from "./link-kind.ts";
import type { CarrierAccount } from "./link.ts";

const ton = count(0, 6);
const npi = count(0, 18);

const hostName = Type.String({ pattern: "^[A-Za-z0-9._:-]{1,253}$", [HINT]: "must be a host name or an IP address" });
const hostAndPort = Type.String({
  pattern: "^(\\[[0-9a-fA-F:.]{2,45}\\]|[A-Za-z0-9._-]{1,253}):\\d{1,5}$",
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
const RECEIPT_WORD = { pattern: "^[!-~]{1,60}$", [HINT]: "must have up to 60 characters of ASCII without spaces" };
const errorCode = Type.String({ pattern: "^[a-z][a-z0-9_]{0,59}$", [HINT]: "must be an error code of a-z, 0-9 and _" });
const dltId = Type.String({ pattern: "^\\d{1,30}$", [HINT]: "must be up to 30 digits" });

/** The members of `carrier_options` on an SMPP link. */
const SMPP_OPTIONS: CarrierOptionKind = {
  schema: Type.Object(
    { tlvs: Type.Optional(Type.Array(tlv, { maxItems: 20 })), dlt_template_id: Type.Optional(dltId), flash: Type.Optional(flag) },
    { additionalProperties: false },
  ),
  findFaults: (options, settings) => findTlvOptionFaults(options, settings as SmppSettings),
};

const statuses = Type.Array(
  Type.Unsafe<number | string>({
    type: ["integer", "string"],
    minimum: 1,
    maximum: 0xffffffff,
    pattern: STATUS_RANGE,
    [HINT]: 'must be a status such as 0x400, or a range such as "0x400-0x4FF"',
  }),
  { maxItems: 100 },
);

export const SMPP_KIND: LinkKind = {
  schema: linkSchema({
    host: optionally(hostName, '"smpp.carrier.example"', "Host of the SMPP server, from the carrier's welcome mail or account page."),
    port: optionally(count(1, 65_535), "2776", "Port of the SMPP server: often 2775, and 2776 or 3550 with TLS."),
    hosts: optionally(
      Type.Array(hostAndPort, { minItems: 1, maxItems: 10 }),
      '["a.carrier.example:2776", "b.carrier.example:2776"]',
      "Several addresses of one carrier account, in place of `host` and `port`.",
    ),
    binds: optionally(count(1, 20), "1", "Number of binds of each kind. They share the window and the rate, and start at different hosts."),
    tls: optionally(flag, "true", "Encrypts the connection. A carrier on another machine needs it, unless `allow_plaintext` is set."),
    tls_server_name: optionally(text(), '"smpp.carrier.example"', "Name in the carrier's certificate, if it is not the host."),
    tls_ca: optionally(text(65_536), '"""PEM"""', "Certificate authority in PEM, in place of the public ones."),
    tls_cert: optionally(text(65_536), '"""PEM"""', "Client certificate in PEM. It needs `tls_key_env`."),
    tls_key_env: optionally(secret, '"SMPP_TLS_KEY"', "Environment variable with the private key of the client certificate, in PEM."),
    system_id: described(text(15), '"your-system-id"', "User name of the SMPP account, at most 15 characters."),
    password_env: described(
      secret,
      '"SMPP_PASSWORD"',
      "Environment variable with the password of the SMPP account. Many carriers read only its first 8 characters.",
    ),
    system_type: optionally(Type.String({ maxLength: 12 }), '""', "System type of the bind, only if the carrier gives you one."),
    bind_mode: optionally(
      oneOf(BIND_MODES),
      '"transceiver"',
      "Kind of the bind: `transceiver`; `pair`: a transmitter and a receiver; `transmitter`: receipts arrive on another link of the account; `receiver`: a link that only receives, and cannot be in a route.",
    ),
    carrier_account: optionally(text(64), '"acme"', "Account at the carrier, if its receipts can arrive on several links."),
    enquire_seconds: optionally(count(1, 600), "30", "Time without traffic after which the link sends `enquire_link`."),
    response_seconds: optionally(count(1, 300), "45", "Time after which a submit without a response has an unknown outcome."),
    alphabet: optionally(
      oneOf(["gsm7", "latin1", "ascii"]),
      '"gsm7"',
      "Meaning of `data_coding` 0 at the carrier: `gsm7`, `latin1` or `ascii`.",
    ),
    long_text: optionally(
      oneOf(["udh8", "udh16", "sar", "payload"]),
      '"udh8"',
      "Form of long texts: `udh8`, `udh16`, `sar` or `payload`. With `udh16` a part has 152 or 66 characters.",
    ),
    languages: optionally(
      Type.Array(oneOf(NATIONAL_LANGUAGES), { minItems: 1, maxItems: NATIONAL_LANGUAGES.length, uniqueItems: true }),
      '["tr", "es"]',
      "Languages whose national tables (3GPP TS 23.038) the carrier and its phones support: `tr`, `es`, `pt`, `bn`, `gu`, `hi`, `kn`, `ml`, `or`, `pa`, `ta`, `te`, `ur`. Texts in them take fewer parts than in UCS-2. They need the alphabet `gsm7`, and `udh8` or `udh16`.",
    ),
    source_ton: optionally(ton, "1", "Type of number of the sender, by default from its form."),
    source_npi: optionally(npi, "1", "Numbering plan of the sender, by default from its form."),
    destination_ton: optionally(ton, "1", "Type of number of the recipient, by default from its form."),
    destination_npi: optionally(npi, "1", "Numbering plan of the recipient, by default from its form."),
    service_type: optionally(Type.String({ maxLength: 5 }), '""', "Service type of each submit, if the carrier asks for one."),
    receipt_ids: optionally(
      // `learn` was the name of `auto` in 0.2.
      oneOf([...RECEIPT_IDS, "learn"]),
      '"auto"',
      "Form of ids in receipts compared with responses: `same`; `decimal` (responses are hexadecimal); `hex`, the opposite; `auto` tries all of them.",
    ),
    receipt_words: optionally(
      Type.Record(oneOf(WORD_STATUSES), { propertyNames: RECEIPT_WORD, maxProperties: 100 }),
      '{ DELIVRD2 = "delivered", BLOCKED = "undelivered" }',
      "Statuses of the carrier's own words in `stat` of receipts: `sent`, `delivered`, `undelivered` or `expired`.",
    ),
    receipt_errors: optionally(
      Type.Record(errorCode, { propertyNames: RECEIPT_WORD, maxProperties: 500 }),
      '{ "0A1" = "invalid_destination" }',
      "Error codes of the API for the carrier's codes in `err` of receipts, or in the parameter with the network error, such as `3:34`.",
    ),
    tlvs: optionally(
      Type.Array(tlv, { maxItems: 20 }),
      '[{ tag = 0x1500, type = "string", value = "x" }]',
      "Parameters of every submit, up to 20 of up to 255 bytes. Types: `string`, `int8`, `int16`, `int32`, `hex`.",
    ),
    message_tlvs: optionally(Type.Array(tag, { maxItems: 50 }), "[0x1501]", "Tags that a message can set with `carrier_options.tlvs`."),
    dlt_entity_id: optionally(dltId, '"1234567890"', "Entity id for carriers in India (0x1400)."),
    dlt_template_id: optionally(
      dltId,
      '"1234567890"',
      "Template id for carriers in India (0x1401). `carrier_options.dlt_template_id` of a message replaces it.",
    ),
    status_final: optionally(statuses, "[0x45]", "Statuses of the carrier after which a message fails, as numbers or ranges."),
    status_transient: optionally(statuses, '["0x400-0x40F"]', "Statuses of the carrier after which a message is sent again later."),
    status_throttle: optionally(statuses, "[0x58]", "Statuses of the carrier after which the link slows down."),
    registered_delivery: optionally(count(0, 31), "1", "Receipts to request. With 0 there are none, and messages end as `expired`."),
    validity: optionally(
      oneOf(VALIDITIES),
      '"relative"',
      "Form of `validity_period`: the remaining time to live as a duration (`relative`), as a time in UTC (`absolute`), or `none`.",
    ),
    priority_flag: optionally(priorityFlag, "{ high = 3, normal = 1 }", "Priority flag of each priority, or one number for all messages."),
    interface_version: optionally(
      Type.Unsafe<number>({ type: "integer", enum: [...INTERFACE_VERSIONS] }),
      "0x34",
      "SMPP version of the bind: `0x33`, `0x34` or `0x50`.",
    ),
    address_range: optionally(Type.String({ maxLength: 40 }), '""', "Address range of the bind, if the carrier asks for one."),
    bind_ton: optionally(ton, "0", "Type of number of the address range."),
    bind_npi: optionally(npi, "0", "Numbering plan of the address range."),
    ...PLAINTEXT,
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
    receiptWords: inCapitals((settings as SmppSettings).receiptWords),
    receiptErrors: inCapitals((settings as SmppSettings).receiptErrors),
    ...smscAddresses(settings as SmppSettings)[0],
  }),
  segmentRules: (settings) => segmentRules(settings as SmppSettings),
};

/** The named account, or the user at the addresses in any order. */
function smppAccount(settings: SmppSettings): CarrierAccount {
  if (settings.carrierAccount !== undefined) return { name: `named ${settings.carrierAccount}` };
  const addresses = smscAddresses(settings);
  const userAt = (hosts: readonly string[]): string => `smpp ${settings.systemId}@${hosts.toSorted().join(",")}`;
  return { name: userAt(addresses.map(({ host, port }) => `${host}:${port}`)), hosts: userAt(addresses.map(({ host }) => host)) };
}

const findSmppFaults = (settings: SmppSettings): string[] => [
  ...findAddressFaults(settings),
  ...findCertificateFaults(settings),
  ...findStatusFaults(settings),
  ...findReceiptFaults(settings),
  ...findTlvFaults(settings),
  ...findLanguageFaults(settings),
];

/** Only a user data header names the tables of a language. */
const findLanguageFaults = ({ languages, alphabet, longText }: SmppSettings): string[] =>
  languages === undefined || (alphabet === "gsm7" && longText.startsWith("udh"))
    ? []
    : ['languages: needs alphabet = "gsm7", and long_text = "udh8" or "udh16"'];

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
    const key = readPrivateKey(tlsKey);
    const { modulusLength: bits = 0 } = key.asymmetricKeyDetails ?? {};
    if (bits > MAX_KEY_BITS) return [`tls_cert: its key has ${bits} bits, ${MAX_KEY_BITS} at most`];
    createSecureContext({ cert: tlsCert, key: key.export({ type: "pkcs8", format: "pem" }) });
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
