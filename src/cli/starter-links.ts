/** The settings of links, senders and routes for `godwit init`: a placeholder and one line of explanation for each. `init.test.ts` compares
 *  them with the schemas of `links/`. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parse as parseToml } from "smol-toml";
import type { Channel } from "../links/channel.ts";

/** The name of a setting, its value in TOML, and its explanation. */
export type Row = readonly [name: string, value: string, help: string];

/** `set` is written as it is, and `optional` with a # in front. `variables` are the environment variables with the secrets. */
export type Starter = {
  title: string;
  /** Further lines of explanation. */
  notes: readonly string[];
  channel: Channel;
  set: readonly Row[];
  optional: readonly Row[];
  variables: readonly string[];
};

const NAME_HELP = "Name of the link in routes, logs, metrics and callback URLs.";
const PUBLIC_URL: Row = ["public_url", '"https://godwit.example.com"', "URL at which the carrier reaches this service, for callbacks."];

const plaintext = (example: string): Row => [
  "allow_plaintext",
  "true",
  `Permits a carrier on another machine without TLS (${example}): passwords and messages are readable on the network.`,
];

/** The optional settings of every link. */
const common = (rate: Row): readonly Row[] => [
  ["sender", '"+14155550100"', "Sender of messages for which neither the request nor a [[sender]] names one."],
  ["country", '"US"', "Country of numbers that the carrier writes in national format."],
  rate,
  ["window", "20", "Requests to the carrier that may wait for a response at one time."],
  ["inbound_account", '"default"', "Account that receives inbound messages without another owner."],
  ["on_unknown", '"fail"', "Result of an unknown outcome after the hold: fail, or resend at the risk of a duplicate."],
  ["hold_seconds", "300", "Seconds in which a late response or receipt can resolve an unknown outcome."],
];

const SEGMENT_RATE: Row = ["rate", "10", "Segments a second that the carrier allows."];

const SMPP: Starter = {
  title: "SMPP",
  notes: ["The carrier gives you the host, the port, the system id and the password, and often asks for the IP address of this machine."],
  channel: "sms",
  set: [
    ["name", '"smpp"', NAME_HELP],
    ["provider", '"smpp"', "Protocol of the link."],
    ["host", '"smpp.carrier.example"', "Host of the carrier's SMPP server."],
    ["port", "2776", "Port of the carrier's SMPP server."],
    ["tls", "true", "Encrypts the connection. Another machine needs it, unless allow_plaintext is set."],
    ["system_id", '"your-system-id"', "Account name at the carrier, at most 15 characters."],
    ["password_env", '"SMPP_PASSWORD"', "Environment variable with the password."],
    ["country", '"US"', "Country of numbers that the carrier writes in national format, so that a STOP finds its recipient."],
  ],
  optional: [
    ...common(SEGMENT_RATE).filter(([name]) => name !== "country"),
    [
      "hosts",
      '["a.carrier.example:2776", "b.carrier.example:2776"]',
      "Several addresses of one carrier account, in place of host and port.",
    ],
    ["binds", "1", "Connections of each kind. They share the window and the rate."],
    ["tls_server_name", '"smpp.carrier.example"', "Name in the carrier's certificate, if it is not the host."],
    ["tls_ca", '"""PEM"""', "Certificate authority of the carrier in PEM, in place of the public ones."],
    ["tls_cert", '"""PEM"""', "Client certificate in PEM. Needs tls_key_env."],
    ["tls_key_env", '"SMPP_TLS_KEY"', "Environment variable with the private key of the client certificate, in PEM."],
    plaintext("tls = false"),
    ["bind_mode", '"transceiver"', "transceiver, transmitter, receiver, or pair: a transmitter and a receiver."],
    ["system_type", '""', "System type of the bind, if the carrier asks for one."],
    ["service_type", '""', "Service type of each submit, if the carrier asks for one."],
    ["interface_version", "0x34", "SMPP version of the bind: 0x33, 0x34 or 0x50."],
    ["address_range", '""', "Address range of the bind, if the carrier asks for one."],
    ["bind_ton", "0", "Type of number of the address range."],
    ["bind_npi", "0", "Numbering plan of the address range."],
    ["source_ton", "1", "Type of number of the sender. By default it follows from the form of the sender."],
    ["source_npi", "1", "Numbering plan of the sender. By default it follows from the form of the sender."],
    ["destination_ton", "1", "Type of number of the recipient. By default it follows from the form of the recipient."],
    ["destination_npi", "1", "Numbering plan of the recipient. By default it follows from the form of the recipient."],
    ["alphabet", '"gsm7"', "Meaning of data_coding 0 at the carrier: gsm7, latin1 or ascii."],
    ["long_text", '"udh8"', "Form of long texts: udh8, udh16, sar or payload."],
    ["validity", '"relative"', "Form of the validity period: relative, absolute or none."],
    ["registered_delivery", "1", "Receipts to request. With 0 there are none, and messages end as expired."],
    ["receipt_ids", '"auto"', "Form of message ids in receipts: auto, same, decimal or hex."],
    ["priority_flag", "{ high = 3, normal = 1 }", "Priority flag of each priority, or one number for all."],
    ["enquire_seconds", "30", "Seconds between two enquire_link on an idle connection."],
    ["response_seconds", "45", "Seconds after which a submit without a response has an unknown outcome."],
    ["status_final", "[0x45]", "Statuses of the carrier after which a message fails."],
    ["status_transient", '["0x400-0x40F"]', "Statuses of the carrier after which a message is sent again later."],
    ["status_throttle", "[0x58]", "Statuses of the carrier after which the link slows down."],
    ["tlvs", '[{ tag = 0x1500, type = "string", value = "x" }]', "Parameters that every submit has."],
    ["message_tlvs", "[0x1501]", "Tags that a message may set with carrier_options.tlvs."],
    ["dlt_entity_id", '"1234567890"', "Entity id that carriers in India require."],
    ["dlt_template_id", '"1234567890"', "Template id that carriers in India require."],
  ],
  variables: ["SMPP_PASSWORD"],
};

const WHATSAPP: Starter = {
  title: "WhatsApp Cloud API",
  notes: ["Enter https://YOUR-HOST/providers/whatsapp/whatsapp as the callback URL of the app at Meta."],
  channel: "whatsapp",
  set: [
    ["name", '"whatsapp"', NAME_HELP],
    ["provider", '"whatsapp"', "API of the link."],
    ["phone_number_id", '"000000000000000"', "Id of the phone number at Meta; not the number itself."],
    ["access_token_env", '"WHATSAPP_ACCESS_TOKEN"', "Environment variable with the access token of the system user."],
    ["app_secret_env", '"WHATSAPP_APP_SECRET"', "Environment variable with the app secret, which verifies callbacks."],
    ["verify_token_env", '"WHATSAPP_VERIFY_TOKEN"', "Environment variable with the verify token, which you choose and enter at Meta."],
  ],
  optional: [
    ["waba_id", '"102290129340398"', "Id of the business account, so that its templates are synced."],
    ...common(["rate", "80", "Messages a second that Meta allows."]),
    ["version", '"v23.0"', "Version of the Graph API."],
    ["base_url", '"https://graph.facebook.com"', "URL of the Graph API."],
    plaintext("an http:// URL"),
  ],
  variables: ["WHATSAPP_ACCESS_TOKEN", "WHATSAPP_APP_SECRET", "WHATSAPP_VERIFY_TOKEN"],
};

const TWILIO: Starter = {
  title: "Twilio",
  notes: [
    "Godwit sends its callback URL with each message. For inbound messages, enter it at the number: public_url/providers/twilio/twilio.",
  ],
  channel: "sms",
  set: [
    ["name", '"twilio"', NAME_HELP],
    ["provider", '"twilio"', "API of the link."],
    ["account_sid", '"AC00000000000000000000000000000000"', "Account SID of the Twilio console; it begins with AC."],
    ["auth_token_env", '"TWILIO_AUTH_TOKEN"', "Environment variable with the auth token, which also verifies callbacks."],
    PUBLIC_URL,
  ],
  optional: [
    ["messaging_service_sid", '"your-messaging-service-sid"', "Messaging service that chooses the sender; it begins with MG."],
    ...common(SEGMENT_RATE),
    ["base_url", '"https://api.twilio.com"', "URL of the API."],
    plaintext("an http:// URL"),
  ],
  variables: ["TWILIO_AUTH_TOKEN"],
};

const CARRIER_FILES = join(import.meta.dirname, "..", "..", "packaging", "carriers");

/** The names of the carriers that `godwit init` can write. */
export const carrierNames = (): string[] => [
  "smpp",
  "twilio",
  "whatsapp",
  ...readdirSync(CARRIER_FILES)
    .filter((file) => file.endsWith(".toml"))
    .map((file) => file.replace(".toml", ""))
    .toSorted(),
];

export function starterOf(carrier: string): Starter {
  const known: Readonly<Record<string, Starter>> = { smpp: SMPP, whatsapp: WHATSAPP, twilio: TWILIO };
  return known[carrier] ?? httpStarter(carrier, readFileSync(join(CARRIER_FILES, `${carrier}.toml`), "utf8"));
}

/** The starter of a carrier file: its head is the explanation. Values that the file uses and does not define get placeholders. */
function httpStarter(carrier: string, text: string): Starter {
  const { secrets = {}, values = {} } = parseToml(text) as { secrets?: Record<string, string>; values?: Record<string, string> };
  const used = Array.from(text.matchAll(/\{\{value\.([a-z0-9_]+)\}\}/g), ([, name = ""]) => name);
  const missing = [...new Set(used)].filter((name) => !Object.hasOwn(values, name));
  const placeholders = Object.fromEntries(missing.map((name) => [name, `your-${name.replaceAll("_", "-")}`]));
  const valueRow: Row = ["values", inlineTable({ ...placeholders, ...values }), "Values for the carrier file."];
  return {
    title: carrier,
    notes: headOf(text),
    channel: "sms",
    set: [
      ["name", `"${carrier}"`, NAME_HELP],
      ["provider", '"http"', "API of the link, which the carrier file defines."],
      ["carrier", `"${carrier}"`, "Carrier file of the package, or the path of your own."],
      ...(text.includes("{{callback_url}}") ? [PUBLIC_URL] : []),
      ...(missing.length > 0 ? [valueRow] : []),
    ],
    optional: [
      ...(missing.length === 0 && Object.keys(values).length > 0 ? [valueRow] : []),
      ["secrets", inlineTable(secrets), "Environment variables with the secrets, if they have other names."],
      ...common(SEGMENT_RATE),
      plaintext("an http:// URL"),
    ],
    variables: Object.values(secrets),
  };
}

/** The comment at the start of a carrier file. */
const headOf = (text: string): string[] =>
  (/^(?:#.*\n)+/.exec(text)?.[0] ?? "")
    .trimEnd()
    .split("\n")
    .map((line) => line.replace(/^# ?/, ""));

const inlineTable = (values: Readonly<Record<string, string>>): string =>
  `{ ${Object.entries(values)
    .map(([name, value]) => `${name} = ${JSON.stringify(value)}`)
    .join(", ")} }`;

/** The table of a sender on the link. */
export const senderRows = (link: string): { set: readonly Row[]; optional: readonly Row[] } => ({
  set: [
    ["number", '"+14155550100"', "Number, short code or name that messages come from."],
    ["link", `"${link}"`, "Link that carries its messages."],
    ["account", '"default"', "Account that owns it and receives the messages to it."],
    ["environment", '"live"', "Environment of the account: live, since test has only the simulator."],
  ],
  optional: [
    ["countries", '["US", "CA"]', "Countries of recipients that it is for. By default every country."],
    ["preference", "10", "Senders with a higher preference are chosen first. The default is 0."],
    ["pool", '"alerts"', "Senders of one pool share its messages, and an opt-out from one holds for all."],
    ["rate", "1", "Messages a second of this sender. By default only the rate of the link applies."],
  ],
});

/** The table of a route over the links. */
export const routeRows = (channel: Channel, links: readonly string[]): { set: readonly Row[]; optional: readonly Row[] } => ({
  set: [
    ["channel", `"${channel}"`, "Channel of the messages: sms or whatsapp."],
    [
      "links",
      `[${links.map((link) => `"${link}"`).join(", ")}]`,
      "Links in the order in which they are used; the second when the first cannot.",
    ],
  ],
  optional: [
    ["countries", '["US", "CA"]', "Countries of recipients. By default every country."],
    ["prefixes", '["+1415"]', "Beginnings of numbers. By default every number."],
    ["account", '"default"', "Account whose messages take the route. By default every account."],
    ["environment", '"live"', "Environment of the messages."],
    ["priority", "10", "Routes with a higher priority are used first. The default is 0."],
    ["weights", `[${links.map(() => "1").join(", ")}]`, "Shares of the links, in their order, for the choice of the first link."],
  ],
});
